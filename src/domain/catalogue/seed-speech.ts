import type { z } from "zod";
import type { speechEntry } from "./speech-support.ts";

type SpeechEntry = z.infer<typeof speechEntry>;

/** What is known of the speech of a provider: the same for all its models, but where a model says otherwise. */
type SeedProviderSpeech = { readonly default: SpeechEntry; readonly models?: Readonly<Record<string, SpeechEntry>> };

const openai: SpeechEntry = {
  interface: "openai",
  formats: ["mp3", "opus", "aac", "flac", "wav", "pcm"],
  speed: true,
  max_input_chars: 4096,
  voices: ["alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"],
};

const gemini: SpeechEntry = {
  interface: "gemini",
  formats: ["wav", "pcm"],
  voices: [
    ...["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede", "Callirrhoe", "Autonoe"],
    ...["Enceladus", "Iapetus", "Umbriel", "Algieba", "Despina", "Erinome", "Algenib", "Rasalgethi"],
    ...["Laomedeia", "Achernar", "Alnilam", "Schedar", "Gacrux", "Pulcherrima", "Achird", "Zubenelgenubi"],
    ...["Vindemiatrix", "Sadachbia", "Sadaltager", "Sulafat"],
  ],
};

const mistral: SpeechEntry = {
  interface: "mistral",
  formats: ["mp3", "opus", "flac", "wav", "pcm"],
  stream: true,
  pcm: "f32",
  voices: ["en_paul_neutral", "gb_jane_neutral"],
};

/** How the providers of the seed are asked for speech; where each line is from stands in the catalogue's SOURCES.md. */
const SPEECH_BY_PROVIDER: Readonly<Record<string, SeedProviderSpeech>> = {
  openai: {
    default: openai,
    models: {
      "openai/gpt-4o-mini-tts": {
        ...openai,
        instructions: true,
        voices: [...(openai.voices ?? []), "ballad", "verse", "marin", "cedar"],
      },
    },
  },
  "google-ai-studio": {
    default: gemini,
    models: {
      "google/gemini-3.8-flash-tts": { ...gemini, stream: true },
      "google/gemini-3.8-flash-lite-tts": { ...gemini, stream: true },
    },
  },
  mistral: { default: mistral },
};

export function seedProviderSpeech(provider: string): SpeechEntry | undefined {
  return SPEECH_BY_PROVIDER[provider]?.default;
}

/** Only where it differs from its provider's. */
export function seedEndpointSpeech(provider: string, model: string): SpeechEntry | undefined {
  return SPEECH_BY_PROVIDER[provider]?.models?.[model];
}
