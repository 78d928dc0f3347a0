import type { ModelObject } from "../../contract/schemas/models.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS } from "../../domain/catalogue/speech-support.ts";
import { unique } from "./catalogue-views.ts";
import { type Speaker, speakerOf } from "./speech-capability.ts";

type SpeechView = Pick<ModelObject, "svc_max_input_chars" | "svc_voices" | "svc_speech_params">;

/** What a model object says of speech: before anyone asks, which settings all, some or none of its endpoints take. */
export function speechView(endpoints: readonly Endpoint[], nowMs: number): SpeechView {
  const speakers = endpoints.flatMap((endpoint) => speakerOf(endpoint, nowMs) ?? []);
  const takenBy = (takes: (speaker: Speaker) => boolean) => {
    const taking = speakers.filter(takes).length;
    return taking === 0 ? "none" : taking === speakers.length ? "all" : "some";
  };
  return {
    ...limitOf(speakers),
    svc_voices: unique(speakers.flatMap(({ facts }) => facts.voices)),
    svc_speech_params: {
      ...Object.fromEntries(
        AUDIO_FORMATS.map((format) => [format, takenBy(({ formats }) => formats.includes(format))] as const),
      ),
      speed: takenBy(({ facts }) => facts.speed),
      instructions: takenBy(({ facts }) => facts.instructions),
    },
  };
}

/** The longest text that anyone takes; where one states no limit, there is none to be told. */
function limitOf(speakers: readonly Speaker[]): Pick<SpeechView, "svc_max_input_chars"> {
  const limits = speakers.map(({ facts }) => facts.maxInputChars);
  const stated = limits.filter((limit) => limit !== null);
  return stated.length === 0 || stated.length < limits.length ? {} : { svc_max_input_chars: Math.max(...stated) };
}
