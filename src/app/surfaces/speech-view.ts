import type { ModelObject } from "../../contract/schemas/models.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS } from "../../domain/catalogue/speech-support.ts";
import { unique } from "./catalogue-views.ts";
import { type SpeechEndpoint, speechEndpointOf } from "./speech-capability.ts";

type SpeechView = Pick<ModelObject, "svc_max_input_chars" | "svc_voices" | "svc_speech_params">;

/** Speech fields of a model object: whether all, some or none of its endpoints support each setting. */
export function speechView(endpoints: readonly Endpoint[], nowMs: number): SpeechView {
  const candidates = endpoints.flatMap((endpoint) => speechEndpointOf(endpoint, nowMs) ?? []);
  const supportedBy = (takes: (candidate: SpeechEndpoint) => boolean) => {
    const supporting = candidates.filter(takes).length;
    return supporting === 0 ? "none" : supporting === candidates.length ? "all" : "some";
  };
  return {
    ...limitOf(candidates),
    svc_voices: unique(candidates.flatMap(({ facts }) => facts.voices)),
    svc_speech_params: {
      ...Object.fromEntries(
        AUDIO_FORMATS.map((format) => [format, supportedBy(({ formats }) => formats.includes(format))] as const),
      ),
      speed: supportedBy(({ facts }) => facts.speed),
      instructions: supportedBy(({ facts }) => facts.instructions),
    },
  };
}

/** The largest input limit; absent when an endpoint declares none. */
function limitOf(candidates: readonly SpeechEndpoint[]): Pick<SpeechView, "svc_max_input_chars"> {
  const limits = candidates.map(({ facts }) => facts.maxInputChars);
  const stated = limits.filter((limit) => limit !== null);
  return stated.length === 0 || stated.length < limits.length ? {} : { svc_max_input_chars: Math.max(...stated) };
}
