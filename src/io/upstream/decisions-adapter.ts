import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { DecisionSupport } from "../../domain/catalogue/decisions-support.ts";
import { tryParseJson } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import { NO_TOKENS, type Usage } from "../../language/canon/usage.ts";
import { isImplausibleUsage } from "../../language/canon/usage-plausibility.ts";
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
import { DECISION_WIRES } from "./decision-wires.ts";
import { NO_DROPPED_FIELDS, type UpstreamAdapter } from "./upstream-adapter.ts";
import { modelFactsFor } from "./upstream-adapters.ts";

/** Who is asked, and for whom the answer is written. */
export type DecisionTarget = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly client: DecisionRenderer;
};

/** The way to an endpoint that answers typed questions: whole or not at all. */
export function decisionsAdapter(ask: DecisionCall, target: DecisionTarget): UpstreamAdapter {
  const { decisions, decisionsInterface } = target.endpoint;
  if (decisions === null || decisionsInterface === null)
    throw new Error(`${target.endpoint.id} has no interface for decisions`);
  return decisionsInterface === "logprobs"
    ? logprobsLane(ask, target, decisions)
    : wireLane(ask, target, decisions, DECISION_WIRES[decisionsInterface]);
}

type Base = Pick<
  UpstreamAdapter,
  "surface" | "headers" | "streamType" | "keepAlive" | "effort" | "dropped" | "unusable" | "openFrames" | "openStream"
>;

function baseOf({ ignoredFields = NO_DROPPED_FIELDS }: DecisionCall): Base {
  return {
    surface: null,
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    droppedFields: ignoredFields,
    unusableFaultCode: "upstream_invalid_answer",
    openFrameReader: (max) => new SseReader(max),
    openReplyStream() {
      throw new Error("decisions do not come as a stream");
    },
  };
}

function wireLane(
  ask: DecisionCall,
  target: DecisionTarget,
  decisions: DecisionSupport,
  wire: DecisionWireFormat,
): UpstreamAdapter {
  const { upstreamModel } = target.endpoint;
  const facts = { upstreamModel, ...decisions };
  return {
    ...baseOf(ask),
    path: requestPath(wire, facts),
    auth: "bearer",
    encode: () => JSON.stringify(wire.encode(ask, facts)),
    decodeResponse(bytes, headers) {
      const reply = wire.decode(tryParseJson(bytes), facts, headers);
      if (reply === undefined) return { unusable: "not an answer of its format" };
      const answers = validateReply(reply, ask.questions, decisions.decimals);
      if ("unusable" in answers) return answers;
      const { usage, upstreamId } = reply;
      return wholeOf({ ask, target, answers, usage: usage && { ...NO_AUDIO, ...usage }, upstreamId, requests: 1 });
    },
    decodeProblem: decodeDecisionProblem,
    refusalFault: (problem) => (isRefusal(problem) ? refusedFault(ask.questions, target) : undefined),
  };
}

const NO_AUDIO = { audioInputTokens: 0, audioOutputTokens: 0 } as const;

type Whole = {
  readonly ask: DecisionCall;
  readonly target: DecisionTarget;
  readonly answers: DecisionAnswers;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  /** How many requests the figures are of. */
  readonly requests: number;
};

/** Nobody is ever billed by an estimate here: an answer without figures, or with impossible ones, is none. */
function wholeOf({ ask, target, answers, usage, upstreamId, requests }: Whole): WholeReply | UnusableReply {
  const { endpoint, model, client } = target;
  if (usage === undefined) return { unusable: "the provider did not report what it used" };
  const context = endpoint.limits.contextTokens ?? model.contextTokens;
  // Some read everything again for each question of a request.
  const promptReads = ask.questions.length;
  if (isImplausibleUsage({ usage, outputWeight: () => 0, promptReads }, context, implausibleUsage(ask)))
    return { unusable: "the provider reported more than it can have read" };
  const declined = ask.questions.filter(({ key }) => answers.get(key)?.type === "refusal");
  // Nobody answers without reading; who declines may do that for nothing.
  if (usage.inputTokens === 0 && declined.length < ask.questions.length)
    return { unusable: "the provider reported that it read nothing" };
  return {
    usage,
    upstreamId,
    outputWeight: 0,
    promptCount: requests,
    promptReads,
    declined: declined.length > 0 && client.refusals === "fault" ? refusedFault(declined, target) : undefined,
    render: (counted, cost) =>
      client.render({ model: endpoint.model, questions: ask.questions, answers, usage: counted, cost }),
  };
}

