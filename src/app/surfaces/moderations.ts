import { invalidValue } from "../../contract/faults.ts";
import { ModerationFields } from "../../contract/schemas/moderations.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { ModerationSupport } from "../../domain/catalogue/moderations-support.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability } from "../../domain/routing/requirements.ts";
import { decisionCallsFor, decisionModerationsAdapter } from "../../io/upstream/decision-moderations-adapter.ts";
import { moderationsAdapter } from "../../io/upstream/moderations-adapter.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { conservativeTextTokens, expectedTextTokens, type TextTokenEstimator } from "../../language/canon/tokens.ts";
import { estimateDecisionTokens } from "../../language/decisions/call.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import { estimateModerationTokens, type ModerationCall, subjectImages } from "../../language/moderations/call.ts";
import { decodeModerationInput } from "../../language/moderations/request.ts";
import type { Exchange, Handler } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type {
  DecodedRequest,
  EndpointAdapter,
  InferenceRequest,
  RequestOutline,
  UsageBound,
} from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { missingDecisionCapability, OUTPUT_TOKENS_PER_QUESTION, promptTokensAt } from "./decision-request.ts";
import { type ModelDeps, usableModels } from "./models.ts";

/** POST /moderations. */
export function moderationsHandlers(gateway: GatewayDeps, models: ModelDeps): Record<string, Handler> {
  return {
    createModeration: inferenceHandler(gateway, "moderations", (bytes, exchange) =>
      decodeModeration(bytes, exchange, models),
    ),
  };
}

export function decodeModeration(bytes: Buffer, exchange: Exchange, models: ModelDeps): DecodedRequest {
  const { model, input, provider, data_classes } = decodeWith(ModerationFields, parseJson(bytes).value);
  const decoded = decodeModerationInput(input);
  return {
    request: new ModerationInferenceRequest({
      model: model ?? defaultModel(exchange, models),
      ...decoded,
      routingHints: decodeRoutingHints({ provider, data_classes }),
    }),
  };
}

/** Clients of this format may leave the model out. What it is then follows from the key's models, never from a name in code. */
function defaultModel(exchange: Exchange, models: ModelDeps): string {
  const usable = usableModels(models, exchange, "moderations");
  const model = usable.find(({ surfaces }) => !surfaces.includes("decisions")) ?? usable[0];
  if (model === undefined)
    throw invalidValue("model", "is required, because this key can use no model for moderations");
  return model.id;
}

class ModerationInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly #ask: ModerationCall;

  constructor(ask: ModerationCall) {
    this.#ask = ask;
    this.inputTokens = estimateModerationTokens(ask, expectedTextTokens);
    this.outline = {
      model: ask.model,
      routingHints: ask.routingHints,
      requirements: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        inputTokensFor: (endpoint) => promptTokens(endpoint, ask, expectedTextTokens),
        maxOutputTokens: 0,
        checkFit: (endpoint, model) => missingModerationCapability(ask, endpoint, model),
      },
    };
  }

  get detail() {
    const images = this.#ask.subjects.reduce((sum, subject) => sum + subjectImages(subject).length, 0);
    return { inputs: this.#ask.subjects.length, ...(images === 0 ? {} : { images }) };
  }

  usageBoundAt({ endpoint }: Attempt): UsageBound {
    const decisions = endpoint.moderations?.interface === "decisions" ? callsAt(this.#ask, endpoint.moderations) : [];
    const questions = decisions.reduce((sum, call) => sum + call.questions.length, 0);
    return {
      inputTokens: promptTokens(endpoint, this.#ask, conservativeTextTokens),
      outputTokens: questions * OUTPUT_TOKENS_PER_QUESTION,
    };
  }

  adapterFor({ endpoint, model }: Attempt, _plan: Plan, { id }: ReplyHead): EndpointAdapter {
    const { moderations: support } = endpoint;
    if (support === null) throw new Error(`${endpoint.id} has no moderations interface`);
    const target = { call: this.#ask, endpoint, support, id };
    const adapter =
      support.interface === "decisions"
        ? decisionModerationsAdapter(target, model)
        : moderationsAdapter(target, support.interface);
    return { adapter, reasoning: undefined };
  }

  /** Images are not inspected, which a rule can refuse. */
  content(): unknown {
    const input = this.#ask.subjects.flatMap(({ parts }) =>
      parts.map((part) => (part.type === "text" ? part.text : { type: "image" })),
    );
    return { input };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

const callsAt = (ask: ModerationCall, support: ModerationSupport) =>
  ask.subjects.length > (support.inputsMax ?? Number.POSITIVE_INFINITY) ? [] : decisionCallsFor(ask, support);

/** Decision models read their questions with each input. */
function promptTokens(endpoint: Endpoint, ask: ModerationCall, of: TextTokenEstimator): number {
  const { moderations: support } = endpoint;
  if (support?.interface !== "decisions") return estimateModerationTokens(ask, of);
  return callsAt(ask, support).reduce(
    (sum, call) => sum + promptTokensAt(endpoint, estimateDecisionTokens(call, of)),
    0,
  );
}

function missingModerationCapability(
  ask: ModerationCall,
  endpoint: Endpoint,
  model: Model,
): MissingCapability | undefined {
  const { moderations: support } = endpoint;
  if (support === null) return { reason: "has no moderations interface", param: "model" };
  const { imagesMax, inputsMax } = support;
  const images = ask.subjects.reduce((sum, subject) => sum + subjectImages(subject).length, 0);
  if (images > 0 && imagesMax === null)
    return {
      reason: "judges texts only",
      param: "input",
      fault: invalidValue("input", `has an image, but ${ask.model} judges texts only`),
    };
  if (imagesMax !== null && images > imagesMax) return tooMany("images", images, imagesMax, ask);
  const inputs = ask.subjects.length;
  if (inputsMax !== null && inputs > inputsMax) return tooMany("texts", inputs, inputsMax, ask);
  if (support.interface !== "decisions") return undefined;
  for (const call of decisionCallsFor(ask, support)) {
    const size = estimateDecisionTokens(call, expectedTextTokens);
    const missing = missingDecisionCapability(call, size, endpoint, model);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function tooMany(what: string, count: number, limit: number, { model }: ModerationCall): MissingCapability {
  return {
    reason: `judges at most ${limit} ${what} per request`,
    param: "input",
    limit,
    fault: invalidValue("input", `has ${count} ${what}, but ${model} judges at most ${limit} per request`),
  };
}
