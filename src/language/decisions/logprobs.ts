import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Call } from "../canon/call.ts";
import type { Part } from "../canon/parts.ts";
import type { UnusableReply } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { Usage } from "../canon/usage.ts";
import type { ModelFacts, UpstreamDialect } from "../dialects/upstream-dialect.ts";
import { type DecisionAsk, type DecisionQuestion, stateText } from "./call.ts";
import { type Alternative, answerFrom, LEVELS_MAX, labelsFor, massesOf } from "./labels.ts";
import type { RawAnswer } from "./reply.ts";

/** How a server is asked what else a model might have said. */
export type LogprobsFacts = {
  /** Chat completions, or Gemini's generateContent. */
  readonly form: "chat" | "gemini";
  /** A flag beside a number, or the number alone. */
  readonly askedBy: "flag" | "count";
  /** How many alternatives the server names. */
  readonly top: number;
  /** How a model that thinks is kept from it, where the dialect's usual word does not do. */
  readonly thinkingOff: "enable_thinking" | "chat_template_kwargs" | null;
};

export const TOP_LOGPROBS = 20;

/** How many options can be read: with few alternatives one place is left for what is no label. */
export function readableMax({ top }: Pick<LogprobsFacts, "top">): { options: number; levels: number } {
  const options = top >= TOP_LOGPROBS ? TOP_LOGPROBS : Math.max(top - 1, 0);
  return { options, levels: Math.min(options, LEVELS_MAX) };
}

const MANNER =
  "You are given a state and one question about it. Judge by the state alone. Reply with one of the labels you are offered, as the first and only word, without quotation marks, markup or explanation.";

/** One question as a call whose first token is the answer. The state comes first, so that a cache can keep it. */
function callFor(ask: DecisionAsk, question: DecisionQuestion, modelFacts: ModelFacts, facts: LogprobsFacts): Call {
  const pictures = ask.images.map(
    ({ mediaType, base64 }): Part => ({ is: "image", source: { is: "inline", mediaType, base64 } }),
  );
  const toldBy = facts.askedBy === "flag" ? { logprobs: true, top_logprobs: facts.top } : { logprobs: facts.top };
  return {
    model: ask.model,
    turns: [
      { role: "system", parts: [{ is: "text", text: MANNER }] },
      {
        role: "user",
        parts: [
          { is: "text", text: `State:\n${stateText(ask.state)}` },
          ...pictures,
          { is: "text", text: labelsFor(question).text },
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
  ask: DecisionAsk,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  facts: LogprobsFacts,
): string {
  return dialect.path(callFor({ ...ask, state: "", images: [] }, question, modelFacts, facts), modelFacts);
}

export function encodeLogprobs(
  ask: DecisionAsk,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  modelFacts: ModelFacts,
  facts: LogprobsFacts,
): string {
  const encoded = dialect.encodeRequest(callFor(ask, question, modelFacts, facts), modelFacts);
  const more = moreFields(facts);
  if (more === undefined) return encoded;
  const parsed: unknown = JSON.parse(encoded);
  return JSON.stringify(joined(isJsonObject(parsed) ? parsed : {}, more));
}

function moreFields({ form, top, thinkingOff }: LogprobsFacts): JsonObject | undefined {
  if (form === "gemini") return { generationConfig: { responseLogprobs: true, logprobs: top } };
  if (thinkingOff === "enable_thinking") return { enable_thinking: false };
  return thinkingOff === null ? undefined : { chat_template_kwargs: { enable_thinking: false } };
}

function joined(base: JsonObject, more: JsonObject): JsonObject {
  const merged = Object.entries(more).map(([name, value]) => {
    const own = base[name];
    return [name, isJsonObject(own) && isJsonObject(value) ? { ...own, ...value } : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

/** What one request told of its question. */
export type LogprobsReading = {
  readonly answer: RawAnswer;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
};

export function decodeLogprobs(
  bytes: Buffer,
  question: DecisionQuestion,
  dialect: UpstreamDialect,
  { form }: LogprobsFacts,
): LogprobsReading | UnusableReply {
  const events = dialect.decodeReply(bytes);
  if (events === undefined || events.some(({ is }) => is === "problem"))
    return { unusable: "not an answer of its dialect" };
  const told = { usage: usageIn(events), upstreamId: idIn(events) };
  if (isRefused(events)) return { answer: { type: "refusal" }, ...told };
  const body: unknown = JSON.parse(bytes.toString("utf8"));
  const alternatives = form === "chat" ? chatAlternatives(body) : geminiAlternatives(body);
  const masses = massesOf(alternatives, labelsFor(question));
  if (typeof masses === "string") return { unusable: masses };
  return { answer: answerFrom(question, masses), ...told };
}

function isRefused(events: readonly ReplyEvent[]): boolean {
  return events.some((event) => event.is === "refusal" || (event.is === "finish" && event.reason === "content_filter"));
}

function usageIn(events: readonly ReplyEvent[]): Usage | undefined {
  const figures = events.findLast((event) => event.is === "figures");
  return figures?.is === "figures" ? figures.usage : undefined;
}

function idIn(events: readonly ReplyEvent[]): string | null {
  const begin = events.find((event) => event.is === "begin");
  return begin?.is === "begin" ? begin.upstreamId : null;
}

/** The first token of the answer; with what else it might have been, as a list or, in an older form, by their names. */
function chatAlternatives(body: unknown): Alternative[] {
  const { logprobs } = objectAt(listAt(body, "choices")[0]);
  const [first] = listAt(logprobs, "content");
  if (first !== undefined) {
    const others = listAt(first, "top_logprobs").flatMap((row) => alternativeOf(row, "logprob"));
    const own = alternativeOf(first, "logprob").filter(({ token }) => !others.some((other) => other.token === token));
    return [...others, ...own.map((one) => ({ ...one, beside: true as const }))];
  }
  const [named] = listAt(logprobs, "top_logprobs");
  const [said] = listAt(logprobs, "tokens");
  return Object.entries(objectAt(named)).flatMap(([token, logprob]) =>
    typeof logprob === "number" ? [{ token, logprob, ...(token === said ? { beside: true as const } : {}) }] : [],
  );
}

function geminiAlternatives(body: unknown): Alternative[] {
  const { logprobsResult } = objectAt(listAt(body, "candidates")[0]);
  const [first] = listAt(logprobsResult, "topCandidates");
  return listAt(first, "candidates").flatMap((row) => alternativeOf(row, "logProbability"));
}

function alternativeOf(row: unknown, name: string): Alternative[] {
  const { token, [name]: logprob } = objectAt(row);
  return typeof token === "string" && typeof logprob === "number" ? [{ token, logprob }] : [];
}

function objectAt(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = objectAt(value)[name];
  return Array.isArray(list) ? list : [];
}
