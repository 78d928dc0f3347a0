import { fault } from "../../contract/faults.ts";
import { EmbeddingsRequest } from "../../contract/schemas/embeddings.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Shortcoming } from "../../domain/routing/capability.ts";
import { embeddingsLane } from "../../io/upstream/embeddings-lane.ts";
import { estimateTextTokens } from "../../language/canon/needs.ts";
import { decodeWishes } from "../../language/canon/wishes.ts";
import type { EmbeddingAsk, EmbeddingInputs } from "../../language/embeddings/ask.ts";
import { decodeWith, parseJson } from "../body.ts";
import { type Handler, streamed } from "../exchange.ts";
import type { Bound, Errand } from "../pipeline/errand.ts";
import type { Outline } from "../pipeline/plan.ts";
import { type Decoded, run } from "../pipeline/run.ts";
import type { Way } from "../pipeline/thinking.ts";
import type { Gateway } from "../pipeline/world.ts";
import { requireNamedModel } from "./named-model.ts";

/** POST /embeddings. */
export function embeddingsHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    createEmbedding: streamed((exchange, sink) =>
      run(gateway, "embeddings", exchange, sink, (bytes) => decodeEmbeddings(bytes, gateway.tokens)),
    ),
  };
}

async function decodeEmbeddings(bytes: Buffer, tokens: Gateway["tokens"]): Promise<Decoded> {
  const request = decodeWith(EmbeddingsRequest, parseJson(bytes).value);
  requireNamedModel(request.model, "embeddings");
  const wishes = decodeWishes({ provider: request.provider });
  return {
    errand: new EmbeddingsErrand({
      model: request.model,
      inputs: await inputsOf(request.input, tokens),
      dimensions: request.dimensions ?? undefined,
      encoding: request.encoding_format ?? "float",
      user: request.user ?? undefined,
      wishes,
    }),
  };
}

async function inputsOf(input: EmbeddingsRequest["input"], tokens: Gateway["tokens"]): Promise<EmbeddingInputs> {
  if (typeof input === "string") return { is: "texts", texts: [input] };
  const texts = input.filter((one) => typeof one === "string");
  if (texts.length === input.length) return { is: "texts", texts };
  const numbers = input.filter((one) => typeof one === "number");
  const lists = numbers.length > 0 ? [numbers] : input.filter((one) => Array.isArray(one));
  const words = await tokens.words(lists);
  if (words.is === "busy")
    throw fault("service_unavailable", {
      message: "Token numbers cannot be read right now. Send texts, or try again shortly.",
      headers: { "retry-after": "2" },
    });
  if (words.is === "unknown")
    throw fault("invalid_value", {
      message: `Field "input": list ${words.list} holds a number that is no token of cl100k_base. Send texts instead.`,
      param: numbers.length > 0 ? "input" : `input.${words.list}`,
    });
  return { is: "tokens", lists, texts: words.texts };
}

class EmbeddingsErrand implements Errand {
  readonly outline: Outline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly #ask: EmbeddingAsk;

  constructor(ask: EmbeddingAsk) {
    this.#ask = ask;
    this.inputTokens = tokensOf(ask.inputs);
    this.outline = {
      model: ask.model,
      wishes: ask.wishes,
      demand: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        fits: (endpoint) => shortcomingOf(endpoint, ask),
      },
    };
  }

  get detail() {
    return { inputs: this.#ask.inputs.texts.length };
  }

  boundAt(): Bound {
    return { inputTokens: this.inputTokens, outputTokens: 0 };
  }

  wayTo({ endpoint }: Attempt): Way {
    const { embeddings } = endpoint;
    if (embeddings === null) throw new Error(`${endpoint.id} has no interface for embeddings`);
    return { lane: embeddingsLane(this.#ask, endpoint, embeddings), thinking: undefined };
  }

  namesKept(): boolean {
    return false;
  }
}

function tokensOf(inputs: EmbeddingInputs): number {
  if (inputs.is === "tokens") return inputs.lists.reduce((sum, { length }) => sum + length, 0);
  return inputs.texts.reduce((sum, text) => sum + estimateTextTokens(text), 0);
}

function shortcomingOf({ embeddings }: Endpoint, { dimensions }: EmbeddingAsk): Shortcoming | undefined {
  if (dimensions === undefined || embeddings?.dimensions === true) return undefined;
  return { reason: "gives vectors of one length only", param: "dimensions" };
}
