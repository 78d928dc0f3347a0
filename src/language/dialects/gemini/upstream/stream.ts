import { isJsonObject } from "../../../../kit/json.ts";
import { frameValue } from "../../../../kit/json-document.ts";
import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";
import { Utf8Offsets } from "../../../../kit/utf8-offsets.ts";
import type { ReasoningSignature } from "../../../canon/parts.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { latestUsage, NO_TOKENS, type TokenCounts } from "../../../canon/usage.ts";
import { OmissionLog } from "../../reply-members.ts";
import type { ReplyContext, ReplyEventReader, StreamFrame } from "../../upstream-dialect.ts";
import { WireAnswer, type WireCandidate, type WireFunctionCall, type WirePart } from "../wire.ts";
import { CITATIONS_MAX, citationsOf, hasUnsourcedSupport } from "./citations.ts";
import { decodeProblem } from "./errors.ts";
import { decodeFinishReason, malformedReply } from "./finish-reasons.ts";
import { REPLY } from "./members.ts";
import { ArgumentsBuilder } from "./partial-arguments.ts";
import { decodeUsage } from "./usage.ts";

type OpenToolCall = {
  readonly index: number;
  readonly builder: ArgumentsBuilder;
  /** Arguments that are not an object. */
  text?: string;
};

/** Decodes the chunks of one reply; a whole reply is one chunk. */
export class GeminiReader implements ReplyEventReader {
  readonly #turns: number;
  readonly #text: TextLimits | undefined;
  #upstreamId: string | null | undefined;
  #usage: TokenCounts | undefined;
  #calls = 0;
  #open: OpenToolCall | undefined;
  readonly #offsets = new Utf8Offsets();
  #hasContent = false;
  #statedReason: string | undefined;
  readonly #explanations = new Set<string>();
  #finish: FinishReason | undefined;
  readonly #cited = new Set<string>();
  readonly #omissions: OmissionLog;

  constructor(context?: ReplyContext) {
    this.#turns = context?.call.turns.length ?? 0;
    this.#text = context?.text;
    this.#omissions = new OmissionLog(context?.places ?? NO_PLACES);
  }

  read(frame: StreamFrame): readonly ReplyEvent[] | undefined {
    const value = frameValue(frame);
    return this.readValue(Array.isArray(value) ? value[0] : value);
  }

  readValue(value: unknown): readonly ReplyEvent[] | undefined {
    if (!isJsonObject(value)) return undefined;
    if (isJsonObject(value["error"])) return [{ is: "problem", problem: decodeProblem(value, null) }];
    const parsed = WireAnswer.safeParse(value);
    if (!parsed.success) return undefined;
    this.#omissions.check(value, REPLY);
    const events = this.#readAnswer(parsed.data);
    events?.push(...this.#omissions.events());
    return events;
  }

  #readAnswer(wire: WireAnswer): ReplyEvent[] | undefined {
    const blocked = wire.promptFeedback?.blockReason ?? "";
    // Requests ask for one candidate only: others are not merged into it.
    const candidate = wire.candidates?.find(({ index }) => (index ?? 0) === 0);
    if (wire.candidates?.some((other) => other !== candidate)) this.#omissions.add("candidates[]", { isContent: true });
    const hasCandidates = wire.candidates != null && wire.candidates.length > 0;
    if (!hasCandidates && blocked === "" && wire.usageMetadata == null) return undefined;
    const events: ReplyEvent[] = [];
    this.#begin(wire.responseId || null, events);
    if (candidate !== undefined) this.#readCandidate(candidate, events);
    // Usage of a prompt that was blocked before the model ran is omitted because it is zero.
    const reported = decodeUsage(wire.usageMetadata) ?? (blocked === "" ? undefined : NO_TOKENS);
    this.#usage = latestUsage(this.#usage, reported);
    if (reported !== undefined && this.#usage !== undefined) events.push({ is: "usage", usage: this.#usage });
    const statedReason = candidate?.finishReason;
    if (statedReason && statedReason !== "FINISH_REASON_UNSPECIFIED") this.#statedReason = statedReason;
    else if (candidate === undefined && blocked !== "") this.#statedReason ??= "PROHIBITED_CONTENT";
    if (candidate !== undefined && blocked !== "") this.#omissions.add("promptFeedback.blockReason");
    this.#explain(candidate?.finishMessage, "candidates[].finishMessage", events);
    this.#explain(wire.promptFeedback?.blockReasonMessage, "promptFeedback.blockReasonMessage", events);
    this.#conclude(candidate?.finishMessage ?? null, events);
    return events;
  }

  #begin(upstreamId: string | null, events: ReplyEvent[]): void {
    if (this.#upstreamId !== undefined && (this.#upstreamId !== null || upstreamId === null)) return;
    this.#upstreamId = upstreamId;
    events.push({ is: "begin", upstreamId });
  }

  #readCandidate(candidate: WireCandidate, events: ReplyEvent[]): void {
    const parts = candidate.content?.parts ?? [];
    const first = !this.#hasContent;
    const partStarts: number[] = [];
    // Only citations need the offsets.
    const isCited = first && candidate.groundingMetadata != null;
    let bytes = 0;
    for (const part of parts) {
      if (isCited) {
        partStarts.push(bytes);
        if (part.thought !== true) bytes += Buffer.byteLength(part.text ?? "");
      }
      this.#readPart(part, events);
    }
    if (hasUnsourcedSupport(candidate)) this.#omissions.add("candidates[].groundingMetadata.groundingSupports[]");
    this.#readCitations(candidate, partStarts, events);
  }

