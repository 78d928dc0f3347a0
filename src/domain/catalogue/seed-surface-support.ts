import type { z } from "zod";
import type { DecisionInterface, decisionsEntry } from "./decisions-support.ts";
import type { EmbeddingsEntry } from "./embeddings-support.ts";
import type { speechEntry } from "./speech-support.ts";
import type { TranscriptionsEntry } from "./transcriptions-support.ts";

type DecisionsEntry = z.infer<typeof decisionsEntry>;

/** Decision support of providers in the seven-file layout, which has a field for the interface only. */
const DECISIONS_BY_PROVIDER: Readonly<Record<string, DecisionsEntry>> = {
  cloudflare: {
    path: "/run/{model}",
    envelope: true,
    images: "images_field",
    images_max: 4,
    body_max_bytes: 500_000,
    questions_max: 64,
    options_max: 255,
    levels_max: 10,
    decimals: 4,
  },
  fireworks: { top_logprobs: 5 },
  perplexity: {
    path: "/decisions",
    images: "state_items",
    images_max: 8,
    image_tiles_max: 2048,
    questions_max: 128,
    options_max: 255,
    levels_max: 10,
  },
  together: { logprobs: "count" },
  typesafe: { options_max: 255, levels_max: 10, decimals: 2 },
};

/** Models that differ from their provider's default. */
const DECISIONS_BY_MODEL: Readonly<Record<string, DecisionsEntry>> = {
  "openai openai/gpt-6-luna-decisions": {
    images: "input_parts",
    questions_max: 400,
    options_max: 255,
    levels_max: 10,
    decimals: 2,
  },
};

/** Models whose reasoning cannot be disabled, so their first token is not an answer. */
const ALWAYS_REASONING_MODELS: ReadonlySet<string> = new Set(["google/gemini-2.5-pro"]);

export function seedDecisionsInterface(
  model: string,
  declared: DecisionInterface | undefined,
): DecisionInterface | undefined {
  return declared === "logprobs" && ALWAYS_REASONING_MODELS.has(model) ? undefined : declared;
}

export function seedProviderDecisions(provider: string): DecisionsEntry | undefined {
  return DECISIONS_BY_PROVIDER[provider];
}

export function seedEndpointDecisions(provider: string, model: string): DecisionsEntry | undefined {
  return DECISIONS_BY_MODEL[`${provider} ${model}`];
}

/** OpenAI-compatible servers without further documentation, with the usual default batch size. */
const OPENAI_EMBEDDINGS: EmbeddingsEntry = { interface: "openai", batch_max: 32 };

/** Embedding support of providers in the seven-file layout, which has no field for it. */
const EMBEDDINGS_BY_PROVIDER: Readonly<Record<string, EmbeddingsEntry>> = {
  cohere: { interface: "cohere", batch_max: 96, dimensions: true },
  evroc: OPENAI_EMBEDDINGS,
  "google-ai-studio": { interface: "gemini", batch_max: 100, dimensions: true },
  "google-vertex": { interface: "vertex", batch_max: 1, dimensions: true, normalize: true },
  ionos: OPENAI_EMBEDDINGS,
  mistral: { interface: "mistral", batch_max: 256, batch_tokens_max: 16_384 },
  nebius: { ...OPENAI_EMBEDDINGS, dimensions: true },
  openai: {
    interface: "openai",
    batch_max: 2048,
    batch_tokens_max: 300_000,
    tokens: true,
    dimensions: true,
    base64: true,
  },
  ovhcloud: OPENAI_EMBEDDINGS,
  privatemode: OPENAI_EMBEDDINGS,
  regolo: OPENAI_EMBEDDINGS,
  scaleway: OPENAI_EMBEDDINGS,
  stackit: OPENAI_EMBEDDINGS,
  "t-systems": OPENAI_EMBEDDINGS,
};

/** Models that differ from their provider's default. */
const EMBEDDINGS_BY_MODEL: Readonly<Record<string, EmbeddingsEntry>> = {
  "google-ai-studio google/gemini-embedding-001": {
    interface: "gemini",
    batch_max: 100,
    dimensions: true,
    normalize: true,
  },
  "mistral mistral/codestral-embed-2505": {
    interface: "mistral",
    batch_max: 256,
    batch_tokens_max: 16_384,
    dimensions: true,
  },
};

export function seedProviderEmbeddings(provider: string): EmbeddingsEntry | undefined {
  return EMBEDDINGS_BY_PROVIDER[provider];
}

export function seedEndpointEmbeddings(provider: string, model: string): EmbeddingsEntry | undefined {
  return EMBEDDINGS_BY_MODEL[`${provider} ${model}`];
}

type SpeechEntry = z.infer<typeof speechEntry>;

/** Speech support of a provider, with exceptions per model. */
type SeedProviderSpeech = { readonly default: SpeechEntry; readonly models?: Readonly<Record<string, SpeechEntry>> };

const OPENAI_SPEECH: SpeechEntry = {
  interface: "openai",
  formats: ["mp3", "opus", "aac", "flac", "wav", "pcm"],
  speed: true,
  max_input_chars: 4096,
  voices: ["alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"],
};

