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

/** Canonical events as a stream of responses events. One item is open at a time; what comes for others waits. */
export class ResponseWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #echo: JsonObject;
  readonly #visibility: SignatureVisibility;
  readonly #drafts: OutputItems;
  readonly #events: ItemEventEncoder;
  #begun = false;
  /** The item that is open; those before it are closed. */
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

  /** The head of the answer comes right before the first thing that is shown: until then another endpoint may answer. */
  #begin(): string {
    if (this.#begun) return "";
    this.#begun = true;
    const response = { ...this.#response("hidden"), ...INITIAL_FIELDS };
    return (
      this.#events.encode("response.created", { response }) + this.#events.encode("response.in_progress", { response })
    );
  }

  close(closing: ReplyClosing): string {
    // The head says what was known before the end, also where nothing was said in between.
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

  /** Everything at once: what a caller would put together from the stream. */
  whole(closing: ReplyClosing): string {
    this.#end(closing);
    return JSON.stringify(this.#response(this.#visibility));
  }

  #end({ finish, usage, cost }: ReplyClosing): ResponseState {
    this.#state = { ended: responseEnd(finish), usage: encodeUsage(usage, cost), problem: null };
    return this.#state;
  }

  /** An answer that was cut short was cut in its last item. */
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

/** Whether something else may open: the item is whole, or what follows it shows that it is. */
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

/** Some servers send the arguments of several calls in turns; a call is over when its arguments are whole. */
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
