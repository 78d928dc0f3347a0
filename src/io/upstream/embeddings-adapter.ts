import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { EmbeddingSupport } from "../../domain/catalogue/embeddings-support.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { JsonSpan } from "../../kit/json-span.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { NO_CEILING, PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS } from "../../language/canon/usage-ceiling.ts";
import { omittedMembers } from "../../language/dialects/reply-members.ts";
import {
  type BatchLimits,
  type EmbeddingCall,
  type EmbeddingInputs,
  splitIntoBatches,
} from "../../language/embeddings/call.ts";
import {
  type RenderedVector,
  renderEmbeddings,
  renderGeminiEmbeddings,
  renderVector,
  type VectorFormat,
} from "../../language/embeddings/render.ts";
import type { EmbeddingReply } from "../../language/embeddings/wire-format.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type EmbeddingTarget = {
  readonly call: EmbeddingCall;
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly support: EmbeddingSupport;
};

/** The reply of one batch keeps its vectors until all batches are complete. */
type EmbeddingBatch = WholeReply & { readonly vectors: readonly RenderedVector[]; readonly tokens: ReportedTokens };

/** What a reply has beside its vectors. */
type ReplyFacts = {
  readonly tokens: ReportedTokens;
  readonly upstreamId: string | null;
  readonly omitted: readonly string[] | undefined;
};

type DecodedBatch = EmbeddingReply & Pick<ReplyFacts, "omitted">;

type ReportedTokens = number | "impossible" | undefined;

/** One or more requests that together embed all inputs, and one reply. */
export function embeddingsAdapter(target: EmbeddingTarget): UpstreamAdapter {
  const batches: EmbeddingBatch[] = [];
  let numbers = 0;
  const [first, ...others] = splitIntoBatches(target.call, batchLimitsFor(target)).map((inputs, index) =>
    batchAdapter(target, inputs, (batch) => {
      numbers += batch.vectors.reduce((sum, { dimensions }) => sum + dimensions, 0);
      if (numbers > NUMBERS_MAX) return TOO_MANY_VECTORS;
      batches[index] = batch;
      return batch;
    }),
  );
  if (first === undefined) throw new Error("a request for no vectors");
  if (others.length === 0) return first;
  return {
    ...first,
    // The usage of each batch was checked against its own inputs.
    maxUsage: () => NO_CEILING,
    subRequests: { adapters: [first, ...others], join: () => joinBatches(batches, target) },
  };
}

/** A response is parsed in one event-loop tick, so a batch must not be larger than this. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;
/** The reply is one string, whose length is limited: larger requests fail before they are charged. */
const NUMBERS_MAX = 2048 * 8192;
/** Upper bounds; some servers write each number on an indented line. */
const BYTES_PER_NUMBER = { float: 24, base64: 5.5 } as const;
/** Assumed if the catalogue has no dimensions. */
const DEFAULT_DIMENSIONS = 4096;
/** Batches are filled to this share of the limit, because tokens are only estimated here. */
const BATCH_FILL_SHARE = 0.5;

function batchLimitsFor({ call, model, support }: EmbeddingTarget): BatchLimits {
  const dimensions = call.dimensions ?? model.embeddingDimensions ?? DEFAULT_DIMENSIONS;
  const readable = Math.floor(RESPONSE_BYTES_MAX / (dimensions * BYTES_PER_NUMBER[encodingFor(call, support)]));
  const stated = Math.min(
    support.batchMax ?? Infinity,
    UPSTREAM_ADAPTERS.embeddings[support.interface].batchMax ?? Infinity,
  );
  return {
    inputs: Math.max(1, Math.min(stated, readable)),
    tokens: support.batchTokensMax === null ? Infinity : support.batchTokensMax * BATCH_FILL_SHARE,
  };
}

/** Endpoints without base64 return numbers, which the gateway converts. */
function encodingFor({ encoding }: EmbeddingCall, { base64 }: EmbeddingSupport): "float" | "base64" {
  return base64 ? encoding : "float";
}

function batchAdapter(
  target: EmbeddingTarget,
  inputs: EmbeddingInputs,
  onBatch: (batch: EmbeddingBatch) => EmbeddingBatch | UnusableReply,
): UpstreamAdapter {
  const { call, endpoint, support } = target;
  const wire = UPSTREAM_ADAPTERS.embeddings[support.interface];
  const { upstreamModel } = endpoint;
  const tokensMax = plausibleTokensFor(inputs);
  const batchOf = (answer: DecodedBatch, vectors: readonly (RenderedVector | undefined)[]) => {
    const read = decodeBatch(answer, vectors, inputs, tokensMax, target);
    return "unusable" in read ? read : onBatch(read);
  };
  return {
    surface: null,
    path: wire.path(upstreamModel),
    auth: wire.auth,
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    omitted: wire.takesTask === true ? undefined : taskPaths(call),
    // Wider than the billing check: it opens circuits, so it allows for the provider's overhead per input.
    maxUsage: () => ({ ...NO_CEILING, inputTokens: tokensMax + PROVIDER_OVERHEAD_TOKENS * inputs.texts.length }),
    encode: () =>
      JSON.stringify(
        wire.encode({
          upstreamModel,
          // Text for endpoints that do not accept token ids.
          inputs: support.tokens ? inputs : { is: "texts", texts: inputs.texts },
          dimensions: support.dimensions ? call.dimensions : undefined,
          encoding: encodingFor(call, support),
          user: call.user,
          task: call.task,
        }),
      ),
    form: { bulk: "number-lists" },
    decodeResponse(source, headers) {
      const { value } = JsonDocument.of(source);
      const answer = wire.decode(value, headers);
      if (answer === undefined) return undefined;
      const vectors = answer.vectors.map((vector) => renderVector(vector, vectorFormatFor(target)));
      return batchOf({ ...answer, omitted: omittedMembers(value, wire.reply) }, vectors);
    },
    async decodeInSlices({ value }, headers, work) {
      const answer = wire.decode(value, headers);
      if (answer === undefined) return undefined;
      const vectors: (RenderedVector | undefined)[] = [];
      for (const vector of answer.vectors) {
        const numbers = numbersIn(vector);
        const values = Math.ceil(numbers / NUMBERS_PER_VALUE);
        if (!work.fits(numbers, values)) await work.next();
        work.add(numbers, values);
        vectors.push(renderVector(vector, vectorFormatFor(target)));
      }
      work.end();
      return batchOf({ ...answer, omitted: omittedMembers(value, wire.reply) }, vectors);
    },
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("vectors arrived as a stream");
    },
    decodeProblem: wire.decodeProblem,
  };
}

