import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import { encodeDetail } from "../reasoning-details.ts";
import { encodeUsage } from "../usage.ts";
import { encodeStreamError } from "./errors.ts";
import { annotation, shownCalls, toolCall } from "./reply.ts";

/** Encodes canonical events as chat-completion chunks. */
export class ChunkWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #includeUsage: boolean;
  readonly #before: string;
  readonly #after: string;
  readonly #usageNull: string;
  readonly #isShown: (event: ReplyEvent) => boolean;
  #details = 0;
  #hasBegun = false;

  constructor(head: ReplyHead, call: Pick<Call, "includeUsage" | "openAiParameters">) {
    const { includeUsage } = call;
    this.#head = head;
    this.#isShown = shownCalls(call);
    this.#includeUsage = includeUsage;
    const text = JSON.stringify({
      id: head.id,
      object: "chat.completion.chunk",
      created: head.createdSeconds,
      model: head.model,
    });
    this.#usageNull = includeUsage ? ',"usage":null' : "";
    this.#before = `data: ${text.slice(0, -1)},"choices":[{"index":0,"delta":`;
    this.#after = `,"logprobs":null,"finish_reason":null}]${this.#usageNull}}\n\n`;
  }

  write(event: ReplyEvent): string {
    const delta = this.#isShown(event) ? this.#delta(event) : undefined;
    return delta === undefined ? "" : this.#role() + this.#before + JSON.stringify(delta) + this.#after;
  }

  /** The role chunk precedes the first visible content. */
  #role(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    return `${this.#before}{"role":"assistant","content":"","refusal":null}${this.#after}`;
  }

  close({ finish, usage: billed, cost, omitted }: ReplyClosing): string {
    const reported = omitted === undefined ? "" : `,"svc_omitted":${JSON.stringify(omitted)}`;
    const reason = finish?.reason ?? "stop";
    const end = `${this.#role()}${this.#before}{},"logprobs":null,"finish_reason":"${reason}"}]${this.#usageNull}${reported}}\n\n`;
    if (!this.#includeUsage) return `${end}data: [DONE]\n\n`;
    const { id, createdSeconds, model } = this.#head;
    const usage = encodeUsage(billed, cost);
    const chunk = { id, object: "chat.completion.chunk", created: createdSeconds, model, choices: [], usage };
    return `${end}data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  }

  fail(envelope: ErrorEnvelope): string {
    return encodeStreamError(envelope);
  }

  #delta(event: ReplyEvent): JsonObject | undefined {
    switch (event.is) {
      case "text":
        return { content: event.text };
      case "refusal":
        return { refusal: event.text };
      case "reasoning":
        return { reasoning_content: event.text };
      case "reasoning_detail":
        return { reasoning_details: [encodeDetail(event.detail, this.#details++)] };
      case "tool_call":
        return { tool_calls: [{ index: event.index, ...toolCall(event.id, event.name, "", event.signature) }] };
      case "tool_arguments":
        return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
      case "citation":
        return { annotations: [annotation(event.citation)] };
      case "begin":
      case "usage":
      case "finish":
      case "problem":
      case "omitted":
      case "end":
        return undefined;
    }
  }
}
