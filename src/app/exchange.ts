import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { Fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { ExecutionKind } from "../domain/admission/shared-state.ts";
import type { Actor, Membership } from "../domain/tenancy/actor.ts";
import type { Principal } from "../domain/tenancy/key.ts";

/** One call as a handler sees it: authenticated, limited, routed, with its body still unread. */
export type Exchange = {
  readonly requestId: string;
  readonly route: Route;
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly receivedAtMs: number;
  /** Monotonic start, for durations. */
  readonly startedMs: number;
  /** Absent: it has never been run before. */
  readonly run?: ExecutionKind;
  /** Present on routes that need a key. */
  readonly principal: Principal | undefined;
  /** Present on routes of the management API. */
  readonly actor?: Actor;
  /** What the actor is in the workspace that the call is about; absent: the operator, or there is no workspace. */
  readonly membership?: Membership;
  /** Headers that every answer to this call carries (rate limit, ids). */
  readonly baseHeaders: Record<string, string>;
  /** Reads the body once, under its limit. */
  body(): Promise<Buffer>;
  /** On routes that take a multipart form: the body as it comes, under its limit. In the place of `body`. */
  upload(): Promise<Readable>;
};

/** The client hung up before its request was whole: nobody hears of it but the log. */
export class ClientDisconnected extends Fault {
  constructor() {
    super("invalid_request", { message: "The request ended before its body was whole." });
  }
}

/** Who calls, on routes that need a key. */
export function principalOf({ principal, route }: Exchange): Principal {
  if (principal === undefined) throw new Error(`route ${route.id} is served without a key`);
  return principal;
}

/** For calls that did not come over a connection of their own. */
export async function rejectUpload(): Promise<Readable> {
  throw new Error("there is no upload in this call");
}

/** A whole answer. `json` is serialised by the edge. */
export type HttpResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Each in a header of its own. */
  readonly cookies?: readonly string[];
  readonly json?: unknown;
  readonly bytes?: Buffer | string;
};

/** The client's side of an answer that is written piece by piece. */
export type ResponseSink = {
  readonly started: boolean;
  /** The client hung up before the answer was whole. */
  readonly disconnected: boolean;
  /** No client takes it: what it waits for is the gateway's own. */
  readonly unattended?: true | undefined;
  /** Why it takes no more, where that is the gateway's own doing: the answer breaks, and nobody pays for it. */
  readonly refusal?: Fault | undefined;
  start(status: number, headers: Readonly<Record<string, string>>): void;
  /** False: wait for `drained` before writing on. */
  write(chunk: Buffer | string): boolean;
  /** Resolves when there is room again or the client has gone. */
  drained(): Promise<void>;
  end(chunk?: Buffer | string): void;
  /** Cuts the connection: the only honest end of an answer that broke and cannot say so. */
  abort(): void;
  /** Called once when the client hangs up before the end, or no more is taken. */
  onDisconnect(listener: () => void): void;
};

export type Handler =
  | { readonly kind: "whole"; readonly handle: (exchange: Exchange) => Promise<HttpResponse> }
  | { readonly kind: "streamed"; readonly handle: (exchange: Exchange, sink: ResponseSink) => Promise<void> };

export function buffered(handle: (exchange: Exchange) => Promise<HttpResponse>): Handler {
  return { kind: "whole", handle };
}

export function streamed(handle: (exchange: Exchange, sink: ResponseSink) => Promise<void>): Handler {
  return { kind: "streamed", handle };
}
