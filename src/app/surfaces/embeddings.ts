import { fault, invalidValue } from "../../contract/faults.ts";
import { EmbeddingsFields } from "../../contract/schemas/embeddings.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability } from "../../domain/routing/requirements.ts";
import { embeddingsAdapter } from "../../io/upstream/embeddings-adapter.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import type { EmbeddingCall, EmbeddingInputs } from "../../language/embeddings/call.ts";
import { decodeInputs } from "../../language/embeddings/request.ts";
import type { Handler } from "../exchange.ts";
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

/** POST /embeddings. */
export function embeddingsHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createEmbedding: inferenceHandler(gateway, "embeddings", (bytes) => decodeEmbeddings(bytes, gateway.tokenCounter)),
  };
}

export async function decodeEmbeddings(bytes: Buffer, tokens: GatewayDeps["tokenCounter"]): Promise<DecodedRequest> {
  const request = decodeWith(EmbeddingsFields, parseJson(bytes).value);
  const { provider, data_classes, cache } = request;
  const routingHints = decodeRoutingHints({ provider, data_classes, cache });
  const inputs = await inputsOf(request.input, tokens);
  return {
    request: new EmbeddingInferenceRequest({
      model: request.model,
      inputs,
      inputTokens: weightsOf(inputs),
      dimensions: request.dimensions ?? undefined,
      encoding: request.encoding_format ?? "float",
      user: request.user ?? undefined,
      routingHints,
    }),
  };
}

async function inputsOf(input: unknown, tokens: GatewayDeps["tokenCounter"]): Promise<EmbeddingInputs> {
  const parsed = decodeInputs(input);
  if (parsed.is === "texts") return parsed;
  const { lists, shape } = parsed;
  const words = await tokens.decode(lists);
  if (words.is === "busy")
    throw fault("service_unavailable", {
      message: "Token ids cannot be decoded at the moment. Send strings, or try again shortly.",
      headers: { "retry-after": "2" },
    });
  if (words.is === "unknown") {
    const param = shape === "one" ? "input" : `input.${words.list}`;
    throw invalidValue(param, `must have token ids of cl100k_base: ${words.token} is not one. Send strings instead`);
  }
  return { is: "tokens", lists, texts: words.texts };
}

function weightsOf(inputs: EmbeddingInputs): number[] {
  return inputs.is === "tokens" ? inputs.lists.map(({ length }) => length) : inputs.texts.map(conservativeTextTokens);
}

export class EmbeddingInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly #ask: EmbeddingCall;

  constructor(ask: EmbeddingCall) {
    this.#ask = ask;
    this.inputTokens = ask.inputTokens.reduce((sum, weight) => sum + weight, 0);
    this.outline = {
      model: ask.model,
      routingHints: ask.routingHints,
      requirements: {
        needs: [],
        parameters: [],
        otherParameters: ask.dimensions === undefined ? [] : ["dimensions"],
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        checkFit: (endpoint, model) => missingEmbeddingCapability(endpoint, model, ask),
      },
    };
  }

  get detail() {
    return { inputs: this.#ask.inputs.texts.length };
  }

  usageBoundAt(): UsageBound {
    return { inputTokens: this.inputTokens, outputTokens: 0 };
  }

  adapterFor({ endpoint, model }: Attempt): EndpointAdapter {
    const { embeddings: support } = endpoint;
    if (support === null) throw new Error(`${endpoint.id} has no embeddings interface`);
    return { adapter: embeddingsAdapter({ call: this.#ask, endpoint, model, support }), reasoning: undefined };
  }

  content(): unknown {
    const { inputs, user, task } = this.#ask;
    return { input: inputs.texts, user, task };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

/** Estimates can be high, so an input is rejected only when it exceeds the limit by this factor. */
const ESTIMATE_MARGIN = 2;

function missingEmbeddingCapability(
  endpoint: Endpoint,
  model: Model,
  ask: EmbeddingCall,
): MissingCapability | undefined {
  const { dimensions, inputTokens } = ask;
  // The model's own dimension needs no parameter.
  const isUsual = dimensions === undefined || dimensions === model.embeddingDimensions;
  if (!isUsual && endpoint.embeddings?.dimensions !== true)
    return { reason: "supports one vector length only", param: "dimensions" };
  const { limits } = endpoint;
  const maxTokens = limits.maxInputTokens ?? limits.contextTokens ?? model.contextTokens;
  if (maxTokens === null) return undefined;
  const at = inputTokens.findIndex((weight) => weight > ESTIMATE_MARGIN * maxTokens);
  return at < 0 ? undefined : inputTooLong(at, maxTokens, ask);
}

/** Some providers silently truncate an overlong input, so its vector would represent a different text. */
function inputTooLong(at: number, maxTokens: number, { model, inputTokens }: EmbeddingCall): MissingCapability {
  const param = inputTokens.length === 1 ? "input" : `input.${at}`;
  const message = `Field "${param}" is too long: about ${inputTokens[at]} tokens by the gateway's estimate, but ${model} supports at most ${maxTokens} per input. Split it.`;
  const reason = `supports at most ${maxTokens} tokens per input`;
  return { reason, param, limit: maxTokens, fault: fault("context_length_exceeded", { message, param }) };
}
