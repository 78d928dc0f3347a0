import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { DecisionSupport } from "../../domain/catalogue/decisions-support.ts";
import { JsonDocument, type JsonSource } from "../../kit/json-document.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { isImplausibleUsage } from "../../language/canon/tokens.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import { NO_TOKENS, type Usage } from "../../language/canon/usage.ts";
import {
  type DecisionCall,
  type DecisionQuestion,
  implausibleUsage,
  questionPath,
} from "../../language/decisions/call.ts";
import {
  decodeLogprobs,
  encodeLogprobs,
  type LogprobsOptions,
  type LogprobsReply,
  logprobsPath,
  TOP_LOGPROBS,
} from "../../language/decisions/logprobs.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import { type DecisionAnswers, unusableQuestion, validateReply } from "../../language/decisions/validate.ts";
import {
  type DecisionWireFormat,
  decodeDecisionProblem,
  isRefusal,
  requestPath,
} from "../../language/decisions/wire-format.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { geminiUpstream } from "../../language/dialects/gemini/upstream/dialect.ts";
import { modelFactsFor } from "./model-facts.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type DecisionTarget = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly client: DecisionRenderer;
  /** Gets the answers of each accepted reply; of a reply in parts, those of all parts last. */
  readonly onAnswers?: (answers: DecisionAnswers) => void;
};

/** Decisions are never streamed. */
export function decisionsAdapter(ask: DecisionCall, target: DecisionTarget): UpstreamAdapter {
  const { decisions, decisionsInterface } = target.endpoint;
  if (decisions === null || decisionsInterface === null)
    throw new Error(`${target.endpoint.id} has no decisions interface`);
  return decisionsInterface === "logprobs"
    ? logprobsAdapter(ask, target, decisions)
    : wireFormatAdapter(ask, target, decisions, UPSTREAM_ADAPTERS.decisions[decisionsInterface]);
}

type CommonMembers = Pick<
  UpstreamAdapter,
  | "surface"
  | "headers"
  | "streamContentType"
  | "keepAliveFrame"
  | "effort"
  | "omitted"
  | "unusableFaultCode"
  | "openFrameReader"
  | "openReplyStream"
>;

function commonMembers({ ignoredFields }: DecisionCall): CommonMembers {
  return {
    surface: null,
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    omitted: ignoredFields,
    unusableFaultCode: "upstream_invalid_answer",
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("decisions arrived as a stream");
    },
  };
}

function wireFormatAdapter(
  ask: DecisionCall,
  target: DecisionTarget,
  decisions: DecisionSupport,
  wire: DecisionWireFormat,
): UpstreamAdapter {
  const { upstreamModel } = target.endpoint;
  const facts = { upstreamModel, ...decisions };
  return {
    ...commonMembers(ask),
    path: requestPath(wire, facts),
    auth: "bearer",
    encode: () => JSON.stringify(wire.encode(ask, facts)),
    decodeResponse(source, headers) {
      const reply = wire.decode(JsonDocument.of(source).value, facts, headers);
      if (reply === undefined) return { unusable: "not a valid response of its format" };
      const answers = validateReply(reply, ask.questions, decisions.decimals);
      if ("unusable" in answers) return answers;
      const { usage: reported, upstreamId, omitted } = reply;
      const usage = reported && { ...NO_AUDIO, ...reported };
      return replyOf({ ask, target, answers, usage, upstreamId, omitted, requests: 1 });
    },
    decodeProblem: decodeDecisionProblem,
    refusalFault: (problem) => (isRefusal(problem) ? refusalFaultFor(ask.questions, target) : undefined),
  };
}

const NO_AUDIO = { audioInputTokens: 0, audioOutputTokens: 0 } as const;

type DecisionResult = {
  readonly ask: DecisionCall;
  readonly target: DecisionTarget;
  readonly answers: DecisionAnswers;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  readonly omitted?: readonly string[] | undefined;
  /** The number of requests that the usage covers. */
  readonly requests: number;
};

/** Decisions are never billed by an estimate: a reply without usage, or with implausible usage, is unusable. */
function replyOf(result: DecisionResult): WholeReply | UnusableReply {
  const { ask, target, answers, usage, upstreamId, omitted, requests } = result;
  const { endpoint, model, client } = target;
  if (usage === undefined) return { unusable: "the provider reported no usage" };
  const context = endpoint.limits.contextTokens ?? model.contextTokens;
  // Some providers read the whole input for each question.
  const promptReads = ask.questions.length;
  if (isImplausibleUsage({ usage, outputWeight: () => 0, promptReads }, context, implausibleUsage(ask)))
    return { unusable: "the provider reported more input tokens than the request has" };
  target.onAnswers?.(answers);
  const declined = ask.questions.filter(({ key }) => answers.get(key)?.type === "refusal");
  // An answer without input tokens is implausible; a refusal may be free.
  if (usage.inputTokens === 0 && declined.length < ask.questions.length)
    return { unusable: "the provider reported no input tokens" };
  return {
    usage,
    upstreamId,
    omitted,
    outputWeight: 0,
    promptCount: requests,
    promptReads,
    declined: declined.length > 0 && client.refusals === "fault" ? refusalFaultFor(declined, target) : undefined,
    render: (counted, cost) =>
      client.render({ model: endpoint.model, questions: ask.questions, answers, usage: counted, cost }),
  };
}

