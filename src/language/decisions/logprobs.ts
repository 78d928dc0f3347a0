import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../kit/json-document.ts";
import type { Call } from "../canon/call.ts";
import type { Part } from "../canon/parts.ts";
import type { UnusableReply } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { Usage } from "../canon/usage.ts";
import type { ModelFacts, UpstreamDialect } from "../dialects/upstream-dialect.ts";
import { type DecisionCall, type DecisionQuestion, stateText } from "./call.ts";
import {
  answerFromLabels,
  LABELLED_LEVELS_MAX,
  labelDistributionOf,
  labelsFor,
  type TokenAlternative,
} from "./labels.ts";
import type { RawAnswer } from "./reply.ts";

/** How an endpoint returns log-probabilities. */
export type LogprobsOptions = {
  readonly form: "chat" | "gemini";
  /** Requested by a flag and a number, or by a number alone. */
  readonly requestedBy: "flag" | "count";
  /** Maximum number of alternatives that the server returns. */
  readonly top: number;
  /** Provider field that disables reasoning, where the dialect's default does not. */
  readonly thinkingOff: "enable_thinking" | "chat_template_kwargs" | null;
};

export const TOP_LOGPROBS = 20;

/** With a short top list one entry is reserved for a token that is not a label. */
export function readableLimits({ top }: Pick<LogprobsOptions, "top">): { options: number; levels: number } {
  const options = top >= TOP_LOGPROBS ? TOP_LOGPROBS : Math.max(top - 1, 0);
  return { options, levels: Math.min(options, LABELLED_LEVELS_MAX) };
}

const SYSTEM_PROMPT =
  "You are given a state and one question about it. Judge by the state alone. Reply with one of the labels you are offered, as the first and only word, without quotation marks, markup or explanation.";

/** Builds a chat call whose first output token is the answer. The state comes first so that it can be prompt-cached. */
function chatCallFor(
  call: DecisionCall,
  question: DecisionQuestion,
  modelFacts: ModelFacts,
  options: LogprobsOptions,
): Call {
  const images = call.images.map(
    ({ mediaType, base64 }): Part => ({ is: "image", source: { is: "inline", mediaType, base64 } }),
  );
  const logprobsFields =
    options.requestedBy === "flag" ? { logprobs: true, top_logprobs: options.top } : { logprobs: options.top };
  return {
    model: call.model,
    turns: [
      { role: "system", parts: [{ is: "text", text: SYSTEM_PROMPT }] },
      {
        role: "user",
        parts: [
          { is: "text", text: `State:\n${stateText(call.state)}` },
          ...images,
          { is: "text", text: labelsFor(question).prompt },
        ],
      },
    ],
    tools: [],
    toolChoice: undefined,
    responseFormat: { is: "text" },
    // Reasoning would precede the answer token. A model that cannot be metadata is called as is; the probe decides whether it works.
    reasoning:
      modelFacts.reasoning === "untold" || options.thinkingOff !== null
        ? undefined
        : { effort: "none", budgetTokens: null },
    maxOutputTokens: 1,
    // Temperature 1 makes the reported probabilities unscaled.
    temperature: 1,
    topP: undefined,
    topK: undefined,
    stop: [],
    stream: false,
    includeUsage: false,
    parameters: [],
    ...(options.form === "chat" ? { openAiParameters: logprobsFields } : {}),
  };
}

/** The path is the same for every question, whatever its content. */
export function logprobsPath(
  call: DecisionCall,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  options: LogprobsOptions,
): string {
  return dialect.path(chatCallFor({ ...call, state: "", images: [] }, question, modelFacts, options), modelFacts);
}

export function encodeLogprobs(
  call: DecisionCall,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  options: LogprobsOptions,
): string {
  const encoded = dialect.encodeRequest(chatCallFor(call, question, modelFacts, options), modelFacts);
  const extra = extraFields(options);
  if (extra === undefined) return encoded;
  const parsed: unknown = JSON.parse(encoded);
  return JSON.stringify(mergeFields(isJsonObject(parsed) ? parsed : {}, extra));
}

