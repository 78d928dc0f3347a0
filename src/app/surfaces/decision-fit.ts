import { fault } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { DecisionSupport } from "../../domain/catalogue/decisions-support.ts";
import type { MissingCapability } from "../../domain/routing/capability.ts";
import { logprobsFactsOf } from "../../io/upstream/decisions-adapter.ts";
import { pluralize } from "../../kit/pluralize.ts";
import {
  criteriaPath,
  type DecisionCall,
  type DecisionQuestion,
  type DecisionTokenEstimate,
  stateText,
} from "../../language/decisions/call.ts";
import { imageTiles } from "../../language/decisions/image.ts";
import { readableLimits } from "../../language/decisions/logprobs.ts";

/** What an endpoint cannot do of a request; undefined when it can do all of it. */
export function unfitFor(
  ask: DecisionCall,
  size: DecisionTokenEstimate,
  endpoint: Endpoint,
  model: Model,
): MissingCapability | undefined {
  const { decisions } = endpoint;
  if (decisions === null) return { reason: "has no decisions interface", param: "model" };
  return (
    imagesUnfit(ask, endpoint, decisions) ??
    questionsUnfit(ask, endpoint, decisions) ??
    tooLong(ask, size, endpoint, model)
  );
}

function imagesUnfit(ask: DecisionCall, endpoint: Endpoint, decisions: DecisionSupport): MissingCapability | undefined {
  const { images } = ask;
  if (images.length === 0) return undefined;
  if (decisions.images === null)
    return {
      reason: "takes no images",
      param: ask.inputField ?? "images",
      fault: fault("image_input_not_supported", {
        message: `No endpoint of ${endpoint.model} takes images with decisions. Leave them out, or choose a model with svc_decision_images.`,
        param: ask.inputField ?? "images",
      }),
    };
  const { imagesMax, imageTilesMax } = decisions;
  if (imagesMax !== null && images.length > imagesMax)
    return beyond(ask.inputField ?? "images", `takes at most ${pluralize(imagesMax, "image")}`, endpoint);
  const large = images.findIndex((image) => (imageTiles(image) ?? 0) > (imageTilesMax ?? Number.POSITIVE_INFINITY));
  if (large < 0) return undefined;
  const pixels = (imageTilesMax ?? 0) * 32 * 32;
  return beyond(ask.inputField ?? `images.${large}`, `takes images of about ${pixels} pixels at most`, endpoint);
}

function questionsUnfit(
  ask: DecisionCall,
  endpoint: Endpoint,
  decisions: DecisionSupport,
): MissingCapability | undefined {
  const { questionsMax } = decisions;
  if (questionsMax !== null && ask.questions.length > questionsMax)
    return beyond("questions", `takes at most ${pluralize(questionsMax, "question")}`, endpoint);
  const readable =
    endpoint.decisionsInterface === "logprobs" ? readableLimits(logprobsFactsOf(endpoint, decisions)) : UNBOUNDED;
  const options = Math.min(decisions.optionsMax ?? Number.POSITIVE_INFINITY, readable.options);
  const levels = Math.min(decisions.levelsMax ?? Number.POSITIVE_INFINITY, readable.levels);
  for (const question of ask.questions) {
    const param = criteriaPath(question);
    if (question.type === "choice" && question.options.length > options)
      return beyond(param, `takes at most ${options} options`, endpoint);
    if (question.type === "score" && question.levels.length > levels)
      return beyond(param, `takes at most ${levels} levels`, endpoint);
    if (endpoint.decisionsInterface === "sglang" && !hasPlainNames(question))
      return beyond(param, "takes option names that differ by more than their case, on one line each", endpoint);
  }
  return undefined;
}

const UNBOUNDED = { options: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY } as const;

function hasPlainNames(question: DecisionQuestion): boolean {
  if (question.type !== "choice") return true;
  const names = question.options.map(({ name }) => name.toLowerCase());
  return new Set(names).size === names.length && names.every((name) => !/\p{Cc}|\u2028|\u2029/u.test(name));
}

function tooLong(
  ask: DecisionCall,
  size: DecisionTokenEstimate,
  endpoint: Endpoint,
  model: Model,
): MissingCapability | undefined {
  const most = endpoint.decisions?.bodyMaxBytes;
  if (most != null && bytesOf(ask) > most)
    return beyond(ask.inputField ?? "state", `reads at most ${most} bytes`, endpoint);
  const context = endpoint.limits.contextTokens ?? model.contextTokens;
  const tokens = requestsFor(size, endpoint).reduce((largest, one) => Math.max(largest, one), 0);
  if (context === null || tokens <= context) return undefined;
  const message = `The state and the questions are too long: ${tokens} tokens > ${context} maximum, by the gateway's estimate for ${endpoint.model}. Shorten them, or choose a model that takes more.`;
  return {
    reason: `takes at most ${context} tokens of context, the request has about ${tokens}`,
    param: ask.inputField ?? "state",
    fault: fault("context_length_exceeded", { message, param: ask.inputField ?? "state" }),
  };
}

/** The sentence goes into the log, which keeps no names of questions: the field stands beside it. */
function beyond(param: string, reason: string, { model }: Endpoint): MissingCapability {
  const message = `${model} ${reason}. Send less, or choose another model.`;
  return { reason, param, fault: fault("invalid_value", { message, param }) };
}

/** Tokens of each request that an endpoint is sent: one for all questions, or one for each. */
export function requestsFor(
  { stateTokens, questionTokens }: DecisionTokenEstimate,
  { decisionsInterface }: Endpoint,
): number[] {
  if (decisionsInterface === "logprobs") return questionTokens.map((tokens) => stateTokens + tokens);
  return [questionTokens.reduce((sum, tokens) => sum + tokens, stateTokens)];
}

/** The body as it will be, but for a few marks. */
function bytesOf({ state, questions, images }: DecisionCall): number {
  const pictures = images.reduce((sum, { base64 }) => sum + base64.length + 64, 0);
  return pictures + Buffer.byteLength(stateText(state)) + Buffer.byteLength(JSON.stringify(questions));
}