/** To convert so many numbers of a vector costs no more than to read one member. */
const NUMBERS_PER_VALUE = 16;

/** Base64 has 16 characters for three numbers. */
function numbersIn(vector: unknown): number {
  if (typeof vector === "string") return Math.ceil(vector.length / 5);
  return (vector instanceof JsonSpan && vector.numbers) || 1;
}

function taskPaths({ task }: EmbeddingCall): string[] | undefined {
  if (task === undefined) return undefined;
  const { type, title, path } = task;
  return [...(type === undefined ? [] : [`${path}taskType`]), ...(title === undefined ? [] : [`${path}title`])];
}

/** Requires one vector per input, all of the requested length. */
function decodeBatch(
  { tokens, id, omitted }: DecodedBatch,
  rendered: readonly (RenderedVector | undefined)[],
  inputs: EmbeddingInputs,
  tokensMax: number,
  target: EmbeddingTarget,
): EmbeddingBatch | UnusableReply {
  const requested = inputs.texts.length;
  if (rendered.length !== requested)
    return { unusable: `${pluralize(rendered.length, "vector")} for ${pluralize(requested, "input")}` };
  const vectors = rendered.filter((vector) => vector !== undefined);
  if (vectors.length !== requested) return { unusable: "an item is not a vector" };
  const reported = tokens === undefined || tokens <= tokensMax ? tokens : "impossible";
  if (!haveEqualLength(vectors, target.call.dimensions)) return UNEQUAL_LENGTHS;
  return replyOf(vectors, { tokens: reported, upstreamId: id, omitted }, target);
}

/** No tokenizer yields more tokens than bytes, except for a few per input. */
const OVERHEAD_TOKENS_PER_INPUT = 16;

function plausibleTokensFor(inputs: EmbeddingInputs): number {
  const texts = inputs.texts.reduce((sum, text) => sum + OVERHEAD_TOKENS_PER_INPUT + Buffer.byteLength(text), 0);
  const numbers = inputs.is === "tokens" ? inputs.lists.reduce((sum, { length }) => sum + length, 0) : 0;
  return PLAUSIBLE_FACTOR * Math.max(texts, numbers);
}

const UNEQUAL_LENGTHS: UnusableReply = { unusable: "vectors differ in length" };
const TOO_MANY_VECTORS: UnusableReply = { unusable: "more vectors than one response can hold" };

function vectorFormatFor({ call, support }: EmbeddingTarget): VectorFormat {
  const isShortened = support.normalize && call.dimensions !== undefined;
  return { encoding: call.encoding, scale: isShortened ? "unit" : "as_given" };
}

function haveEqualLength(vectors: readonly RenderedVector[], requested: number | undefined): boolean {
  const length = requested ?? vectors[0]?.dimensions;
  return vectors.every(({ dimensions }) => dimensions === length);
}

function replyOf(
  vectors: readonly RenderedVector[],
  { tokens, upstreamId, omitted }: ReplyFacts,
  { endpoint, call: { replyShape = "list" } }: EmbeddingTarget,
): EmbeddingBatch {
  return {
    vectors,
    tokens,
    upstreamId,
    usage: typeof tokens === "number" ? { ...NO_TOKENS, inputTokens: tokens } : undefined,
    isUsageRejected: tokens === "impossible" ? true : undefined,
    outputWeight: 0,
    heldBytes: vectors.reduce((sum, { json }) => sum + json.length, 0),
    promptCount: vectors.length,
    omitted,
    detail: { inputs: vectors.length, dimensions: vectors[0]?.dimensions ?? 0 },
    render(counted, shown) {
      const rendered = vectors.map(({ json }) => json);
      return replyShape === "list"
        ? renderEmbeddings(rendered, endpoint.model, counted, shown)
        : renderGeminiEmbeddings(rendered, replyShape, counted, shown);
    },
  };
}

/** All vectors in input order; usage only if every batch reported it. */
function joinBatches(batches: readonly EmbeddingBatch[], target: EmbeddingTarget): WholeReply | UnusableReply {
  const vectors = batches.flatMap((batch) => batch.vectors);
  if (!haveEqualLength(vectors, target.call.dimensions)) return UNEQUAL_LENGTHS;
  const tokens = batches.map((batch) => batch.tokens).reduce(addTokens, 0);
  const omitted = [...new Set(batches.flatMap((batch) => batch.omitted ?? []))];
  const facts = {
    tokens,
    upstreamId: batches[0]?.upstreamId ?? null,
    omitted: omitted.length === 0 ? undefined : omitted,
  };
  return replyOf(vectors, facts, target);
}

function addTokens(one: ReportedTokens, other: ReportedTokens): ReportedTokens {
  if (one === "impossible" || other === "impossible") return "impossible";
  return one === undefined || other === undefined ? undefined : one + other;
}
