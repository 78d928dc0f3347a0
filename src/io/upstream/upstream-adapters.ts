import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { DecisionInterface } from "../../domain/catalogue/decisions-support.ts";
import type { EmbeddingSupport } from "../../domain/catalogue/embeddings-support.ts";
import type { ImageJobInterface, ImageSupport } from "../../domain/catalogue/images-support.ts";
import type { ModerationSupport } from "../../domain/catalogue/moderations-support.ts";
import type { RerankSupport } from "../../domain/catalogue/rerank-support.ts";
import type { SpeechSupport } from "../../domain/catalogue/speech-support.ts";
import type { TranscriptionSupport } from "../../domain/catalogue/transcriptions-support.ts";
import { openaiDecisions } from "../../language/decisions/openai.ts";
import { sglangDecisions } from "../../language/decisions/sglang.ts";
import { systemOne } from "../../language/decisions/system-one.ts";
import type { DecisionWireFormat } from "../../language/decisions/wire-format.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { converseUpstream } from "../../language/dialects/converse/upstream/dialect.ts";
import { geminiUpstream } from "../../language/dialects/gemini/upstream/dialect.ts";
import { messagesUpstream } from "../../language/dialects/messages/upstream/dialect.ts";
import { rawPredictUpstream } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import type { UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { bedrockCohere, bedrockNova, bedrockTitan, cohereEmbeddings } from "../../language/embeddings/cohere.ts";
import { geminiEmbeddings, vertexEmbeddings } from "../../language/embeddings/gemini.ts";
import { mistralEmbeddings, openaiEmbeddings } from "../../language/embeddings/openai.ts";
import type { EmbeddingWireFormat } from "../../language/embeddings/wire-format.ts";
import { bedrockNovaImages, bedrockStabilityImages } from "../../language/images/bedrock.ts";
import { blackForestLabsImages } from "../../language/images/black-forest-labs.ts";
import { geminiImages } from "../../language/images/gemini.ts";
import type { ImageJobFormat } from "../../language/images/job-format.ts";
import { mistralImages } from "../../language/images/mistral.ts";
import { openaiImages } from "../../language/images/openai.ts";
import type { ImageWireFormat } from "../../language/images/wire-format.ts";
import { mistralModerations, openaiModerations } from "../../language/moderations/openai.ts";
import type { ModerationWireFormat } from "../../language/moderations/wire-format.ts";
import { bedrockCohereRerank, cohereRerank } from "../../language/rerank/cohere.ts";
import { jinaRerank, vllmRerank, voyageRerank } from "../../language/rerank/jina.ts";
import { teiRerank } from "../../language/rerank/tei.ts";
import type { RerankWireFormat } from "../../language/rerank/wire-format.ts";
import { geminiSpeech } from "../../language/speech/gemini.ts";
import { mistralSpeech } from "../../language/speech/mistral.ts";
import { openaiSpeech } from "../../language/speech/openai.ts";
import type { SpeechWireFormat } from "../../language/speech/wire-format.ts";
import { mistralTranscriptions } from "../../language/transcriptions/mistral.ts";
import { openaiTranscriptions } from "../../language/transcriptions/openai.ts";
import type { TranscriptionWireFormat } from "../../language/transcriptions/wire-format.ts";
import { passthroughChat } from "./passthrough-chat.ts";
import { passthroughGemini } from "./passthrough-gemini.ts";
import { passthroughMessages } from "./passthrough-messages.ts";
import { passthroughResponses } from "./passthrough-responses.ts";
import type {
  AdapterTarget,
  InboundChat,
  InboundGemini,
  InboundMessages,
  InboundResponses,
  UpstreamAdapter,
} from "./upstream-adapter.ts";

/** A wire format for text generation. */
export type GenerationAdapter = {
  /** The translated path: encodes from the canonical call and decodes into canonical events. */
  readonly dialect: UpstreamDialect;
  /** The passthrough path, for callers of the same format: the caller's bytes with named patches. */
  readonly passthrough?: {
    readonly chat?: (inbound: InboundChat, target: AdapterTarget) => UpstreamAdapter;
    /** Undefined where the format takes message bodies for some models only. */
    readonly messages?: (inbound: InboundMessages, target: AdapterTarget) => UpstreamAdapter | undefined;
    readonly responses?: (inbound: InboundResponses, target: AdapterTarget) => UpstreamAdapter;
    readonly gemini?: (inbound: InboundGemini, target: AdapterTarget) => UpstreamAdapter;
  };
};

export type GenerationFormat = "chat_completions" | "messages" | "raw_predict" | "gemini" | "converse" | "responses";

type UpstreamAdapterTable = {
  readonly generation: Readonly<Record<GenerationFormat, GenerationAdapter>>;
  readonly embeddings: Readonly<Record<EmbeddingSupport["interface"], EmbeddingWireFormat>>;
  readonly rerank: Readonly<Record<RerankSupport["interface"], RerankWireFormat>>;
  readonly images: Readonly<Record<Exclude<ImageSupport["interface"], ImageJobInterface>, ImageWireFormat>>;
  readonly imageJobs: Readonly<Record<ImageJobInterface, ImageJobFormat>>;
  /** Moderations of decision models go over their decisions interface. */
  readonly moderations: Readonly<Record<Exclude<ModerationSupport["interface"], "decisions">, ModerationWireFormat>>;
  readonly speech: Readonly<Record<SpeechSupport["interface"], SpeechWireFormat>>;
  readonly transcriptions: Readonly<Record<TranscriptionSupport["interface"], TranscriptionWireFormat>>;
  /** Formats that carry all questions in one request; `logprobs` asks one question at a time over a generation format. */
  readonly decisions: Readonly<Record<Exclude<DecisionInterface, "logprobs">, DecisionWireFormat>>;
};

/** Every wire format towards providers, one row each. The adapters of a surface look their row up by the catalogue's value. */
export const UPSTREAM_ADAPTERS: UpstreamAdapterTable = {
  generation: {
    chat_completions: { dialect: chatUpstream, passthrough: { chat: passthroughChat } },
    messages: { dialect: messagesUpstream, passthrough: { messages: passthroughMessages } },
    raw_predict: { dialect: rawPredictUpstream, passthrough: { messages: passthroughMessages } },
    gemini: { dialect: geminiUpstream, passthrough: { gemini: passthroughGemini } },
    // Claude models also take message bodies, through InvokeModel.
    converse: { dialect: converseUpstream, passthrough: { messages: passthroughMessages } },
    responses: { dialect: responsesUpstream, passthrough: { responses: passthroughResponses } },
  },
  embeddings: {
    openai: openaiEmbeddings,
    mistral: mistralEmbeddings,
    gemini: geminiEmbeddings,
    vertex: vertexEmbeddings,
    cohere: cohereEmbeddings,
    bedrock_cohere: bedrockCohere,
    bedrock_titan: bedrockTitan,
    bedrock_nova: bedrockNova,
  },
  rerank: {
    cohere: cohereRerank,
    bedrock_cohere: bedrockCohereRerank,
    jina: jinaRerank,
    voyage: voyageRerank,
    vllm: vllmRerank,
    tei: teiRerank,
  },
  images: {
    openai: openaiImages,
    gemini: geminiImages,
    bedrock_nova: bedrockNovaImages,
    bedrock_stability: bedrockStabilityImages,
  },
  imageJobs: { black_forest_labs: blackForestLabsImages, mistral: mistralImages },
  moderations: { openai: openaiModerations, mistral: mistralModerations },
  speech: {
    openai: openaiSpeech,
    gemini: geminiSpeech,
    mistral: mistralSpeech,
  },
  transcriptions: {
    openai: openaiTranscriptions,
    mistral: mistralTranscriptions,
  },
  decisions: {
    system_one: systemOne,
    openai: openaiDecisions,
    sglang: sglangDecisions,
  },
};

export function hasAdapter(endpoint: Endpoint): boolean {
  return endpoint.dialects.length > 0 || endpoint.responsesApi;
}