const NAMED_QUESTIONS_MAX = 8;

/** Names the refused questions, or all if the provider does not say which. */
function refusalFaultFor(questions: readonly DecisionQuestion[], { endpoint }: DecisionTarget): Fault {
  const names = questions.slice(0, NAMED_QUESTIONS_MAX).map(({ key }) => `"${key.slice(0, 100)}"`);
  const more = questions.length > NAMED_QUESTIONS_MAX ? ` and ${questions.length - NAMED_QUESTIONS_MAX} more` : "";
  const [first] = questions;
  const what = questions.length === 1 ? `question ${names[0]}` : `questions ${names.join(", ")}${more}`;
  return fault("decision_refused", {
    message: `The provider ${endpoint.provider} declined ${what}. The input tokens are billed as reported. Rephrase or remove it.`,
    ...(questions.length === 1 && first !== undefined ? { param: questionPath(first) } : {}),
  });
}

/** One request per question, joinReplies into one reply. */
function logprobsAdapter(ask: DecisionCall, target: DecisionTarget, decisions: DecisionSupport): UpstreamAdapter {
  const readings: LogprobsReply[] = [];
  const adapters = ask.questions.map((question, at) =>
    questionAdapter(ask, { question, number: at + 1 }, target, decisions, (reading) => {
      readings[at] = reading;
    }),
  );
  const [first] = adapters;
  if (first === undefined) throw new Error("there is no question");
  return { ...first, subRequests: { adapters, join: () => joinReplies(ask, target, readings) } };
}

/** Probabilities are computed here and not rounded. */
const UNROUNDED_DECIMALS = 12;

function questionAdapter(
  ask: DecisionCall,
  { question, number }: { readonly question: DecisionQuestion; readonly number: number },
  target: DecisionTarget,
  decisions: DecisionSupport,
  onReply: (reading: LogprobsReply) => void,
): UpstreamAdapter {
  const { endpoint, model } = target;
  const facts = logprobsFactsFor(endpoint, decisions);
  const dialect = facts.form === "chat" ? chatUpstream : geminiUpstream;
  const modelFacts = modelFactsFor(endpoint, model);
  return {
    ...commonMembers(ask),
    path: logprobsPath(ask, question, dialect, modelFacts, facts),
    auth: dialect.auth,
    // Encoded lazily: each request contains the whole state with its images.
    encode: () => encodeLogprobs(ask, question, dialect, modelFacts, facts),
    decodeResponse(source: JsonSource, _headers: IncomingHttpHeaders) {
      const reading = decodeLogprobs(source, question, dialect, facts);
      if ("unusable" in reading) return unusableQuestion(number, reading.unusable);
      const { answer, usage, upstreamId } = reading;
      const one = [question];
      const reply = { answers: [[question.id, answer] as const], isTruncated: false };
      const answers = validateReply(reply, one, UNROUNDED_DECIMALS, number);
      if ("unusable" in answers) return answers;
      onReply(reading);
      return replyOf({ ask: { ...ask, questions: one }, target, answers, usage, upstreamId, requests: 1 });
    },
    decodeProblem: dialect.decodeProblem,
    refusalFault: (problem: UpstreamProblem) => (isRefusal(problem) ? refusalFaultFor([question], target) : undefined),
  };
}

export function logprobsFactsFor(
  { dialects: [dialect] }: Pick<Endpoint, "dialects">,
  { topLogprobs, logprobs, thinkingOff }: DecisionSupport,
): LogprobsOptions {
  const form = dialect === "D3" ? "gemini" : "chat";
  return { form, requestedBy: logprobs, top: topLogprobs ?? TOP_LOGPROBS, thinkingOff };
}

function joinReplies(
  ask: DecisionCall,
  target: DecisionTarget,
  readings: readonly LogprobsReply[],
): WholeReply | UnusableReply {
  const answers = validateReply(
    {
      answers: ask.questions.flatMap(({ id }, number) => {
        const reading = readings[number];
        return reading === undefined ? [] : [[id, reading.answer] as const];
      }),
      isTruncated: false,
    },
    ask.questions,
    UNROUNDED_DECIMALS,
  );
  if ("unusable" in answers) return answers;
  let usage: Usage | undefined = { ...NO_TOKENS };
  for (const reading of readings) usage = usage && reading.usage && sum(usage, reading.usage);
  const upstreamId = readings[0]?.upstreamId ?? null;
  return replyOf({ ask, target, answers, usage, upstreamId, requests: ask.questions.length });
}

function sum(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
    audioInputTokens: left.audioInputTokens + right.audioInputTokens,
    audioOutputTokens: left.audioOutputTokens + right.audioOutputTokens,
  };
}
