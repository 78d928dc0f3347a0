import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { EmbeddingFacts } from "../../domain/catalogue/facts-embeddings.ts";
import { SseReader } from "../../kit/sse.ts";
import type { Unusable, WholeAnswer } from "../../language/canon/answer.ts";
import { renderEmbeddings } from "../../language/embeddings/answer.ts";
import { type EmbeddingAsk, type EmbeddingInputs, sliceOf } from "../../language/embeddings/ask.ts";
import { bedrockCohere, bedrockNova, bedrockTitan, cohereEmbeddings } from "../../language/embeddings/cohere.ts";
import { geminiEmbeddings, vertexEmbeddings } from "../../language/embeddings/gemini.ts";
import { mistralEmbeddings, openaiEmbeddings } from "../../language/embeddings/openai.ts";
import { dimensionsOf, isVector, type Vector } from "../../language/embeddings/vector.ts";
import type { EmbeddingWire, WireAnswer } from "../../language/embeddings/wire.ts";
import { type Lane, NOTHING_DROPPED } from "./lane.ts";

const WIRES: Readonly<Record<EmbeddingFacts["interface"], EmbeddingWire>> = {
  openai: openaiEmbeddings,
  mistral: mistralEmbeddings,
  gemini: geminiEmbeddings,
  vertex: vertexEmbeddings,
  cohere: cohereEmbeddings,
  bedrock_cohere: bedrockCohere,
  bedrock_titan: bedrockTitan,
  bedrock_nova: bedrockNova,
};

/** The answer of a part keeps its vectors until all parts are there. */
type Part = WholeAnswer & { readonly vectors: readonly Vector[]; readonly tokens: number | undefined };

/** The way to an endpoint that gives vectors: as many requests as it takes for all inputs, and one answer. */
export function embeddingsLane(ask: EmbeddingAsk, endpoint: Endpoint, facts: EmbeddingFacts): Lane {
  const wire = WIRES[facts.interface];
  const { texts } = ask.inputs;
  const most = Math.min(facts.batchMax ?? texts.length, wire.batchMax ?? texts.length);
  const slices: EmbeddingInputs[] = [];
  for (let from = 0; from < texts.length; from += most) slices.push(sliceOf(ask.inputs, from, most));
  const parts: Part[] = [];
  const lanes = slices.map((inputs, place) => partLane(ask, endpoint, facts, inputs, (part) => (parts[place] = part)));
  const [only] = lanes;
  if (lanes.length === 1 && only !== undefined) return only;
  const join = () => joined(parts, ask, endpoint);
  return { ...(only ?? partLane(ask, endpoint, facts, ask.inputs, () => undefined)), parts: { lanes, join } };
}

function partLane(
  ask: EmbeddingAsk,
  endpoint: Endpoint,
  facts: EmbeddingFacts,
  inputs: EmbeddingInputs,
  kept: (part: Part) => void,
): Lane {
  const wire = WIRES[facts.interface];
  const { upstreamModel } = endpoint;
  const { dimensions, encoding, user } = ask;
  // Words for whoever reads no numbers.
  const told: EmbeddingInputs = facts.tokens ? inputs : { is: "texts", texts: inputs.texts };
  return {
    surface: null,
    path: wire.path(upstreamModel),
    auth: wire.auth,
    headers: {},
    streamType: "text/event-stream",
    keepAlive: "",
    effort: undefined,
    dropped: NOTHING_DROPPED,
    encode: () => JSON.stringify(wire.encode({ upstreamModel, inputs: told, dimensions, encoding, user })),
    decodeWhole(bytes, headers) {
      const answer = wire.decode(parsed(bytes), headers);
      const read = answer === undefined ? undefined : readPart(answer, ask, inputs.texts.length, endpoint);
      if (read !== undefined && !("unusable" in read)) kept(read);
      return read;
    },
    openFrames: (max) => new SseReader(max),
    openStream() {
      throw new Error("vectors do not come as a stream");
    },
    decodeProblem: wire.decodeProblem,
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** One vector for each input, all of one length, and of the length that was asked for. */
function readPart(
  { vectors, tokens, id }: WireAnswer,
  ask: EmbeddingAsk,
  inputs: number,
  endpoint: Endpoint,
): Part | Unusable {
  const valid = vectors.filter(isVector);
  if (valid.length !== inputs || vectors.length !== inputs)
    return { unusable: `${valid.length} vectors for ${inputs} inputs` };
  const length = ask.dimensions ?? dimensionsOf(valid[0]);
  if (valid.some((vector) => dimensionsOf(vector) !== length)) return { unusable: "vectors of another length" };
  return answerOf(valid, tokens, id, ask, endpoint);
}

function answerOf(
  vectors: readonly Vector[],
  tokens: number | undefined,
  upstreamId: string | null,
  { encoding }: EmbeddingAsk,
  { model }: Endpoint,
): Part {
  return {
    vectors,
    tokens,
    upstreamId,
    usage: tokens === undefined ? undefined : { ...NO_USAGE, inputTokens: tokens },
    outputChars: 0,
    inputs: vectors.length,
    detail: { inputs: vectors.length, dimensions: dimensionsOf(vectors[0]) ?? 0 },
    render: (counted, shown) => renderEmbeddings(vectors, { model, encoding }, counted, shown),
  };
}

const NO_USAGE = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
} as const;

/** All vectors in the order of the inputs; figures only where every part told them. */
function joined(parts: readonly Part[], ask: EmbeddingAsk, endpoint: Endpoint): WholeAnswer | Unusable {
  const vectors = parts.flatMap((part) => part.vectors);
  const [first] = parts;
  const length = dimensionsOf(first?.vectors[0]);
  if (vectors.some((vector) => dimensionsOf(vector) !== length)) return { unusable: "vectors of another length" };
  let tokens: number | undefined = 0;
  for (const part of parts)
    tokens = tokens === undefined || part.tokens === undefined ? undefined : tokens + part.tokens;
  return answerOf(vectors, tokens, first?.upstreamId ?? null, ask, endpoint);
}
