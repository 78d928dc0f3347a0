import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  patchMembers,
  scanMembers,
  tryParseJsonObject,
} from "../../../../kit/json.ts";
import { frameObject } from "../../../../kit/json-document.ts";
import { stringifyRewritten, type TextLimits } from "../../../../kit/json-size.ts";
import { listOmitted } from "../../../canon/omitted-paths.ts";
import type { ReplyStream, ReportedCost, StreamPiece } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import { latestUsage, type Usage } from "../../../canon/usage.ts";
import type { ReplyHead } from "../../client-dialect.ts";
import type { OmissionLog } from "../../reply-members.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { encodeStreamError } from "../client/errors.ts";
import { problemInChunk } from "../upstream/errors.ts";
import { ReplyNormalizer } from "../upstream/normalize.ts";
import { END_MARKER } from "../upstream/stream.ts";
import { decodeUsage } from "../usage.ts";
import { measureMessage } from "./measure-message.ts";
import { ONLY_OMITTED_CONTENT, omittedContent } from "./omitted-content.ts";
import { encodePassthroughUsage } from "./reply.ts";

const END_OF_STREAM = `data: ${END_MARKER}\n\n`;

/** Relays a chat-completions stream: replaces the id of each frame and normalizes non-conforming choices. */
export class PassthroughChatStream implements ReplyStream {
  readonly #own: OwnHead;
  readonly #ownId: string;
  readonly #ownModel: string | undefined;
  readonly #includeUsage: boolean;
  readonly #normalizer: ReplyNormalizer;
  readonly #text: TextLimits | undefined;
  #usage: Usage | undefined;
  #wireUsage: unknown;
  #usageFrame: (FrameSource & { readonly chunk: JsonObject }) | undefined;
  #outputWeight = 0;
  #upstreamId: string | null = null;
  #finished = false;
  #hasCalls = false;
  #created = 0;
  #model = "";
  #omissions: OmissionLog | undefined;
  #template: FrameTemplate | undefined;

  /** `ownModel` replaces the name of a model that callers do not know by it. */
  constructor(own: OwnHead, includeUsage: boolean, ownModel?: string, text?: TextLimits) {
    const { id: ownId } = own;
    this.#own = own;
    this.#ownId = ownId;
    this.#ownModel = ownModel;
    this.#includeUsage = includeUsage;
    this.#normalizer = new ReplyNormalizer(ownId, "delta", text);
    this.#text = text;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get outputWeight(): number {
    return this.#outputWeight;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get isFinished(): boolean {
    return this.#finished;
  }

  get omitted(): readonly string[] | undefined {
    return this.#omissions?.paths;
  }

  get unusable(): string | undefined {
    return this.#omissions?.hasContent === true && this.#outputWeight === 0 ? ONLY_OMITTED_CONTENT.unusable : undefined;
  }

