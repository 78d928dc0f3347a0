import type { ResponseSink } from "../../src/app/exchange.ts";
import type { RequestRecord } from "../../src/domain/record/record.ts";
import type { RouterSpec } from "../../src/domain/tenancy/router.ts";
import type { Catalogue, PlainPrice } from "./catalogue.ts";
import type { RequestData } from "./data-classes.ts";
import type { Call } from "./network.ts";
import type { RawHints } from "./routing-hints.ts";

/** What was in force when the request was planned. */
export type PlannedWith = {
  readonly catalogue: Catalogue;
  readonly router: RouterSpec | undefined;
  readonly atMs: number;
};

/** One request of a caller, and everything visible of it from outside the gateway. */
export type ClientRequest = {
  readonly no: number;
  readonly id: string;
  /** Part of the prompt and of every reply to it: identifies the owner of the text. */
  readonly mark: string;
  readonly workspaceId: string;
  readonly workspaceSlug: string;
  readonly currency: string;
  readonly keyId: string;
  readonly model: string;
  readonly hints: RawHints;
  readonly data: RequestData;
  readonly streaming: boolean;
  readonly maxTokens: number;
  readonly sink: CallerSink;
  /** Once all faults are over a request must be served if any endpoint may serve it. */
  readonly when: "in_trouble" | "in_calm";
  planned: PlannedWith | undefined;
  readonly calls: Call[];
  /** Undefined until money is held. */
  held: { nanos: bigint; is: "open" | "ended" } | undefined;
  chargedNanos: bigint;
  /** Finished records that the journal accepted, and those that it refused. */
  readonly records: RequestRecord[];
  refusedByJournal: number;
  /** How often the gateway ended it. */
  finished: number;
  /** The error code, once it was refused. */
  refusal: string | undefined;
  /** The handler has returned, or its process has crashed. */
  state: "running" | "over" | "crashed";
};

export function priceWhenPlanned({ planned }: ClientRequest, endpointId: string): PlainPrice | undefined {
  return planned?.catalogue.endpoints.get(endpointId)?.price;
}

/** The caller's end of the connection. */
export class CallerSink implements ResponseSink {
  text = "";
  headers: Readonly<Record<string, string>> = {};
  status = 0;
  ends = 0;
  /** Protocol violations, as text. */
  readonly abuses: string[] = [];
  /** Whether the gateway ever had to wait for it. */
  wasSlow = false;
  readonly #isSlow: () => boolean;
  readonly #afterWhile: (then: () => void) => void;
  #state: "open" | "ended" | "cut" | "left" = "open";
  #started = false;
  #listener: (() => void) | undefined;
  #waiting: (() => void)[] = [];

  constructor(isSlow: () => boolean, afterWhile: (then: () => void) => void) {
    this.#isSlow = isSlow;
    this.#afterWhile = afterWhile;
  }

  get state() {
    return this.#state;
  }

  get started(): boolean {
    return this.#started;
  }

  get disconnected(): boolean {
    return this.#state === "left" || this.#state === "cut";
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.disconnected) return;
    if (this.#started) this.abuses.push("a second head");
    this.#started = true;
    this.status = status;
    this.headers = { ...headers };
  }

  write(chunk: Buffer | string): boolean {
    if (this.disconnected) return true;
    if (!this.#started) this.abuses.push("content before its head");
    if (this.#state === "ended") this.abuses.push("content after the end");
    this.text += String(chunk);
    return !this.#isSlow();
  }

  drained(): Promise<void> {
    this.wasSlow = true;
    return new Promise((resolve) => {
      if (this.disconnected) return resolve();
      this.#waiting.push(resolve);
      this.#afterWhile(resolve);
    });
  }

  end(chunk?: Buffer | string): void {
    if (this.disconnected) return;
    if (!this.#started) this.abuses.push("an end before its head");
    this.ends += 1;
    this.text += chunk === undefined ? "" : String(chunk);
    this.#state = "ended";
  }

  /** A refusal is sent on a connection without earlier output. */
  refuse(status: number): void {
    this.start(status, {});
    this.end("");
  }

  abort(): void {
    if (this.#state === "open") this.#leave("cut");
  }

  /** The caller disconnects. */
  hangUp(): void {
    if (this.#state === "open") this.#leave("left");
  }

  /** The gateway crashed: it does not notice that the caller is cut off. */
  lost(): void {
    if (this.#state === "open") this.#state = "cut";
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) listener();
    else this.#listener = listener;
  }

  #leave(how: "cut" | "left"): void {
    this.#state = how;
    for (const resolve of this.#waiting) resolve();
    this.#listener?.();
  }
}
