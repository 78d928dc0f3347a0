import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { DecisionCall } from "./call.ts";
import type { RawDecisionReply, RawDecisionUsage } from "./reply.ts";

/** Where images go: items of the state, parts of the input, or a field of their own. */
export type ImagePlacement = "state_items" | "input_parts" | "images_field" | "image_objects";

/** What the catalogue says of a server that is asked for decisions. */
export type DecisionWireOptions = {
  readonly upstreamModel: string;
  readonly path: string | null;
  /** The answer stands in `result`, beside `success`. */
  readonly hasEnvelope: boolean;
  readonly images: ImagePlacement | null;
};

/** A wire format that all questions are asked in at once. */
export type DecisionWireFormat = {
  /** Below the base address, where nothing else is said. */
  readonly path: string;
  encode(ask: DecisionCall, facts: DecisionWireOptions): JsonObject;
  /** Undefined when it is no answer of this format. */
  decode(body: unknown, facts: DecisionWireOptions, headers: IncomingHttpHeaders): RawDecisionReply | undefined;
};

const MODEL_PLACEHOLDER = "{model}";

/** A path may name the model; it stands there as it is, slashes and all. */
export function requestPath(wire: DecisionWireFormat, { path, upstreamModel }: DecisionWireOptions): string {
  return (path ?? wire.path).replace(MODEL_PLACEHOLDER, encodeURI(upstreamModel));
}

/** Where the path has the whole name, the body has its last part alone. */
export function bodyModel({ path, upstreamModel }: DecisionWireOptions): string {
  return path?.includes(MODEL_PLACEHOLDER) === true
    ? upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1)
    : upstreamModel;
}

function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The figures of an answer under the names its format has for them; undefined where they are not all there. */
export function decodeUsage(
  usage: unknown,
  input: string,
  output: string,
  absent: "unknown" | "zero",
): RawDecisionUsage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const inputTokens = tokenCount(usage[input]);
  const outputTokens = usage[output] === undefined && absent === "zero" ? 0 : tokenCount(usage[output]);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const { input_tokens_details: read, output_tokens_details: written } = usage;
  const cachedTokens = isJsonObject(read) ? (tokenCount(read["cached_tokens"]) ?? 0) : 0;
  const cacheWriteTokens = isJsonObject(read) ? (tokenCount(read["cache_write_tokens"]) ?? 0) : 0;
  const reasoningTokens = isJsonObject(written) ? (tokenCount(written["reasoning_tokens"]) ?? 0) : 0;
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
export function uniqueMap(pairs: readonly (readonly [string, unknown])[]): ReadonlyMap<string, unknown> {
  const map = new Map(pairs);
  return map.size === pairs.length ? map : new Map();
}

const MESSAGE_MAX_CHARS = 2000;
const TOO_LONG_MESSAGE = "The state and the questions together are longer than the model takes.";
/** One provider's code for an account that has used up its day: waiting does not help. */
const DAILY_QUOTA_CODE = 4006;

/** Reads every shape of error that servers of these formats are known to send; never fails, and never quotes input. */
export function decodeDecisionProblem(body: unknown, status: number | null): UpstreamProblem {
  const { message, code, type } = isJsonObject(body) ? errorTextIn(body) : NO_ERROR_TEXT;
  const said = type === "max_tokens_exceeded" ? TOO_LONG_MESSAGE : (message ?? "the provider gave no reason");
  return { message: said.slice(0, MESSAGE_MAX_CHARS), code, type, status };
}

type ErrorText = { readonly message: string | null; readonly code: string | null; readonly type: string | null };

const NO_ERROR_TEXT: ErrorText = { message: null, code: null, type: null };

function errorTextIn(body: JsonObject): ErrorText {
  const { detail, errors, error } = body;
  if (typeof detail === "string") return { ...NO_ERROR_TEXT, message: detail };
  if (Array.isArray(detail)) return { ...NO_ERROR_TEXT, message: joinMessages(detail, "msg") };
  if (isJsonObject(detail)) return errorTextOf(detail);
  if (isJsonObject(error)) return errorTextOf(error);
  if (Array.isArray(errors) && errors.length > 0) {
    const [first]: unknown[] = errors;
    const stated = isJsonObject(first) ? first["code"] : undefined;
    const code = stated === DAILY_QUOTA_CODE ? "insufficient_quota" : stated === undefined ? null : String(stated);
    return { message: joinMessages(errors, "message"), code, type: null };
  }
  return typeof error === "string" ? { ...NO_ERROR_TEXT, message: error } : errorTextOf(body);
}

function errorTextOf(stated: JsonObject): ErrorText {
  const { metadata, code } = stated;
  const told = isJsonObject(metadata) ? metadata["error_type"] : undefined;
  return {
    message: nonEmptyText(stated["message"]),
    code: nonEmptyText(code),
    type: nonEmptyText(stated["error_type"]) ?? nonEmptyText(told) ?? nonEmptyText(stated["type"]),
  };
}

function nonEmptyText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function joinMessages(list: readonly unknown[], field: string): string | null {
  const found = list.flatMap((item) => (isJsonObject(item) ? (nonEmptyText(item[field]) ?? []) : []));
  return found.length === 0 ? null : found.join("; ");
}

const REFUSAL_CODES: ReadonlySet<string | null> = new Set(["refusal", "content_policy_violation", "content_filter"]);

/** Whether an error says that the provider would not answer. A schema that it did not like is something else. */
export function isRefusal({ code, type }: UpstreamProblem): boolean {
  return REFUSAL_CODES.has(code) || REFUSAL_CODES.has(type);
}
