import { isJsonObject, type JsonObject } from "../../kit/json.ts";
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

/** How a server is asked what else a model might have said. */
export type LogprobsOptions = {
  /** Chat completions, or Gemini's generateContent. */
  readonly form: "chat" | "gemini";
  /** A flag beside a number, or the number alone. */
  readonly requestedBy: "flag" | "count";
  /** How many alternatives the server names. */
  readonly top: number;
  /** How a model that thinks is kept from it, where the dialect's usual word does not do. */
  readonly thinkingOff: "enable_thinking" | "chat_template_kwargs" | null;
};

export const TOP_LOGPROBS = 20;

/** How many options can be read: with few alternatives one place is left for what is no label. */
export function readableLimits({ top }: Pick<LogprobsOptions, "top">): { options: number; levels: number } {
  const options = top >= TOP_LOGPROBS ? TOP_LOGPROBS : Math.max(top - 1, 0);
  return { options, levels: Math.min(options, LABELLED_LEVELS_MAX) };
}

const SYSTEM_PROMPT =
  "You are given a state and one question about it. Judge by the state alone. Reply with one of the labels you are offered, as the first and only word, without quotation marks, markup or explanation.";

/** One question as a call whose first token is the answer. The state comes first, so that a cache can keep it. */
function chatCallFor(
  ask: DecisionCall,
  question: DecisionQuestion,
  modelFacts: ModelFacts,
  facts: LogprobsOptions,
): Call {
  const pictures = ask.images.map(
    ({ mediaType, base64 }): Part => ({ is: "image", source: { is: "inline", mediaType, base64 } }),
  );
  const toldBy = facts.requestedBy === "flag" ? { logprobs: true, top_logprobs: facts.top } : { logprobs: facts.top };
  return {
    model: ask.model,
    turns: [
      { role: "system", parts: [{ is: "text", text: SYSTEM_PROMPT }] },
      {
        role: "user",
        parts: [
          { is: "text", text: `State:\n${stateText(ask.state)}` },
          ...pictures,
          { is: "text", text: labelsFor(question).prompt },
        ],
      },
    ],
    tools: [],
    toolChoice: undefined,
    responseFormat: { is: "text" },
    // Who thinks first does not answer first. Who cannot be told is asked as it is, and proves what it can.
    reasoning:
      modelFacts.reasoning === "untold" || facts.thinkingOff !== null
        ? undefined
        : { effort: "none", budgetTokens: null },
    maxOutputTokens: 1,
    // What the model might have said is the same at every temperature where it is told raw; where it is not, this is raw.
    temperature: 1,
    topP: undefined,
    topK: undefined,
    stop: [],
    stream: false,
    includeUsage: false,
    parameters: [],
    ...(facts.form === "chat" ? { openAiParameters: toldBy } : {}),
  };
}

/** Where it is asked: the same for every question, whatever it is about. */
export function logprobsPath(
  ask: DecisionCall,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  facts: LogprobsOptions,
): string {
  return dialect.path(chatCallFor({ ...ask, state: "", images: [] }, question, modelFacts, facts), modelFacts);
}

export function encodeLogprobs(
  ask: DecisionCall,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  facts: LogprobsOptions,
): string {
  const encoded = dialect.encodeRequest(chatCallFor(ask, question, modelFacts, facts), modelFacts);
  const more = extraFields(facts);
  if (more === undefined) return encoded;
  const parsed: unknown = JSON.parse(encoded);
  return JSON.stringify(mergeFields(isJsonObject(parsed) ? parsed : {}, more));
}

function extraFields({ form, top, thinkingOff }: LogprobsOptions): JsonObject | undefined {
  if (form === "gemini") return { generationConfig: { responseLogprobs: true, logprobs: top } };
  if (thinkingOff === "enable_thinking") return { enable_thinking: false };
  return thinkingOff === null ? undefined : { chat_template_kwargs: { enable_thinking: false } };
}

function mergeFields(base: JsonObject, more: JsonObject): JsonObject {
  const merged = Object.entries(more).map(([name, value]) => {
    const own = base[name];
    return [name, isJsonObject(own) && isJsonObject(value) ? { ...own, ...value } : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

/** What one request told of its question. */
export type LogprobsReply = {
  readonly answer: RawAnswer;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
};

export function decodeLogprobs(
  bytes: Buffer,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  { form }: LogprobsOptions,
): LogprobsReply | UnusableReply {
  const events = dialect.decodeReply(bytes);
  if (events === undefined || events.some(({ is }) => is === "problem"))
    return { unusable: "not an answer of its dialect" };
  const told = { usage: usageOfEvents(events), upstreamId: upstreamIdOfEvents(events) };
  if (isRefusalReply(events)) return { answer: { type: "refusal" }, ...told };
  const body: unknown = JSON.parse(bytes.toString("utf8"));
  const alternatives = form === "chat" ? chatAlternatives(body) : geminiAlternatives(body);
  const masses = labelDistributionOf(alternatives, labelsFor(question));
  if (typeof masses === "string") return { unusable: masses };
  return { answer: answerFromLabels(question, masses), ...told };
}

function isRefusalReply(events: readonly ReplyEvent[]): boolean {
  return events.some((event) => event.is === "refusal" || (event.is === "finish" && event.reason === "content_filter"));
}

function usageOfEvents(events: readonly ReplyEvent[]): Usage | undefined {
  const figures = events.findLast((event) => event.is === "figures");
  return figures?.is === "figures" ? figures.usage : undefined;
}

function upstreamIdOfEvents(events: readonly ReplyEvent[]): string | null {
  const begin = events.find((event) => event.is === "begin");
  return begin?.is === "begin" ? begin.upstreamId : null;
}

/** The first token of the answer; with what else it might have been, as a list or, in an older form, by their names. */
function chatAlternatives(body: unknown): TokenAlternative[] {
  const { logprobs } = asObject(listField(body, "choices")[0]);
  const [first] = listField(logprobs, "content");
  if (first !== undefined) {
    const others = listField(first, "top_logprobs").flatMap((row) => decodeAlternative(row, "logprob"));
    const own = decodeAlternative(first, "logprob").filter(
      ({ token }) => !others.some((other) => other.token === token),
    );
    return [...others, ...own.map((one) => ({ ...one, beside: true as const }))];
  }
  const [named] = listField(logprobs, "top_logprobs");
  const [said] = listField(logprobs, "tokens");
  return Object.entries(asObject(named)).flatMap(([token, logprob]) =>
    typeof logprob === "number" ? [{ token, logprob, ...(token === said ? { beside: true as const } : {}) }] : [],
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
