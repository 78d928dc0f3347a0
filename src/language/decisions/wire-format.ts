import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { NO_REASON_STATED, problemText, type UpstreamProblem } from "../canon/upstream-problem.ts";
import { issuePath } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import type { DecisionCall } from "./call.ts";
import type { RawDecisionReply, RawDecisionUsage } from "./reply.ts";

/** How images are sent: as items of the state, parts of the input, or a separate field. */
export type ImagePlacement = "state_items" | "input_parts" | "images_field" | "image_objects";

/** Properties of the endpoint from the catalogue. */
export type DecisionWireOptions = {
  readonly upstreamModel: string;
  readonly path: string | null;
  /** The response is wrapped in `result`, beside `success`. */
  readonly hasEnvelope: boolean;
  readonly images: ImagePlacement | null;
};

/** A provider's wire format that carries all questions in one request. */
export type DecisionWireFormat = {
  /** Default path below the base URL. */
  readonly path: string;
  encode(call: DecisionCall, options: DecisionWireOptions): JsonObject;
  /** Undefined when the body is not a reply in this format. */
  decode(body: unknown, options: DecisionWireOptions, headers: IncomingHttpHeaders): RawDecisionReply | undefined;
};

const MODEL_PLACEHOLDER = "{model}";

/** The model name is inserted with its slashes. */
export function requestPath(format: DecisionWireFormat, { path, upstreamModel }: DecisionWireOptions): string {
  return (path ?? format.path).replace(MODEL_PLACEHOLDER, encodeURI(upstreamModel));
}

/** When the path carries the full model name, the body carries only its last segment. */
export function bodyModel({ path, upstreamModel }: DecisionWireOptions): string {
  return path?.includes(MODEL_PLACEHOLDER) === true
    ? upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1)
    : upstreamModel;
}

/**
 * The members of a reply that callers receive, with usage under the format's names. Members that the shape of answers
 * leaves out, and those that only check a reply, are exempt.
 */
export function replyRule(answers: MemberRule, input: string, output: string): MemberRule {
  return members({
    answers,
    ...all("exempt", "id", "object", "created", "created_at", "model", "diagnostics", "prompt_format_version"),
    usage: members({
      ...all("carried", input, output),
      ...all("exempt", "total_tokens", "input_tokens_details", "output_tokens_details"),
      // A reply to a truncated state is rejected.
      ...all("exempt", "truncated", "truncated_questions", "state_tokens_dropped"),
    }),
  });
}

function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined unless both counts are present and consistent. */
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
  const { input_tokens_details: inputDetails, output_tokens_details: outputDetails } = usage;
  const cachedTokens = isJsonObject(inputDetails) ? (tokenCount(inputDetails["cached_tokens"]) ?? 0) : 0;
  const cacheWriteTokens = isJsonObject(inputDetails) ? (tokenCount(inputDetails["cache_write_tokens"]) ?? 0) : 0;
  const reasoningTokens = isJsonObject(outputDetails) ? (tokenCount(outputDetails["reasoning_tokens"]) ?? 0) : 0;
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

/** Empty when a name occurs twice. */
export function uniqueMap(pairs: readonly (readonly [string, unknown])[]): ReadonlyMap<string, unknown> {
  const map = new Map(pairs);
  return map.size === pairs.length ? map : new Map();
}

const TOO_LONG_MESSAGE = "The state and the questions exceed the model's context length.";
/** One provider's code for an exhausted daily quota, which retrying does not help. */
const DAILY_QUOTA_CODE = 4006;

/** Decodes all error shapes that these servers are known to send. Never throws and never quotes the input. */
export function decodeDecisionProblem(body: unknown, status: number | null): UpstreamProblem {
  const { message, ...stated } = isJsonObject(body) ? errorTextIn(body) : NO_ERROR_TEXT;
  const isTooLong = stated.type === "max_tokens_exceeded";
  return { ...stated, message: isTooLong ? TOO_LONG_MESSAGE : (message ?? NO_REASON_STATED), status };
}

type ErrorText = Pick<UpstreamProblem, "code" | "statedCode" | "type" | "param"> & { readonly message: string | null };

const NO_ERROR_TEXT: ErrorText = { message: null, code: null, type: null };

function errorTextIn(body: JsonObject): ErrorText {
  const { detail, errors, error } = body;
  if (typeof detail === "string") return { ...NO_ERROR_TEXT, message: problemText(detail) };
  if (Array.isArray(detail))
    return { ...NO_ERROR_TEXT, message: joinMessages(detail, "msg"), param: issuePath(detail) ?? undefined };
  if (isJsonObject(detail)) return errorTextOf(detail);
  if (isJsonObject(error)) return errorTextOf(error);
  if (Array.isArray(errors) && errors.length > 0) {
    const [first]: unknown[] = errors;
    const sent = isJsonObject(first) ? first["code"] : undefined;
    const stated = typeof sent === "number" ? String(sent) : problemText(sent);
    const isExhausted = sent === DAILY_QUOTA_CODE;
    const code = isExhausted ? "insufficient_quota" : stated;
    return {
      message: joinMessages(errors, "message"),
      code,
      statedCode: isExhausted ? stated : undefined,
      type: null,
    };
  }
  return typeof error === "string" ? { ...NO_ERROR_TEXT, message: problemText(error) } : errorTextOf(body);
}

function errorTextOf(error: JsonObject): ErrorText {
  const { metadata, code } = error;
  const metadataType = isJsonObject(metadata) ? metadata["error_type"] : undefined;
  return {
    message: problemText(error["message"]),
    code: problemText(code),
    type: problemText(error["error_type"], metadataType, error["type"]),
    param: problemText(error["param"]) ?? undefined,
  };
}

function joinMessages(list: readonly unknown[], field: string): string | null {
  const found = list.flatMap((item) => (isJsonObject(item) ? (problemText(item[field]) ?? []) : []));
  return problemText(found.join("; "));
}

const REFUSAL_CODES: ReadonlySet<string | null> = new Set(["refusal", "content_policy_violation", "content_filter"]);

/** A rejected schema is not a refusal. */
export function isRefusal({ code, type }: UpstreamProblem): boolean {
  return REFUSAL_CODES.has(code) || REFUSAL_CODES.has(type);
}