const NAMED_MAX = 8;

/** Names what was declined; where the provider does not say which, what was asked. */
function refusedFault(questions: readonly DecisionQuestion[], { endpoint }: DecisionTarget): Fault {
  const names = questions.slice(0, NAMED_MAX).map(({ key }) => `"${key.slice(0, 100)}"`);
  const more = questions.length > NAMED_MAX ? ` and ${questions.length - NAMED_MAX} more` : "";
  const [first] = questions;
  const what = questions.length === 1 ? `question ${names[0]}` : `questions ${names.join(", ")}${more}`;
  return fault("decision_refused", {
    message: `The provider ${endpoint.provider} declined ${what}. What it read is billed as it bills it. Ask in other words, or leave it out.`,
    ...(questions.length === 1 && first !== undefined ? { param: questionPath(first) } : {}),
  });
}

/** One request for each question, joined to one answer. */
function logprobsLane(ask: DecisionCall, target: DecisionTarget, decisions: DecisionSupport): UpstreamAdapter {
  const readings: LogprobsReply[] = [];
  const adapters = ask.questions.map((question, at) =>
    questionLane(ask, { question, place: at + 1 }, target, decisions, (reading) => {
      readings[at] = reading;
    }),
  );
  const [first] = adapters;
  if (first === undefined) throw new Error("there is no question");
  return { ...first, subRequests: { adapters, join: () => joined(ask, target, readings) } };
}

/** Figures are computed here and rounded nowhere. */
const UNROUNDED_DECIMALS = 12;

function questionLane(
  ask: DecisionCall,
  { question, place }: { readonly question: DecisionQuestion; readonly place: number },
  target: DecisionTarget,
  decisions: DecisionSupport,
  kept: (reading: LogprobsReply) => void,
): UpstreamAdapter {
  const { endpoint, model } = target;
  const facts = logprobsFactsFor(endpoint, decisions);
  const dialect = facts.form === "chat" ? chatUpstream : geminiUpstream;
  const modelFacts = modelFactsFor(endpoint, model);
  return {
    ...baseOf(ask),
    path: logprobsPath(ask, question, dialect, modelFacts, facts),
    auth: dialect.auth,
    // Not before its turn: the state and its pictures are in every one of them.
    encode: () => encodeLogprobs(ask, question, dialect, modelFacts, facts),
    decodeResponse(bytes: Buffer, _headers: IncomingHttpHeaders) {
      const reading = decodeLogprobs(bytes, question, dialect, facts);
      if ("unusable" in reading) return unusableQuestion(place, reading.unusable);
      const { answer, usage, upstreamId } = reading;
      const one = [question];
      const reply = { answers: [[question.id, answer] as const], isTruncated: false };
      const answers = validateReply(reply, one, UNROUNDED_DECIMALS, place);
      if ("unusable" in answers) return answers;
      kept(reading);
      return wholeOf({ ask: { ...ask, questions: one }, target, answers, usage, upstreamId, requests: 1 });
    },
    decodeProblem: dialect.decodeProblem,
    refusalFault: (problem: UpstreamProblem) => (isRefusal(problem) ? refusedFault([question], target) : undefined),
  };
}

export function logprobsFactsFor(
  { dialects: [dialect] }: Pick<Endpoint, "dialects">,
  { topLogprobs, logprobs, thinkingOff }: DecisionSupport,
): LogprobsOptions {
  const form = dialect === "D3" ? "gemini" : "chat";
  return { form, requestedBy: logprobs, top: topLogprobs ?? TOP_LOGPROBS, thinkingOff };
}

function joined(
  ask: DecisionCall,
  target: DecisionTarget,
  readings: readonly LogprobsReply[],
): WholeReply | UnusableReply {
  const answers = validateReply(
    {
      answers: ask.questions.flatMap(({ id }, place) => {
        const reading = readings[place];
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
  return wholeOf({ ask, target, answers, usage, upstreamId, requests: ask.questions.length });
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
