import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { DecisionAsk } from "./call.ts";
import type { RawReply, RawUsage } from "./reply.ts";

/** Where images go: items of the state, parts of the input, or a field of their own. */
export type ImagePlacement = "state_items" | "input_parts" | "images_field" | "image_objects";

/** What the catalogue says of a server that is asked for decisions. */
export type WireFacts = {
  readonly upstreamModel: string;
  readonly path: string | null;
  /** The answer stands in `result`, beside `success`. */
  readonly envelope: boolean;
  readonly images: ImagePlacement | null;
};

/** A wire format that all questions are asked in at once. */
export type DecisionWire = {
  /** Below the base address, where nothing else is said. */
  readonly path: string;
  encode(ask: DecisionAsk, facts: WireFacts): JsonObject;
  /** Undefined when it is no answer of this format. */
  decode(body: unknown, facts: WireFacts, headers: IncomingHttpHeaders): RawReply | undefined;
};

const MODEL = "{model}";

/** A path may name the model; it stands there as it is, slashes and all. */
export function pathOf(wire: DecisionWire, { path, upstreamModel }: WireFacts): string {
  return (path ?? wire.path).replace(MODEL, encodeURI(upstreamModel));
}

/** Where the path has the whole name, the body has its last part alone. */
export function modelOf({ path, upstreamModel }: WireFacts): string {
  return path?.includes(MODEL) === true ? upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1) : upstreamModel;
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The figures of an answer under the names its format has for them; undefined where they are not all there. */
export function usageOf(
  usage: unknown,
  input: string,
  output: string,
  absent: "unknown" | "zero",
): RawUsage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const inputTokens = countOf(usage[input]);
  const outputTokens = usage[output] === undefined && absent === "zero" ? 0 : countOf(usage[output]);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const { input_tokens_details: read, output_tokens_details: written } = usage;
  const cachedTokens = isJsonObject(read) ? (countOf(read["cached_tokens"]) ?? 0) : 0;
  const cacheWriteTokens = isJsonObject(read) ? (countOf(read["cache_write_tokens"]) ?? 0) : 0;
  const reasoningTokens = isJsonObject(written) ? (countOf(written["reasoning_tokens"]) ?? 0) : 0;
  if (cachedTokens + cacheWriteTokens > inputTokens || reasoningTokens > outputTokens) return undefined;
  return { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens };
}

const ID_HEADERS = ["x-typesafe-request-id", "cf-ai-req-id", "x-request-id", "cf-ray"] as const;

export function upstreamIdOf(body: JsonObject, headers: IncomingHttpHeaders): string | null {
  if (typeof body["id"] === "string") return body["id"];
  for (const name of ID_HEADERS) {
    const value = headers[name];
    if (typeof value === "string") return value;
  }
  return null;
}

/** A list of named figures as a map; one that names something twice is none. */
export function mapOf(pairs: readonly (readonly [string, unknown])[]): ReadonlyMap<string, unknown> {
  const map = new Map(pairs);
  return map.size === pairs.length ? map : new Map();
}

const MESSAGE_CHARS_MAX = 2000;
const TOO_LONG = "The state and the questions together are longer than the model takes.";
/** One provider's code for an account that has used up its day: waiting does not help. */
const DAY_IS_SPENT = 4006;

/** Reads every shape of error that servers of these formats are known to send; never fails, and never quotes input. */
export function decodeDecisionProblem(body: unknown, status: number | null): UpstreamProblem {
  const { message, code, type } = isJsonObject(body) ? wordsIn(body) : NO_WORDS;
  const said = type === "max_tokens_exceeded" ? TOO_LONG : (message ?? "the provider gave no reason");
  return { message: said.slice(0, MESSAGE_CHARS_MAX), code, type, status };
}

type Words = { readonly message: string | null; readonly code: string | null; readonly type: string | null };

const NO_WORDS: Words = { message: null, code: null, type: null };

function wordsIn(body: JsonObject): Words {
  const { detail, errors, error } = body;
  if (typeof detail === "string") return { ...NO_WORDS, message: detail };
  if (Array.isArray(detail)) return { ...NO_WORDS, message: sentences(detail, "msg") };
  if (isJsonObject(detail)) return wordsOf(detail);
  if (isJsonObject(error)) return wordsOf(error);
  if (Array.isArray(errors) && errors.length > 0) {
    const [first]: unknown[] = errors;
    const stated = isJsonObject(first) ? first["code"] : undefined;
    const code = stated === DAY_IS_SPENT ? "insufficient_quota" : stated === undefined ? null : String(stated);
    return { message: sentences(errors, "message"), code, type: null };
  }
  return typeof error === "string" ? { ...NO_WORDS, message: error } : wordsOf(body);
}

function wordsOf(stated: JsonObject): Words {
  const { metadata, code } = stated;
  const told = isJsonObject(metadata) ? metadata["error_type"] : undefined;
  return {
    message: textOf(stated["message"]),
    code: textOf(code),
    type: textOf(stated["error_type"]) ?? textOf(told) ?? textOf(stated["type"]),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function sentences(list: readonly unknown[], field: string): string | null {
  const found = list.flatMap((item) => (isJsonObject(item) ? (textOf(item[field]) ?? []) : []));
  return found.length === 0 ? null : found.join("; ");
}

const REFUSALS: ReadonlySet<string | null> = new Set(["refusal", "content_policy_violation", "content_filter"]);

/** Whether an error says that the provider would not answer. A schema that it did not like is something else. */
export function isRefusal({ code, type }: UpstreamProblem): boolean {
  return REFUSALS.has(code) || REFUSALS.has(type);
}
