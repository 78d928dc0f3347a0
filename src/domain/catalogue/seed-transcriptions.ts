import type { TranscriptionsEntry } from "./transcriptions-support.ts";

/** Where these were read: SOURCES.md beside the catalogue's files. */
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

/** What is known of it is that it follows OpenAI's format, and no more. */
const OPENAI_COMPATIBLE: TranscriptionsEntry = { interface: "openai" };

/** By provider, and by the name that the provider knows a model by. What is not here cannot be asked. */
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
    "whisper-large-v3": { ...OPENAI_COMPATIBLE, parameters: ["language", "temperature"], max_bytes: 26_214_400 },
    "voxtral-small-24b-2507": { ...OPENAI_COMPATIBLE, max_bytes: 26_214_400 },
  },
  evroc: {
    "KBLab/kb-whisper-large": OPENAI_COMPATIBLE,
    "mistralai/Voxtral-Small-24B-2507": OPENAI_COMPATIBLE,
    "openai/whisper-large-v3": OPENAI_COMPATIBLE,
    "openai/whisper-large-v3-turbo": OPENAI_COMPATIBLE,
  },
  ovhcloud: { "whisper-large-v3": OPENAI_COMPATIBLE, "whisper-large-v3-turbo": OPENAI_COMPATIBLE },
};

/** How an endpoint of the seed is asked for transcripts: the seed itself does not say. */
export function seedEndpointTranscriptions(provider: string, upstreamModel: string): TranscriptionsEntry | undefined {
  const models = TRANSCRIPTIONS_BY_PROVIDER[provider];
  return models !== undefined && Object.hasOwn(models, upstreamModel) ? models[upstreamModel] : undefined;
}