  read(frame: StreamFrame): StreamPiece {
    if (frame.data === END_MARKER) return { is: "end", text: this.#missingFinish() };
    const matched = this.#template === undefined ? undefined : this.#matchTemplate(this.#template, frame);
    return matched ?? this.#parse(frame.data.includes("\n") ? onOneLine(frame) : frame);
  }

  #parse(frame: StreamFrame): StreamPiece {
    const chunk = frameObject(frame);
    if (chunk === undefined) return { is: "malformed" };
    const problem = problemInChunk(chunk, frame.event);
    if (problem !== undefined) return { is: "problem", problem };
    const { choices, created, model } = chunk;
    if (this.#created === 0 && typeof created === "number") this.#created = created;
    if (this.#model === "" && typeof model === "string") this.#model = model;
    if (!Array.isArray(choices)) return this.#readBare(chunk, frame);
    if (this.#upstreamId === null && typeof chunk["id"] === "string" && chunk["id"] !== "")
      this.#upstreamId = chunk["id"];
    const normalized = this.#normalizer.normalize(choices);
    if (normalized === undefined) return this.#readChunk(chunk, choices, { frame, patches: NO_PATCHES });
    this.#omissions = omittedContent(choices, "delta", this.#omissions);
    const patches = [{ key: "choices", json: stringifyRewritten(normalized, this.#text) }];
    return this.#readChunk({ ...chunk, choices: normalized }, normalized, { frame, patches });
  }

  /** Some servers omit the empty `choices` of the usage frame. */
  #readBare(chunk: JsonObject, frame: StreamFrame): StreamPiece {
    const { choices, usage } = chunk;
    if (choices != null || (choices === undefined && usage == null)) return { is: "malformed" };
    if (usage == null) return { is: "usage" };
    const source = { frame, patches: [{ key: "choices", json: "[]" }] };
    return this.#readUsage({ ...chunk, choices: NO_CHOICES }, source, 0, false);
  }

  /** Clients wait for the finish reason; a server that ends without one had finished. */
  #missingFinish(): string {
    if (this.#finished || this.#outputWeight === 0) return "";
    const reason = this.#hasCalls ? "tool_calls" : "stop";
    const choices = [{ index: 0, delta: {}, logprobs: null, finish_reason: reason }];
    return `data: ${JSON.stringify({ ...this.#head(), choices, ...this.#report() })}\n\n`;
  }

  #report(): { svc_omitted?: readonly string[] } {
    const paths = this.#omissions?.paths;
    return paths === undefined ? {} : { svc_omitted: listOmitted(paths) };
  }

  #head(): JsonObject {
    const created = this.#created || this.#own.createdSeconds;
    return {
      id: this.#ownId,
      object: "chat.completion.chunk",
      created,
      model: this.#ownModel ?? (this.#model || this.#own.model),
    };
  }

  #readChunk(chunk: JsonObject, choices: readonly unknown[], source: FrameSource): StreamPiece {
    const { weight, finishes, usage } = this.#readChoices(choices);
    this.#outputWeight += weight;
    if (finishes) this.#finished = true;
    if (chunk["usage"] != null) return this.#readUsage(chunk, source, weight, finishes);
    if (usage != null) this.#recordUsage(usage);
    // Clients that did not request usage do not see the provider's null.
    const hidden = !this.#includeUsage && chunk["usage"] === null ? NO_USAGE : NO_PATCHES;
    const rewritten = this.#rewrite(source, chunk, finishes ? [...hidden, ...this.#reportPatches()] : hidden);
    const { event, data, document } = source.frame;
    if (weight > 0 && !finishes && event === null && document === undefined && source.patches.length === 0)
      this.#template = templateOf(data, chunk, weight, rewritten);
    return { is: weight > 0 || finishes ? "content" : "preamble", text: `data: ${rewritten}\n\n` };
  }

  /** The finish chunk lists what was omitted. */
  #reportPatches(): readonly MemberPatch[] {
    const { svc_omitted } = this.#report();
    return svc_omitted === undefined ? NO_PATCHES : [{ key: "svc_omitted", json: JSON.stringify(svc_omitted) }];
  }

  /** Hot path: most frames differ from the template only in their text and are not parsed. */
  #matchTemplate(
    { start, end, ownStart, ownEnd }: FrameTemplate,
    { data, event, document }: StreamFrame,
  ): StreamPiece | undefined {
    // A long event is not searched again.
    if (document !== undefined) return undefined;
    const from = start.length;
    const to = data.length - end.length;
    if (event !== null || to <= from || data.slice(0, from) !== start || data.slice(to) !== end) return undefined;
    const plainText = data.slice(from, to);
    if (NOT_PLAIN.test(plainText)) return undefined;
    this.#outputWeight += weightOf(plainText);
    return { is: "content", text: ownStart + plainText + ownEnd };
  }

