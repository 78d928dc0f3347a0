import { fault, invalidValue } from "../../contract/faults.ts";
import { EmbeddingsFields } from "../../contract/schemas/embeddings.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { MissingCapability } from "../../domain/routing/capability.ts";
import { embeddingsLane } from "../../io/upstream/embeddings-adapter.ts";
import { conservativeTextTokens } from "../../language/canon/estimate.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import type { EmbeddingCall, EmbeddingInputs } from "../../language/embeddings/call.ts";
import { decodeInputs } from "../../language/embeddings/request.ts";
import { type Handler, streamed } from "../exchange.ts";
import type { DecodedRequest } from "../pipeline/decoded.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type { InferenceRequest, UsageBound } from "../pipeline/inference-request.ts";
import type { RequestOutline } from "../pipeline/plan.ts";
import type { EndpointAdapter } from "../pipeline/reasoning-choice.ts";
import { run } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";

/** POST /embeddings. */
export function embeddingsHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createEmbedding: streamed((exchange, sink) =>
      run(gateway, "embeddings", exchange, sink, (bytes) => decodeEmbeddings(bytes, gateway.tokenCounter)),
    ),
  };
}

async function decodeEmbeddings(bytes: Buffer, tokens: GatewayDeps["tokenCounter"]): Promise<DecodedRequest> {
  const request = decodeWith(EmbeddingsFields, parseJson(bytes).value);
  const wishes = decodeRoutingHints({ provider: request.provider });
  const inputs = await inputsOf(request.input, tokens);
  return {
    request: new EmbeddingsErrand({
      model: request.model,
      inputs,
      inputTokens: weightsOf(inputs),
      dimensions: request.dimensions ?? undefined,
      encoding: request.encoding_format ?? "float",
      user: request.user ?? undefined,
      wishes,
    }),
  };
}

async function inputsOf(input: unknown, tokens: GatewayDeps["tokenCounter"]): Promise<EmbeddingInputs> {
  const given = decodeInputs(input);
  if (given.is === "texts") return given;
  const { lists, shape } = given;
  const words = await tokens.decode(lists);
  if (words.is === "busy")
    throw fault("service_unavailable", {
      message: "Token numbers cannot be read right now. Send texts, or try again shortly.",
      headers: { "retry-after": "2" },
    });
  if (words.is === "unknown") {
    const param = shape === "one" ? "input" : `input.${words.list}`;
    throw invalidValue(param, `${words.token} is no token of cl100k_base. Send texts instead`);
  }
  return { is: "tokens", lists, texts: words.texts };
}

function weightsOf(inputs: EmbeddingInputs): number[] {
  return inputs.is === "tokens" ? inputs.lists.map(({ length }) => length) : inputs.texts.map(conservativeTextTokens);
}

class EmbeddingsErrand implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly #ask: EmbeddingCall;

  constructor(ask: EmbeddingCall) {
    this.#ask = ask;
    this.inputTokens = ask.inputTokens.reduce((sum, weight) => sum + weight, 0);
    this.outline = {
      model: ask.model,
      routingHints: ask.wishes,
      requirements: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        checkFit: (endpoint, model) => shortcomingOf(endpoint, model, ask),
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
    const { embeddings: facts } = endpoint;
    if (facts === null) throw new Error(`${endpoint.id} has no interface for embeddings`);
    return { adapter: embeddingsLane({ ask: this.#ask, endpoint, model, facts }), reasoning: undefined };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

/** An input that is estimated at this many times what an endpoint reads is too long for it, however it counts. */
const ESTIMATE_MARGIN = 2;

function shortcomingOf(endpoint: Endpoint, model: Model, ask: EmbeddingCall): MissingCapability | undefined {
  const { dimensions, inputTokens } = ask;
  // What comes in this length anyway need not be asked for.
  const isUsual = dimensions === undefined || dimensions === model.embeddingDimensions;
  if (!isUsual && endpoint.embeddings?.dimensions !== true)
    return { reason: "gives vectors of one length only", param: "dimensions" };
  const { limits } = endpoint;
  const most = limits.maxInputTokens ?? limits.contextTokens ?? model.contextTokens;
  if (most === null) return undefined;
  const at = inputTokens.findIndex((weight) => weight > ESTIMATE_MARGIN * most);
  return at < 0 ? undefined : tooLong(at, most, ask);
}

/** Some providers read the beginning of such a text and say nothing: its vector would stand for another text. */
function tooLong(at: number, most: number, { model, inputTokens }: EmbeddingCall): MissingCapability {
  const param = inputTokens.length === 1 ? "input" : `input.${at}`;
  const message = `Field "${param}" is too long: about ${inputTokens[at]} tokens by the gateway's estimate, and ${model} reads at most ${most} in one input. Cut it into shorter ones.`;
  const reason = `reads at most ${most} tokens in one input`;
  return { reason, param, fault: fault("context_length_exceeded", { message, param }) };
}
