import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import { stringifyWithSpans } from "../../../../kit/json-span.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { FinishEvent, ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import { errorFields, type FailedResponseError, failedResponseError } from "./errors.ts";
import { ItemEventEncoder } from "./item-events.ts";
import { flatNames } from "./namespaces.ts";
import { encodeItem, type ItemStatus, type OutputItem, OutputItems } from "./output-items.ts";
import { encodeUsage } from "./usage.ts";

type ResponseOutcome = {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly reason: string | null;
};

type ResponseState = {
  readonly ended: ResponseOutcome;
  readonly usage: JsonObject | undefined;
  readonly problem: FailedResponseError | null;
};

const INITIAL_FIELDS = {
  status: "in_progress",
  error: null,
  incomplete_details: null,
  output: [],
} as const satisfies JsonObject;

/** Encodes canonical events as a responses stream. One item is open at a time; content of others is queued. */
export class ResponseWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #echo: JsonObject;
  readonly #visibility: SignatureVisibility;
  readonly #items: OutputItems;
  readonly #events: ItemEventEncoder;
  #hasBegun = false;
  /** Index of the open item; earlier ones are closed. */
  #openIndex = 0;
  #state: ResponseState = { ended: { status: "in_progress", reason: null }, usage: undefined, problem: null };

  constructor(head: ReplyHead, echo: JsonObject, visibility: SignatureVisibility, call: Call) {
    this.#head = head;
    this.#echo = echo;
    this.#visibility = visibility;
    this.#items = new OutputItems({
      responseId: head.id,
      names: flatNames(echo["tools"]),
      allowsParallelCalls: call.openAiParameters?.parallel_tool_calls !== false,
    });
    this.#events = new ItemEventEncoder(visibility);
  }

  get finalJson(): string | undefined {
    return this.#state.ended.status === "in_progress" ? undefined : stringifyWithSpans(this.#response("shown"));
  }

  write(event: ReplyEvent): string {
    this.#items.add(event, this.#openIndex);
    const { list } = this.#items;
    const late = this.#items.takeLate();
    if (this.#openIndex >= list.length && late.length === 0) return "";
    let text = this.#begin() + late.map((annotation) => this.#events.late(annotation, list)).join("");
    for (; this.#openIndex < list.length; this.#openIndex += 1) {
      const item = list[this.#openIndex];
      if (item === undefined) break;
      text += this.#events.grow(item, this.#openIndex);
      if (!isItemComplete(item, list, this.#openIndex)) break;
      text += this.#events.close(item, this.#openIndex, "completed");
    }
    return text;
  }

  /** Sent with the first visible content: until then the gateway can fail over. */
  #begin(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const response = { ...this.#response("hidden"), ...INITIAL_FIELDS };
    return (
      this.#events.encode("response.created", { response }) + this.#events.encode("response.in_progress", { response })
    );
  }

  close(closing: ReplyClosing): string {
    // The initial events must precede the final state.
    let text = this.#begin();
    const { ended } = this.#end(closing);
    const { list } = this.#items;
    for (; this.#openIndex < list.length; this.#openIndex += 1) {
      const item = list[this.#openIndex];
      if (item === undefined) break;
      text += this.#events.grow(item, this.#openIndex);
      text += this.#events.close(item, this.#openIndex, this.#statusAt(this.#openIndex, ended));
    }
    const reported = closing.omitted === undefined ? undefined : { svc_omitted: closing.omitted };
    return (
      text +
      this.#events.encode(`response.${ended.status}`, { response: this.#response(this.#visibility), ...reported })
    );
  }

  fail({ error }: ErrorEnvelope): string {
    const begin = this.#begin();
    const errorEvent = this.#events.encode("error", errorFields(error));
    const problem = failedResponseError(error);
    this.#state = { ended: { status: "failed", reason: null }, usage: undefined, problem };
    return begin + errorEvent + this.#events.encode("response.failed", { response: this.#response(this.#visibility) });
  }

  whole(closing: ReplyClosing): string {
    this.#end(closing);
    return stringifyWithSpans(this.#response(this.#visibility));
  }

  #end({ finish, usage, cost }: ReplyClosing): ResponseState {
    this.#state = { ended: responseEnd(finish), usage: encodeUsage(usage, cost), problem: null };
    return this.#state;
  }

  /** A truncated reply was cut in its last item. */
  #statusAt(at: number, { status }: ResponseOutcome): ItemStatus {
    if (status === "failed") return at < this.#openIndex ? "completed" : "incomplete";
    if (status !== "incomplete") return "completed";
    const last = this.#items.list.findLastIndex((item) => item.is !== "reasoning" || !item.isMessageSignature);
    return at === last ? "incomplete" : "completed";
  }

  #response(visibility: SignatureVisibility): JsonObject {
    const { id, createdSeconds, model } = this.#head;
    const { ended, usage, problem } = this.#state;
    return {
      id,
      object: "response",
      created_at: createdSeconds,
      status: ended.status,
      error: problem,
      incomplete_details: ended.reason === null ? null : { reason: ended.reason },
      model,
      output: this.#items.list.map((item, at) => encodeItem(item, this.#statusAt(at, ended), visibility)),
      ...this.#echo,
      ...(usage === undefined ? {} : { usage }),
    };
  }
}

/** Whether the next item may open. */
function isItemComplete(item: OutputItem, list: readonly OutputItem[], at: number): boolean {
  const later = list.slice(at + 1);
  switch (item.is) {
    case "reasoning":
      return item.isComplete || later.length > 0;
    case "message":
      return later.some((next) => next.is !== "reasoning" || !next.isMessageSignature);
    case "function_call":
    case "custom_tool_call":
      return later.length > 0 && item.endsInBrace && isCompleteJson(item.text);
  }
}

/** Some servers interleave the arguments of several calls: a call ends when its JSON is complete. */
function isCompleteJson(argumentsText: string): boolean {
  try {
    JSON.parse(argumentsText);
    return true;
  } catch {
    return false;
  }
}

function responseEnd(finish: FinishEvent | undefined): ResponseOutcome {
  if (finish?.reason === "length") return { status: "incomplete", reason: "max_output_tokens" };
  if (finish?.reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  return { status: "completed", reason: null };
}