  #readCitations(candidate: WireCandidate, partStarts: readonly number[], events: ReplyEvent[]): void {
    const path = "candidates[].groundingMetadata.groundingChunks[]";
    let seen = 0;
    for (const citation of citationsOf(candidate, { offsets: this.#offsets, partStarts })) {
      if (this.#cited.size >= CITATIONS_MAX || seen >= CITATIONS_MAX) {
        this.#omissions.add(path);
        return;
      }
      seen += 1;
      const key = JSON.stringify(citation);
      if (this.#cited.has(key)) continue;
      this.#cited.add(key);
      events.push({ is: "citation", citation, path });
    }
  }

  #readPart(part: WirePart, events: ReplyEvent[]): void {
    const signature: ReasoningSignature | null = part.thoughtSignature
      ? { family: "google", data: part.thoughtSignature }
      : null;
    if (part.functionCall != null) {
      this.#readCall(part.functionCall, signature, events);
      return;
    }
    if (part.text) {
      if (part.thought === true) events.push({ is: "reasoning", text: part.text });
      else {
        this.#offsets.append(part.text);
        this.#hasContent = true;
        events.push({ is: "text", text: part.text });
      }
    }
    // The signature of a text may arrive on an empty part after it.
    if (signature !== null) events.push({ is: "reasoning_detail", detail: { is: "encrypted", signature } });
  }

  /** A call arrives whole, or its arguments follow as values at paths. */
  #readCall(call: WireFunctionCall, signature: ReasoningSignature | null, events: ReplyEvent[]): void {
    if (call.name) {
      this.#closeCall(events);
      const index = this.#calls;
      this.#calls += 1;
      this.#hasContent = true;
      const id = call.id || generatedCallId(this.#upstreamId ?? null, this.#turns, index);
      events.push({ is: "tool_call", index, id, name: call.name, signature });
      this.#open = { index, builder: new ArgumentsBuilder() };
    }
    const open = this.#open;
    if (open === undefined) return;
    const isWhole = call.name && call.partialArgs == null && call.willContinue !== true;
    if (isJsonObject(call.args) && !isWhole) open.builder.merge(call.args);
    else if (call.args != null)
      open.text = typeof call.args === "string" ? call.args : stringifyArguments(call.args, this.#text);
    for (const piece of call.partialArgs ?? []) {
      if (open.builder.add(piece)) continue;
      events.push({ is: "problem", problem: malformedReply("a fragment of tool call arguments has no position") });
      return;
    }
    if (call.willContinue !== true) this.#closeCall(events);
  }

  /** Why a reply was blocked is its refusal. */
  #explain(message: string | null | undefined, path: string, events: ReplyEvent[]): void {
    if (!message || this.#explanations.has(message)) return;
    this.#explanations.add(message);
    const decoded = decodeFinishReason(this.#statedReason ?? "", { hasCalls: false });
    // Of a broken reply it is the problem's message.
    if (decoded.is === "broken") return;
    if (decoded.reason === "content_filter") events.push({ is: "refusal", text: message });
    else this.#omissions.add(path);
  }

  #closeCall(events: ReplyEvent[]): void {
    if (this.#open === undefined) return;
    events.push({
      is: "tool_arguments",
      index: this.#open.index,
      text: this.#open.text ?? this.#open.builder.toJson(this.#text),
    });
    this.#open = undefined;
  }

  /** Some servers send the reason with every chunk and a call after it, so only changes are emitted. */
  #conclude(message: string | null, events: ReplyEvent[]): void {
    if (this.#statedReason === undefined) return;
    this.#closeCall(events);
    const decoded = decodeFinishReason(this.#statedReason, { hasCalls: this.#calls > 0 });
    if (decoded.is === "broken") {
      events.push({ is: "problem", problem: malformedReply(message ?? decoded.why) });
      return;
    }
    if (decoded.reason === this.#finish) return;
    this.#finish = decoded.reason;
    if (!this.#hasContent && !this.#omissions.hasContent) {
      // Clients expect a content field even in an empty reply.
      this.#hasContent = true;
      events.push({ is: "text", text: "" });
    }
    events.push({ is: "finish", reason: decoded.reason });
  }
}

/** Stable id for a call without one. Without a reply id, the number of turns keeps the ids of two replies apart. */
function generatedCallId(upstreamId: string | null, turns: number, index: number): string {
  return `call_${(upstreamId ?? `turn${turns}`).replace(/[^a-zA-Z0-9_-]/g, "_")}_${index}`;
}