const GEMINI_SPEECH: SpeechEntry = {
  interface: "gemini",
  formats: ["wav", "pcm"],
  voices: [
    ...["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede", "Callirrhoe", "Autonoe"],
    ...["Enceladus", "Iapetus", "Umbriel", "Algieba", "Despina", "Erinome", "Algenib", "Rasalgethi"],
    ...["Laomedeia", "Achernar", "Alnilam", "Schedar", "Gacrux", "Pulcherrima", "Achird", "Zubenelgenubi"],
    ...["Vindemiatrix", "Sadachbia", "Sadaltager", "Sulafat"],
  ],
};

const MISTRAL_SPEECH: SpeechEntry = {
  interface: "mistral",
  formats: ["mp3", "opus", "flac", "wav", "pcm"],
  stream: true,
  pcm: "f32",
  voices: ["en_paul_neutral", "gb_jane_neutral"],
};

/** Sources: SOURCES.md beside the catalogue files. */
const SPEECH_BY_PROVIDER: Readonly<Record<string, SeedProviderSpeech>> = {
  openai: {
    default: OPENAI_SPEECH,
    models: {
      "openai/gpt-4o-mini-tts": {
        ...OPENAI_SPEECH,
        instructions: true,
        voices: [...(OPENAI_SPEECH.voices ?? []), "ballad", "verse", "marin", "cedar"],
      },
    },
  },
  "google-ai-studio": {
    default: GEMINI_SPEECH,
    models: {
      "google/gemini-3.8-flash-tts": { ...GEMINI_SPEECH, stream: true },
      "google/gemini-3.8-flash-lite-tts": { ...GEMINI_SPEECH, stream: true },
    },
  },
  mistral: { default: MISTRAL_SPEECH },
};

export function seedProviderSpeech(provider: string): SpeechEntry | undefined {
  return SPEECH_BY_PROVIDER[provider]?.default;
}

/** Undefined when the provider's default applies. */
export function seedEndpointSpeech(provider: string, model: string): SpeechEntry | undefined {
  return SPEECH_BY_PROVIDER[provider]?.models?.[model];
}

/** Sources: SOURCES.md beside the catalogue files. */
const WHISPER: TranscriptionsEntry = {
  interface: "openai",
  segments: true,
  words: true,
  parameters: ["language", "prompt", "temperature"],
};

const GPT_4O: TranscriptionsEntry = {
  interface: "openai",
  stream: true,
  parameters: ["language", "prompt", "temperature", "include", "chunking_strategy"],
  max_bytes: 26_214_400,
};

const VOXTRAL: TranscriptionsEntry = {
  interface: "mistral",
  segments: true,
  stream: true,
  seconds: true,
  parameters: ["language", "temperature"],
};

/** OpenAI-compatible without further documentation. */
const OPENAI_TRANSCRIPTIONS: TranscriptionsEntry = { interface: "openai" };

/** By provider and upstream model. Models that are not listed are not callable. */
const TRANSCRIPTIONS_BY_PROVIDER: Readonly<Record<string, Readonly<Record<string, TranscriptionsEntry>>>> = {
  openai: {
    "whisper-1": { ...WHISPER, seconds: true, max_bytes: 26_214_400 },
    "gpt-4o-transcribe": GPT_4O,
    "gpt-4o-mini-transcribe": GPT_4O,
    "gpt-transcribe": {
      interface: "openai",
      stream: true,
      parameters: ["language", "languages", "keywords", "prompt", "temperature"],
      max_bytes: 26_214_400,
    },
  },
  groq: { "whisper-large-v3": WHISPER, "whisper-large-v3-turbo": WHISPER },
  mistral: {
    "voxtral-mini-2602": VOXTRAL,
    "voxtral-mini-transcribe-3-0": VOXTRAL,
    "voxtral-small-transcribe-3-0": VOXTRAL,
    "voxtral-small-2507": VOXTRAL,
  },
  scaleway: {
    "whisper-large-v3": { ...OPENAI_TRANSCRIPTIONS, parameters: ["language", "temperature"], max_bytes: 26_214_400 },
    "voxtral-small-24b-2507": { ...OPENAI_TRANSCRIPTIONS, max_bytes: 26_214_400 },
  },
  evroc: {
    "KBLab/kb-whisper-large": OPENAI_TRANSCRIPTIONS,
    "mistralai/Voxtral-Small-24B-2507": OPENAI_TRANSCRIPTIONS,
    "openai/whisper-large-v3": OPENAI_TRANSCRIPTIONS,
    "openai/whisper-large-v3-turbo": OPENAI_TRANSCRIPTIONS,
  },
  ovhcloud: { "whisper-large-v3": OPENAI_TRANSCRIPTIONS, "whisper-large-v3-turbo": OPENAI_TRANSCRIPTIONS },
};

export function seedEndpointTranscriptions(provider: string, upstreamModel: string): TranscriptionsEntry | undefined {
  const models = TRANSCRIPTIONS_BY_PROVIDER[provider];
  return models !== undefined && Object.hasOwn(models, upstreamModel) ? models[upstreamModel] : undefined;
}
