import type { ErrorEnvelope } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { FinishEvent, ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import { errorFields, failureCode } from "./errors.ts";
import { ItemEventEncoder } from "./item-events.ts";
import { flatNames } from "./namespaces.ts";
import { encodeItem, type ItemStatus, type OutputItem, OutputItems } from "./output-items.ts";
import { encodeUsage } from "./usage.ts";

type ResponseEnd = {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly reason: string | null;
};

type ResponseState = {
  readonly ended: ResponseEnd;
  readonly usage: JsonObject | undefined;
  readonly problem: { readonly code: string; readonly message: string } | null;
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
  readonly #drafts: OutputItems;
  readonly #events: ItemEventEncoder;
  #begun = false;
  /** Index of the open item; earlier ones are closed. */
  #at = 0;
  #state: ResponseState = { ended: { status: "in_progress", reason: null }, usage: undefined, problem: null };

  constructor(head: ReplyHead, echo: JsonObject, visibility: SignatureVisibility, call: Call) {
    this.#head = head;
    this.#echo = echo;
    this.#visibility = visibility;
    this.#drafts = new OutputItems({
      responseId: head.id,
      names: flatNames(echo["tools"]),
      toolCalls: call.openAiParameters?.parallel_tool_calls === false ? "one" : "many",
    });
    this.#events = new ItemEventEncoder(visibility);
  }

  get finalJson(): string | undefined {
    return this.#state.ended.status === "in_progress" ? undefined : JSON.stringify(this.#response("shown"));
  }

  write(event: ReplyEvent): string {
    this.#drafts.add(event, this.#at);
    const { list } = this.#drafts;
    if (this.#at >= list.length) return "";
    let text = this.#begin();
    for (; this.#at < list.length; this.#at += 1) {
      const draft = list[this.#at];
      if (draft === undefined) break;
      text += this.#events.grow(draft, this.#at);
      if (!isItemComplete(draft, list, this.#at)) break;
      text += this.#events.close(draft, this.#at, "completed");
    }
    return text;
  }

  /** Sent with the first visible content: until then the gateway can fail over. */
  #begin(): string {
    if (this.#begun) return "";
    this.#begun = true;
    const response = { ...this.#response("hidden"), ...INITIAL_FIELDS };
    return (
      this.#events.encode("response.created", { response }) + this.#events.encode("response.in_progress", { response })
    );
  }

  close(closing: ReplyClosing): string {
    // The initial events must precede the final state.
    let text = this.#begin();
    const { ended } = this.#end(closing);
    const { list } = this.#drafts;
    for (; this.#at < list.length; this.#at += 1) {
      const draft = list[this.#at];
      if (draft === undefined) break;
      text += this.#events.grow(draft, this.#at);
      text += this.#events.close(draft, this.#at, this.#statusAt(this.#at, ended));
    }
    return text + this.#events.encode(`response.${ended.status}`, { response: this.#response(this.#visibility) });
  }

  fail({ error }: ErrorEnvelope): string {
    const begin = this.#begin();
    const said = this.#events.encode("error", errorFields(error));
    const problem = { code: failureCode(error.code), message: error.message };
    this.#state = { ended: { status: "failed", reason: null }, usage: undefined, problem };
    return begin + said + this.#events.encode("response.failed", { response: this.#response(this.#visibility) });
  }

  whole(closing: ReplyClosing): string {
    this.#end(closing);
    return JSON.stringify(this.#response(this.#visibility));
  }

  #end({ finish, usage, cost }: ReplyClosing): ResponseState {
    this.#state = { ended: responseEnd(finish), usage: encodeUsage(usage, cost), problem: null };
    return this.#state;
  }

  /** A truncated reply was cut in its last item. */
  #statusAt(at: number, { status }: ResponseEnd): ItemStatus {
    if (status === "failed") return at < this.#at ? "completed" : "incomplete";
    if (status !== "incomplete") return "completed";
    const last = this.#drafts.list.findLastIndex((draft) => draft.is !== "reasoning" || !draft.isMessageSignature);
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
      output: this.#drafts.list.map((draft, at) => encodeItem(draft, this.#statusAt(at, ended), visibility)),
      ...this.#echo,
      ...(usage === undefined ? {} : { usage }),
    };
  }
}

/** Whether the next item may open. */
function isItemComplete(draft: OutputItem, list: readonly OutputItem[], at: number): boolean {
  const later = list.slice(at + 1);
  switch (draft.is) {
    case "reasoning":
      return draft.isComplete || later.length > 0;
    case "message":
      return later.some((next) => next.is !== "reasoning" || !next.isMessageSignature);
    case "function_call":
    case "custom_tool_call":
      return later.length > 0 && draft.endsInBrace && isCompleteJson(draft.text);
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

function responseEnd(finish: FinishEvent | undefined): ResponseEnd {
  if (finish?.reason === "length") return { status: "incomplete", reason: "max_output_tokens" };
  if (finish?.reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  return { status: "completed", reason: null };
}
