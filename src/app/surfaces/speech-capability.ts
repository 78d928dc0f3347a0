import { type Fault, fault } from "../../contract/faults.ts";
import { speechFormats } from "../../domain/billing/speech-price.ts";
import { type Endpoint, priceAt } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS, type AudioFormat, type SpeechSupport } from "../../domain/catalogue/speech-support.ts";
import type { MissingCapability } from "../../domain/routing/capability.ts";
import type { SpeechCall } from "../../language/speech/call.ts";

/** What is asked of an endpoint that speaks. */
export type SpeechWanted = {
  readonly ask: SpeechCall;
  readonly characters: number;
  readonly nowMs: number;
  /** All that can be called of a model. */
  readonly callable: (modelId: string) => readonly { readonly endpoint: Endpoint }[];
};

/** An endpoint that speaks, and the formats that it can be asked for now. */
export type Speaker = {
  readonly endpoint: Endpoint;
  readonly facts: SpeechSupport;
  readonly formats: readonly AudioFormat[];
};

/** Undefined: it does not speak, or nobody knows its price. */
export function speakerOf(endpoint: Endpoint, nowMs: number): Speaker | undefined {
  const { speech: facts } = endpoint;
  const price = facts === null ? undefined : priceAt(endpoint, nowMs);
  if (facts === null || price === undefined) return undefined;
  return { endpoint, facts, formats: speechFormats(facts, price) };
}

/** The first thing of a speech that an endpoint cannot do, with what a caller hears when none of the model's can. */
export function speechShortcoming(endpoint: Endpoint, wanted: SpeechWanted): MissingCapability | undefined {
  const { nowMs, callable } = wanted;
  const speaker = speakerOf(endpoint, nowMs);
  if (speaker === undefined) return { reason: "does not speak", param: "model" };
  const short = SIEVE.find(({ takes }) => !takes(speaker, wanted));
  if (short === undefined) return undefined;
  const siblings = callable(endpoint.model).flatMap((one) => speakerOf(one.endpoint, nowMs) ?? []);
  const fault = refusal(endpoint.model, siblings, wanted);
  return { reason: short.reason(speaker, wanted), param: short.param, ...(fault === undefined ? {} : { fault }) };
}

/** What leaves none of them is what the caller is told: not what the first of them happens to lack. */
function refusal(model: string, speakers: readonly Speaker[], wanted: SpeechWanted): Fault | undefined {
  let left = speakers;
  for (const { takes, fault } of SIEVE) {
    const taking = left.filter((speaker) => takes(speaker, wanted));
    if (taking.length === 0) return fault({ model, speakers, left, wanted });
    left = taking;
  }
  return undefined;
}

type Emptied = {
  readonly model: string;
  /** All of the model's, and those that came so far. */
  readonly speakers: readonly Speaker[];
  readonly left: readonly Speaker[];
  readonly wanted: SpeechWanted;
};

type Mesh = {
  readonly param: string;
  takes(speaker: Speaker, wanted: SpeechWanted): boolean;
  reason(speaker: Speaker, wanted: SpeechWanted): string;
  fault(emptied: Emptied): Fault;
};

const FORMAT: Mesh = {
  param: "response_format",
  takes: ({ formats }, { ask }) => formats.includes(ask.format),
  reason: (_speaker, { ask }) => `does not serve ${ask.format}`,
  fault({ model, speakers, wanted: { ask } }) {
    const served = AUDIO_FORMATS.filter((format) => speakers.some(({ formats }) => formats.includes(format)));
    const unsaid = ask.format === "mp3" ? " (which is meant where no response_format is sent)" : "";
    return fault("speech_format_not_supported", {
      message: `No endpoint of ${model} serves the format ${ask.format}${unsaid}. Formats that work: ${served.join(", ")}.`,
      param: "response_format",
    });
  },
};

function settingMesh(setting: "speed" | "instructions"): Mesh {
  return {
    param: setting,
    takes: ({ facts }, { ask }) => ask[setting] === undefined || facts[setting],
    reason: () => `does not take ${setting}`,
    fault({ model, speakers, wanted: { ask } }) {
      const others = speakers.some(({ facts }) => facts[setting]);
      const who = others ? `No endpoint of ${model} that serves ${ask.format}` : `No endpoint of ${model}`;
      return fault("unsupported_parameter", {
        message: `${who} takes ${setting}. Leave it out or choose another model.`,
        param: setting,
      });
    },
  };
}

const LENGTH: Mesh = {
  param: "input",
  takes: ({ facts }, { characters }) => characters <= (facts.maxInputChars ?? Number.POSITIVE_INFINITY),
  reason: ({ facts }, { characters }) => `takes at most ${facts.maxInputChars} characters, the text has ${characters}`,
  fault({ model, left, wanted: { characters } }) {
    const limit = Math.max(...left.map(({ facts }) => facts.maxInputChars ?? 0));
    return fault("speech_input_too_long", {
      message: `The text has ${characters} characters, and ${model} takes at most ${limit}. Send it in parts.`,
      param: "input",
    });
  },
};

const SIEVE: readonly Mesh[] = [FORMAT, settingMesh("speed"), settingMesh("instructions"), LENGTH];
