import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { EmbeddingSupport } from "../../domain/catalogue/embeddings-support.ts";
import { tryParseJson } from "../../kit/json.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { NO_CEILING, PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS } from "../../language/canon/usage-plausibility.ts";
import {
  type BatchLimits,
  type EmbeddingCall,
  type EmbeddingInputs,
  splitIntoBatches,
} from "../../language/embeddings/call.ts";
import { bedrockCohere, bedrockNova, bedrockTitan, cohereEmbeddings } from "../../language/embeddings/cohere.ts";
import { geminiEmbeddings, vertexEmbeddings } from "../../language/embeddings/gemini.ts";
import { mistralEmbeddings, openaiEmbeddings } from "../../language/embeddings/openai.ts";
import {
  type RenderedVector,
  renderEmbeddings,
  renderVector,
  type VectorFormat,
} from "../../language/embeddings/render.ts";
import type { EmbeddingReply, EmbeddingWireFormat } from "../../language/embeddings/wire-format.ts";
import { NO_DROPPED_FIELDS, type UpstreamAdapter } from "./upstream-adapter.ts";

const WIRES: Readonly<Record<EmbeddingSupport["interface"], EmbeddingWireFormat>> = {
  openai: openaiEmbeddings,
  mistral: mistralEmbeddings,
  gemini: geminiEmbeddings,
  vertex: vertexEmbeddings,
  cohere: cohereEmbeddings,
  bedrock_cohere: bedrockCohere,
  bedrock_titan: bedrockTitan,
  bedrock_nova: bedrockNova,
};

/** One request for vectors, and the endpoint that is asked for them. */
export type EmbeddingTarget = {
  readonly ask: EmbeddingCall;
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly facts: EmbeddingSupport;
};

/** The answer of a part keeps its vectors until all parts are there. */
type Part = WholeReply & { readonly vectors: readonly RenderedVector[]; readonly tokens: Told };

/** What was told of the tokens, if anything. */
type Told = number | "impossible" | undefined;

/** The way to an endpoint that gives vectors: as many requests as it takes for all inputs, and one answer. */
export function embeddingsAdapter(errand: EmbeddingTarget): UpstreamAdapter {
  const parts: Part[] = [];
  let numbers = 0;
  const [first, ...others] = splitIntoBatches(errand.ask, roomOf(errand)).map((inputs, place) =>
    partLane(errand, inputs, (part) => {
      numbers += part.vectors.reduce((sum, { dimensions }) => sum + dimensions, 0);
      if (numbers > NUMBERS_MAX) return TOO_LONG;
      parts[place] = part;
      return part;
    }),
  );
  if (first === undefined) throw new Error("a request for no vectors");
  if (others.length === 0) return first;
  return {
    ...first,
    // The figures of each part were held against its own inputs.
    maxUsage: () => NO_CEILING,
    subRequests: { adapters: [first, ...others], join: () => joined(parts, errand) },
  };
}

/** An answer is read in one go, and everybody else waits meanwhile: no request asks for more than this at once. */
const ANSWER_BYTES = 8 * 1024 * 1024;
/** The answer is one text in the end, and a text has an end: what it would not hold is refused before it is charged. */
const NUMBERS_MAX = 2048 * 8192;
/** What a number takes up at most: servers write it on a line of its own, indented. */
const NUMBER_BYTES = { float: 24, base64: 5.5 } as const;
/** The longest vectors that models usually give, where the catalogue does not say. */
const DIMENSIONS_USUAL = 4096;
/** Tokens are estimated here, and counted there. */
const ESTIMATE_SHARE = 0.5;

function roomOf({ ask, model, facts }: EmbeddingTarget): BatchLimits {
  const dimensions = ask.dimensions ?? model.embeddingDimensions ?? DIMENSIONS_USUAL;
  const readable = Math.floor(ANSWER_BYTES / (dimensions * NUMBER_BYTES[encodingOf(ask, facts)]));
  const stated = Math.min(facts.batchMax ?? Infinity, WIRES[facts.interface].batchMax ?? Infinity);
  return {
    inputs: Math.max(1, Math.min(stated, readable)),
    tokens: facts.batchTokensMax === null ? Infinity : facts.batchTokensMax * ESTIMATE_SHARE,
  };
}

/** Whoever knows no base64 gives numbers, and they are made into it here. */
function encodingOf({ encoding }: EmbeddingCall, { base64 }: EmbeddingSupport): "float" | "base64" {
  return base64 ? encoding : "float";
}

