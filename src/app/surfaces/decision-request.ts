import { fault } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { DecisionSupport } from "../../domain/catalogue/decisions-support.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability, Requirements } from "../../domain/routing/requirements.ts";
import { decisionsAdapter, logprobsFactsFor } from "../../io/upstream/decisions-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { conservativeTextTokens, expectedTextTokens } from "../../language/canon/tokens.ts";
import {
  criteriaPath,
  type DecisionCall,
  type DecisionQuestion,
  type DecisionTokenEstimate,
  estimateDecisionTokens,
  stateText,
} from "../../language/decisions/call.ts";
import { imageTiles } from "../../language/decisions/image.ts";
import { readableLimits } from "../../language/decisions/logprobs.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import type { EndpointAdapter, InferenceRequest, RequestOutline, UsageBound } from "../pipeline/inference-request.ts";

/** Upper bound of billed output tokens per question. */
export const OUTPUT_TOKENS_PER_QUESTION = 32;

export class DecisionInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly detail: JsonObject;
  readonly #ask: DecisionCall;
  readonly #client: DecisionRenderer;
  #reservedSize: DecisionTokenEstimate | undefined;

  constructor(
    ask: DecisionCall,
    client: DecisionRenderer,
    { routingHints, unservedFault }: Pick<RequestOutline, "routingHints"> & Pick<Requirements, "unservedFault">,
  ) {
    this.#ask = ask;
    const size = estimateDecisionTokens(ask, expectedTextTokens);
    this.#client = client;
    this.detail = logDetail(ask);
    this.inputTokens = size.questionTokens.reduce((sum, tokens) => sum + tokens, size.stateTokens);
    this.outline = {
      model: ask.model,
      routingHints,
      requirements: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        inputTokensFor: (endpoint) => promptTokensAt(endpoint, size),
        maxOutputTokens: ask.questions.length,
        checkFit: (endpoint, model) => missingDecisionCapability(ask, size, endpoint, model),
        unservedFault,
      },
    };
  }

  /** The state is billed once per upstream request. */
  usageBoundAt({ endpoint }: Attempt): UsageBound {
    return {
      inputTokens: promptTokensAt(endpoint, this.#reserved()),
      outputTokens: this.#ask.questions.length * OUTPUT_TOKENS_PER_QUESTION,
    };
  }

  /** The hold needs an upper bound, not the expected size. */
  #reserved(): DecisionTokenEstimate {
    this.#reservedSize ??= estimateDecisionTokens(this.#ask, conservativeTextTokens);
    return this.#reservedSize;
  }

  adapterFor({ endpoint, model }: Attempt): EndpointAdapter {
    return { adapter: decisionsAdapter(this.#ask, { endpoint, model, client: this.#client }), reasoning: undefined };
  }

  /** Images are not inspected, which a rule can refuse. */
  content(): unknown {
    const { state, questions, images } = this.#ask;
    return { state, questions, ...(images.length === 0 ? {} : { images: images.map(() => ({ type: "image" })) }) };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

export function promptTokensAt(endpoint: Endpoint, size: DecisionTokenEstimate): number {
  return tokensPerRequest(size, endpoint).reduce((sum, tokens) => sum + tokens, 0);
}

/** Counts by question type, without content. */
function logDetail({ questions, images }: DecisionCall): JsonObject {
  const count = (type: string) => questions.filter((question) => question.type === type).length;
  const types = Object.fromEntries(
    (["noul", "choice", "score"] as const).flatMap((type) => (count(type) === 0 ? [] : [[type, count(type)] as const])),
  );
  return { questions: questions.length, types, ...(images.length === 0 ? {} : { images: images.length }) };
}

/** The first capability that the endpoint lacks for this request. */
export function missingDecisionCapability(
  ask: DecisionCall,
  size: DecisionTokenEstimate,
  endpoint: Endpoint,
  model: Model,
): MissingCapability | undefined {
  const { decisions } = endpoint;
  if (decisions === null) return { reason: "has no decisions interface", param: "model" };
  return (
    missingImageCapability(ask, endpoint, decisions) ??
    missingQuestionCapability(ask, endpoint, decisions) ??
    contextOverflow(ask, size, endpoint, model)
  );
}

function missingImageCapability(
  ask: DecisionCall,
  endpoint: Endpoint,
  decisions: DecisionSupport,
): MissingCapability | undefined {
  const { images } = ask;
  if (images.length === 0) return undefined;
  if (decisions.images === null)
    return {
      reason: "does not support images",
      param: ask.inputField ?? "images",
      fault: fault("image_input_not_supported", {
        message: `No endpoint of ${endpoint.model} supports images with decisions. Remove them, or use a model with svc_decision_images.`,
        param: ask.inputField ?? "images",
      }),
    };
  const { imagesMax, imageTilesMax } = decisions;
  if (imagesMax !== null && images.length > imagesMax)
    return limitExceeded(
      ask.inputField ?? "images",
      `supports at most ${pluralize(imagesMax, "image")}`,
      endpoint,
      imagesMax,
    );
  const large = images.findIndex((image) => (imageTiles(image) ?? 0) > (imageTilesMax ?? Number.POSITIVE_INFINITY));
  if (large < 0) return undefined;
  const pixels = (imageTilesMax ?? 0) * 32 * 32;
  return limitExceeded(
    ask.inputField ?? `images.${large}`,
    `supports images of at most about ${pixels} pixels`,
    endpoint,
    pixels,
  );
}

function missingQuestionCapability(
  ask: DecisionCall,
  endpoint: Endpoint,
  decisions: DecisionSupport,
): MissingCapability | undefined {
  const { questionsMax } = decisions;
  if (questionsMax !== null && ask.questions.length > questionsMax)
    return limitExceeded(
      "questions",
      `supports at most ${pluralize(questionsMax, "question")}`,
      endpoint,
      questionsMax,
    );
  const readable =
    endpoint.decisionsInterface === "logprobs" ? readableLimits(logprobsFactsFor(endpoint, decisions)) : UNBOUNDED;
  const options = Math.min(decisions.optionsMax ?? Number.POSITIVE_INFINITY, readable.options);
  const levels = Math.min(decisions.levelsMax ?? Number.POSITIVE_INFINITY, readable.levels);
  for (const question of ask.questions) {
    const param = criteriaPath(question);
    if (question.type === "choice" && question.options.length > options)
      return limitExceeded(param, `supports at most ${options} options`, endpoint, options);
    if (question.type === "score" && question.levels.length > levels)
      return limitExceeded(param, `supports at most ${levels} levels`, endpoint, levels);
    if (endpoint.decisionsInterface === "sglang" && !hasPlainNames(question))
      return limitExceeded(param, "requires option names on one line that differ by more than case", endpoint);
  }
  return undefined;
}

const UNBOUNDED = { options: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY } as const;

function hasPlainNames(question: DecisionQuestion): boolean {
  if (question.type !== "choice") return true;
  const names = question.options.map(({ name }) => name.toLowerCase());
  return new Set(names).size === names.length && names.every((name) => !/\p{Cc}|\u2028|\u2029/u.test(name));
}

function contextOverflow(
  ask: DecisionCall,
  size: DecisionTokenEstimate,
  endpoint: Endpoint,
  model: Model,
): MissingCapability | undefined {
  const bodyMaxBytes = endpoint.decisions?.bodyMaxBytes;
  if (bodyMaxBytes != null && encodedBytes(ask) > bodyMaxBytes)
    return limitExceeded(
      ask.inputField ?? "state",
      `supports bodies of at most ${bodyMaxBytes} bytes`,
      endpoint,
      bodyMaxBytes,
    );
  const context = endpoint.limits.contextTokens ?? model.contextTokens;
  const tokens = tokensPerRequest(size, endpoint).reduce((largest, one) => Math.max(largest, one), 0);
  if (context === null || tokens <= context) return undefined;
  const message = `The state and the questions are too long: ${tokens} tokens > ${context} maximum, by the gateway's estimate for ${endpoint.model}. Shorten them, or use a model with a longer context.`;
  return {
    reason: `supports at most ${context} tokens of context, the request has about ${tokens}`,
    param: ask.inputField ?? "state",
    limit: context,
    fault: fault("context_length_exceeded", { message, param: ask.inputField ?? "state" }),
  };
}

/** `reason` is logged, so it must not contain question names; those are only in `param`. */
function limitExceeded(param: string, reason: string, { model }: Endpoint, limit?: number): MissingCapability {
  const message = `${model} ${reason}. Send less, or use another model.`;
  return {
    reason,
    param,
    ...(limit === undefined ? {} : { limit }),
    fault: fault("invalid_value", { message, param }),
  };
}

/** Tokens per upstream request: one request for all questions, or one per question. */
function tokensPerRequest(
  { stateTokens, questionTokens }: DecisionTokenEstimate,
  { decisionsInterface }: Endpoint,
): number[] {
  if (decisionsInterface === "logprobs") return questionTokens.map((tokens) => stateTokens + tokens);
  return [questionTokens.reduce((sum, tokens) => sum + tokens, stateTokens)];
}

/** Approximate size of the encoded body. */
function encodedBytes({ state, questions, images }: DecisionCall): number {
  const imageBytes = images.reduce((sum, { base64 }) => sum + base64.length + 64, 0);
  return imageBytes + Buffer.byteLength(stateText(state)) + Buffer.byteLength(JSON.stringify(questions));
}
