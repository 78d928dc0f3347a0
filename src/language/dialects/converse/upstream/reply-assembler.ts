import type { Call } from "../../../canon/call.ts";
import type { ReasoningDetail } from "../../../canon/parts.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { OmissionLog } from "../../reply-members.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import type { WireCitation, WireDelta } from "../wire.ts";
import { decodeUsage } from "./usage.ts";

/**
 * Name of the forced tool that carries structured output, for endpoints without a schema field. Its arguments become
 * the reply text.
 */
export const ANSWER_TOOL = "gateway_structured_answer";

export function usesAnswerTool({ call, facts }: ReplyContext): boolean {
  return call.responseFormat.is === "json_schema" && facts.structuredOutput === "tool";
}

/** Empty sequences are dropped. */
export function stopSequencesOf({ stop }: Call): readonly string[] {
  return stop.filter((sequence) => sequence !== "");
}

type OpenBlock =
  | { readonly is: "tool"; readonly call: number; empty: boolean }
  | { readonly is: "answer"; empty: boolean }
  | { readonly is: "reasoning"; text: string; signature: string; readonly redacted: Buffer[] };

/** Assembles a reply block by block, for streams and whole replies alike. */
export class ReplyAssembler {
  readonly #byTool: boolean;
  readonly #sequences: readonly string[];
  readonly omissions: OmissionLog;
  readonly #open = new Map<number, OpenBlock>();
  #calls = 0;
  #hasAnswer = false;
  /** Text beside a structured reply; used only if the tool is never called. */
  #surroundingText = "";

  constructor(context: ReplyContext | undefined) {
    this.#byTool = context !== undefined && usesAnswerTool(context);
    this.#sequences = context === undefined ? [] : stopSequencesOf(context.call);
    this.omissions = new OmissionLog(context?.places ?? NO_PLACES);
  }

  openTool(index: number, id: string, name: string): ReplyEvent[] {
    if (this.#byTool && name === ANSWER_TOOL) {
      this.#hasAnswer = true;
      this.#open.set(index, { is: "answer", empty: true });
      return [];
    }
    const call = this.#calls++;
    this.#open.set(index, { is: "tool", call, empty: true });
    return [{ is: "tool_call", index: call, id, name, signature: null }];
  }

  /** Text and reasoning blocks have no start event: their first delta opens them. */
  add(index: number, { text, toolUse, reasoningContent, citation }: WireDelta): ReplyEvent[] {
    if (text != null) return this.#addText(text);
    if (toolUse != null) return this.#addArguments(index, toolUse.input ?? "");
    if (citation != null) return [citationEvent(citation)];
    if (reasoningContent == null) return [];
    const block = this.#reasoningAt(index);
    const { text: reasoningText, signature, redactedContent } = reasoningContent;
    if (signature != null) block.signature += signature;
    if (redactedContent != null) block.redacted.push(Buffer.from(redactedContent, "base64"));
    if (reasoningText == null || reasoningText === "") return [];
    block.text += reasoningText;
    return [{ is: "reasoning", text: reasoningText }];
  }

  #addText(text: string): ReplyEvent[] {
    if (text === "") return [];
    if (!this.#byTool) return [{ is: "text", text }];
    this.#surroundingText += text;
    return [];
  }

  #addArguments(index: number, text: string): ReplyEvent[] {
    const block = this.#open.get(index);
    if (block === undefined || block.is === "reasoning" || text === "") return [];
    block.empty = false;
    return block.is === "tool" ? [{ is: "tool_arguments", index: block.call, text }] : [{ is: "text", text }];
  }

  #reasoningAt(index: number): Extract<OpenBlock, { is: "reasoning" }> {
    const found = this.#open.get(index);
    if (found?.is === "reasoning") return found;
    const block = { is: "reasoning" as const, text: "", signature: "", redacted: [] };
    this.#open.set(index, block);
    return block;
  }

  close(index: number): ReplyEvent[] {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block === undefined) return [];
    if (block.is === "reasoning") {
      const detail = reasoningDetail(block);
      return detail === undefined ? [] : [{ is: "reasoning_detail", detail }];
    }
    // A call without arguments has no delta.
    if (!block.empty) return [];
    return block.is === "tool"
      ? [{ is: "tool_arguments", index: block.call, text: "{}" }]
      : [{ is: "text", text: "{}" }];
  }

  stop(reason: string): ReplyEvent[] {
    const events = [...this.#open.keys()].flatMap((index) => this.close(index));
    if (reason === "malformed_model_output" || reason === "malformed_tool_use") {
      const message = "the provider could not parse the model's output";
      return [...events, { is: "problem", problem: { message, code: reason, type: null, status: 502 } }];
    }
    if (this.#surroundingText !== "") {
      if (this.#hasAnswer) this.omissions.add("output.message.content[].text");
      else events.push({ is: "text", text: this.#surroundingText });
    }
    return [...events, this.#finish(reason)];
  }

  /** The provider does not report which sequence matched; it is known only if the caller sent one. */
  #finish(statedReason: string): ReplyEvent {
    const reason = this.#reasonFor(statedReason);
    const [sequence, ...others] = statedReason === "stop_sequence" && reason === "stop" ? this.#sequences : [];
    return { is: "finish", reason, ...(sequence === undefined || others.length > 0 ? {} : { stopSequence: sequence }) };
  }

  #reasonFor(statedReason: string): FinishReason {
    switch (statedReason) {
      case "max_tokens":
      case "model_context_window_exceeded":
        return "length";
      case "guardrail_intervened":
      case "content_filtered":
      case "refusal":
        return "content_filter";
      default:
        return this.#calls > 0 ? "tool_calls" : "stop";
    }
  }

  /** Usage is the last event of a reply. */
  end(wireUsage: unknown): ReplyEvent[] {
    const usage = decodeUsage(wireUsage);
    return usage === undefined ? [{ is: "end" }] : [{ is: "usage", usage }, { is: "end" }];
  }
}

/**
 * Unsigned reasoning need not be sent back. Redacted content is base64 of the original text; the signature stores the
 * decoded text, so that messages endpoints can use it too.
 */
function reasoningDetail({
  text,
  signature,
  redacted,
}: Extract<OpenBlock, { is: "reasoning" }>): ReasoningDetail | undefined {
  if (redacted.length > 0)
    return { is: "encrypted", signature: { family: "anthropic", data: Buffer.concat(redacted).toString("utf8") } };
  return signature === "" ? undefined : { is: "readable", text, signature: { family: "anthropic", data: signature } };
}

function citationEvent({ title, location, sourceContent }: WireCitation): ReplyEvent {
  const excerpt = (sourceContent ?? []).map(({ text }) => text ?? "").join("");
  return {
    is: "citation",
    citation: {
      url: location?.web?.url ?? null,
      title: title ?? null,
      start: null,
      end: null,
      ...(excerpt === "" ? {} : { excerpt }),
    },
    path: "output.message.content[].citationsContent.citations[]",
  };
}