  #readChoices(choices: readonly unknown[]): { weight: number; finishes: boolean; usage: unknown } {
    let weight = 0;
    let finishes = false;
    let usage: unknown;
    for (const choice of choices) {
      if (!isJsonObject(choice)) continue;
      const delta = choice["delta"];
      if (isJsonObject(delta)) {
        weight += measureMessage(delta, weightOf);
        if (Array.isArray(delta["tool_calls"]) && delta["tool_calls"].length > 0) this.#hasCalls = true;
      }
      if (typeof choice["finish_reason"] !== "string") continue;
      finishes = true;
      // Some servers put usage into the last choice.
      usage = choice["usage"];
    }
    return { weight, finishes, usage };
  }

  /** Usage is cumulative: the last report wins. */
  #recordUsage(usage: unknown): void {
    this.#usage = latestUsage(this.#usage, decodeUsage(usage));
    this.#wireUsage = usage;
  }

  #readUsage(chunk: JsonObject, source: FrameSource, weight: number, finishes: boolean): StreamPiece {
    this.#recordUsage(chunk["usage"]);
    const choices = chunk["choices"];
    if (Array.isArray(choices) && choices.length > 0) {
      // Usage beside content: the content is relayed now, the usage with the last frame.
      const relayed = this.#rewrite(source, chunk, finishes ? [...NO_USAGE, ...this.#reportPatches()] : NO_USAGE);
      return { is: weight > 0 || finishes ? "content" : "preamble", text: `data: ${relayed}\n\n` };
    }
    this.#usageFrame = { ...source, chunk };
    if (this.#includeUsage || !hasOtherMembers(chunk)) return { is: "usage" };
    return { is: "preamble", text: `data: ${this.#rewrite(source, chunk, NO_USAGE)}\n\n` };
  }

  /** The event with the gateway's own id and model. All members are replaced in one pass. */
  #rewrite({ frame, patches }: FrameSource, chunk: JsonObject, more: readonly MemberPatch[]): string {
    const ownModel = chunk["model"] === undefined ? undefined : this.#ownModel;
    if (patches.length + more.length === 0 && ownModel === undefined) {
      const data = withId(frame.data, chunk, this.#ownId);
      if (data !== undefined) return data;
    }
    const named = ownModel === undefined ? NO_PATCHES : [{ key: "model", json: JSON.stringify(ownModel) }];
    const body = bodyOf(frame);
    if (body === undefined) return frame.data;
    return patchMembers(body, [...patches, ...named, { key: "id", json: JSON.stringify(this.#ownId) }, ...more]);
  }

  fail(envelope: ErrorEnvelope): string {
    return encodeStreamError(envelope);
  }

  close(billed: Usage, cost: ReportedCost | undefined): string {
    if (!this.#includeUsage) return END_OF_STREAM;
    const usage = JSON.stringify(encodePassthroughUsage(this.#wireUsage, billed, cost));
    if (this.#usageFrame !== undefined) {
      const { chunk } = this.#usageFrame;
      return `data: ${this.#rewrite(this.#usageFrame, chunk, [{ key: "usage", json: usage }])}\n\n${END_OF_STREAM}`;
    }
    const head = JSON.stringify({ ...this.#head(), choices: [] });
    return `data: ${head.slice(0, -1)},"usage":${usage}}\n\n${END_OF_STREAM}`;
  }
}

/** Time and model for frames of the gateway's own, if the provider states none. */
type OwnHead = Pick<ReplyHead, "id" | "createdSeconds" | "model">;

/** An event, and the members of it that are replaced. */
type FrameSource = { readonly frame: StreamFrame; readonly patches: readonly MemberPatch[] };

const NO_CHOICES: readonly unknown[] = [];
const NO_PATCHES: readonly MemberPatch[] = [];
const NO_USAGE: readonly MemberPatch[] = [{ key: "usage", json: null }];

/** Members of a usage frame that are not for clients that requested no usage, or have no content. */
const USAGE_FRAME_MEMBERS: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "system_fingerprint",
  "service_tier",
  "timings",
  "time_info",
  "x_groq",
  "obfuscation",
  "p",
]);

function hasOtherMembers(chunk: JsonObject): boolean {
  for (const key in chunk) if (!USAGE_FRAME_MEMBERS.has(key) && chunk[key] != null) return true;
  return false;
}

type FrameTemplate = {
  readonly start: string;
  readonly end: string;
  readonly ownStart: string;
  readonly ownEnd: string;
};

/** A quote, a backslash or a control character. */
const NOT_PLAIN = /[^ !#-[\]-\uffff]/;

/** Position of the text if it is one plain string that occurs once; otherwise undefined. */
function templateOf(data: string, chunk: JsonObject, weight: number, rewritten: string): FrameTemplate | undefined {
  const choices = chunk["choices"];
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  const delta = isJsonObject(choice) ? choice["delta"] : undefined;
  if (!isJsonObject(delta)) return undefined;
  for (const key of ["content", "reasoning_content", "reasoning"]) {
    const plainText = delta[key];
    if (typeof plainText !== "string" || weightOf(plainText) !== weight || NOT_PLAIN.test(plainText)) continue;
    const member = `"${key}":"${plainText}"`;
    const at = data.indexOf(member);
    if (at < 0 || data.indexOf(member, at + 1) >= 0) return undefined;
    const from = at + key.length + 4;
    const rewrittenAt = rewritten.indexOf(member);
    const rewrittenFrom = rewrittenAt + key.length + 4;
    return {
      start: flatten(data.slice(0, from)),
      end: flatten(data.slice(from + plainText.length)),
      ownStart: flatten(`data: ${rewritten.slice(0, rewrittenFrom)}`),
      ownEnd: flatten(`${rewritten.slice(rewrittenFrom + plainText.length)}\n\n`),
    };
  }
  return undefined;
}

/** Copies into one contiguous string, so comparisons do not walk ropes or slices. */
function flatten(text: string): string {
  return Buffer.from(text).toString();
}

/** In JSON a line break occurs only between tokens, so a space can replace it. */
function onOneLine(frame: StreamFrame): StreamFrame {
  const { event, data } = frame;
  return tryParseJsonObject(data) === undefined ? frame : { event, data: data.replaceAll("\n", " ") };
}

/** Fast path for the usual position of the id; undefined: it has another one. */
function withId(data: string, chunk: JsonObject, ownId: string): string | undefined {
  const start = `{"id":"${String(chunk["id"])}"`;
  if (data.slice(0, start.length) !== start || start.includes("\\")) return undefined;
  return `{"id":"${ownId}"${data.slice(start.length)}`;
}

/** Undefined for duplicate keys. */
function bodyOf({ data, document }: StreamFrame): Omit<ParsedBody, "value"> | undefined {
  if (document === undefined) return scanMembers(data);
  return "problem" in document.body ? undefined : document.body;
}