function extraFields({ form, top, thinkingOff }: LogprobsOptions): JsonObject | undefined {
  if (form === "gemini") return { generationConfig: { responseLogprobs: true, logprobs: top } };
  if (thinkingOff === "enable_thinking") return { enable_thinking: false };
  return thinkingOff === null ? undefined : { chat_template_kwargs: { enable_thinking: false } };
}

function mergeFields(base: JsonObject, extra: JsonObject): JsonObject {
  const merged = Object.entries(extra).map(([name, value]) => {
    const own = base[name];
    return [name, isJsonObject(own) && isJsonObject(value) ? { ...own, ...value } : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

/** The reply to one question. */
export type LogprobsReply = {
  readonly answer: RawAnswer;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
};

export function decodeLogprobs(
  source: JsonSource,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  { form }: LogprobsOptions,
): LogprobsReply | UnusableReply {
  const document = JsonDocument.of(source);
  const events = dialect.decodeReply(document);
  if (events === undefined || events.some(({ is }) => is === "problem"))
    return { unusable: "not a valid response of its dialect" };
  const metadata = { usage: usageOfEvents(events), upstreamId: upstreamIdOfEvents(events) };
  if (isRefusalReply(events)) return { answer: { type: "refusal" }, ...metadata };
  const body = document.value;
  const alternatives = form === "chat" ? chatAlternatives(body) : geminiAlternatives(body);
  const distribution = labelDistributionOf(alternatives, labelsFor(question));
  if (typeof distribution === "string") return { unusable: distribution };
  return { answer: answerFromLabels(question, distribution), ...metadata };
}

function isRefusalReply(events: readonly ReplyEvent[]): boolean {
  return events.some((event) => event.is === "refusal" || (event.is === "finish" && event.reason === "content_filter"));
}

function usageOfEvents(events: readonly ReplyEvent[]): Usage | undefined {
  const usageEvent = events.findLast((event) => event.is === "usage");
  return usageEvent?.is === "usage" ? usageEvent.usage : undefined;
}

function upstreamIdOfEvents(events: readonly ReplyEvent[]): string | null {
  const begin = events.find((event) => event.is === "begin");
  return begin?.is === "begin" ? begin.upstreamId : null;
}

/** Alternatives for the first token, in the list form or in the older by-name form. */
function chatAlternatives(body: unknown): TokenAlternative[] {
  const { logprobs } = asObject(listField(body, "choices")[0]);
  const [first] = listField(logprobs, "content");
  if (first !== undefined) {
    const others = listField(first, "top_logprobs").flatMap((row) => decodeAlternative(row, "logprob"));
    const own = decodeAlternative(first, "logprob").filter(
      ({ token }) => !others.some((other) => other.token === token),
    );
    return [...others, ...own.map((alternative) => ({ ...alternative, isSampledOnly: true as const }))];
  }
  const [byToken] = listField(logprobs, "top_logprobs");
  const [sampledToken] = listField(logprobs, "tokens");
  return Object.entries(asObject(byToken)).flatMap(([token, logprob]) =>
    typeof logprob === "number"
      ? [{ token, logprob, ...(token === sampledToken ? { isSampledOnly: true as const } : {}) }]
      : [],
  );
}

function geminiAlternatives(body: unknown): TokenAlternative[] {
  const { logprobsResult } = asObject(listField(body, "candidates")[0]);
  const [first] = listField(logprobsResult, "topCandidates");
  return listField(first, "candidates").flatMap((row) => decodeAlternative(row, "logProbability"));
}

function decodeAlternative(row: unknown, name: string): TokenAlternative[] {
  const { token, [name]: logprob } = asObject(row);
  return typeof token === "string" && typeof logprob === "number" ? [{ token, logprob }] : [];
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listField(value: unknown, name: string): readonly unknown[] {
  const list = asObject(value)[name];
  return Array.isArray(list) ? list : [];
}