function partLane(
  errand: EmbeddingTarget,
  inputs: EmbeddingInputs,
  kept: (part: Part) => Part | UnusableReply,
): UpstreamAdapter {
  const { ask, endpoint, facts } = errand;
  const wire = WIRES[facts.interface];
  const { upstreamModel } = endpoint;
  const tokensMax = tokensEnd(inputs);
  return {
    surface: null,
    path: wire.path(upstreamModel),
    auth: wire.auth,
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    droppedFields: NO_DROPPED_FIELDS,
    // Where not only money hangs on it, there is room for what a server counts around its inputs.
    maxUsage: () => ({ ...NO_CEILING, inputTokens: tokensMax + PROVIDER_OVERHEAD_TOKENS * inputs.texts.length }),
    encode: () =>
      JSON.stringify(
        wire.encode({
          upstreamModel,
          // Words for whoever reads no numbers.
          inputs: facts.tokens ? inputs : { is: "texts", texts: inputs.texts },
          dimensions: facts.dimensions ? ask.dimensions : undefined,
          encoding: encodingOf(ask, facts),
          user: ask.user,
        }),
      ),
    decodeResponse(bytes, headers) {
      const answer = wire.decode(tryParseJson(bytes), headers);
      const read = answer === undefined ? undefined : readPart(answer, inputs, tokensMax, errand);
      return read === undefined || "unusable" in read ? read : kept(read);
    },
    openFrameReader: (max) => new SseReader(max),
    openReplyStream() {
      throw new Error("vectors do not come as a stream");
    },
    decodeProblem: wire.decodeProblem,
  };
}

/** One vector for each input, all of one length, and of the length that was asked for. */
function readPart(
  { vectors: given, tokens, id }: EmbeddingReply,
  inputs: EmbeddingInputs,
  tokensMax: number,
  errand: EmbeddingTarget,
): Part | UnusableReply {
  const asked = inputs.texts.length;
  if (given.length !== asked)
    return { unusable: `${pluralize(given.length, "vector")} for ${pluralize(asked, "input")}` };
  const writing = writingOf(errand);
  const vectors: RenderedVector[] = [];
  for (const one of given) {
    const written = renderVector(one, writing);
    if (written === undefined) return { unusable: "something that is no vector" };
    vectors.push(written);
  }
  const told = tokens === undefined || tokens <= tokensMax ? tokens : "impossible";
  return isEven(vectors, errand.ask.dimensions) ? answerOf(vectors, told, id, errand) : OTHER_LENGTH;
}

/** Nobody counts more tokens than bytes, but for a few around each input; many times that is a mistake. */
const TOKENS_AROUND = 16;

function tokensEnd(inputs: EmbeddingInputs): number {
  const texts = inputs.texts.reduce((sum, text) => sum + TOKENS_AROUND + Buffer.byteLength(text), 0);
  const numbers = inputs.is === "tokens" ? inputs.lists.reduce((sum, { length }) => sum + length, 0) : 0;
  return PLAUSIBLE_FACTOR * Math.max(texts, numbers);
}

const OTHER_LENGTH: UnusableReply = { unusable: "vectors of another length" };
const TOO_LONG: UnusableReply = { unusable: "more vectors than one answer can hold" };

function writingOf({ ask, facts }: EmbeddingTarget): VectorFormat {
  const isShortened = facts.normalize && ask.dimensions !== undefined;
  return { encoding: ask.encoding, scale: isShortened ? "unit" : "as_given" };
}

function isEven(vectors: readonly RenderedVector[], asked: number | undefined): boolean {
  const length = asked ?? vectors[0]?.dimensions;
  return vectors.every(({ dimensions }) => dimensions === length);
}

function answerOf(
  vectors: readonly RenderedVector[],
  tokens: Told,
  upstreamId: string | null,
  { endpoint }: EmbeddingTarget,
): Part {
  return {
    vectors,
    tokens,
    upstreamId,
    usage: typeof tokens === "number" ? { ...NO_TOKENS, inputTokens: tokens } : undefined,
    isUsageRejected: tokens === "impossible" ? true : undefined,
    outputWeight: 0,
    promptCount: vectors.length,
    detail: { inputs: vectors.length, dimensions: vectors[0]?.dimensions ?? 0 },
    render: (counted, shown) =>
      renderEmbeddings(
        vectors.map(({ json }) => json),
        endpoint.model,
        counted,
        shown,
      ),
  };
}

/** All vectors in the order of the inputs; figures only where every part told them. */
function joined(parts: readonly Part[], errand: EmbeddingTarget): WholeReply | UnusableReply {
  const vectors = parts.flatMap((part) => part.vectors);
  if (!isEven(vectors, errand.ask.dimensions)) return OTHER_LENGTH;
  const tokens = parts.map((part) => part.tokens).reduce(sumOf, 0);
  return answerOf(vectors, tokens, parts[0]?.upstreamId ?? null, errand);
}

function sumOf(one: Told, other: Told): Told {
  if (one === "impossible" || other === "impossible") return "impossible";
  return one === undefined || other === undefined ? undefined : one + other;
}
