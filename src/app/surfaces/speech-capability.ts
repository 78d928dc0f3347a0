import { type Fault, fault } from "../../contract/faults.ts";
import { speechFormats } from "../../domain/billing/speech-price.ts";
import { type Endpoint, priceAt } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS, type SpeechSupport } from "../../domain/catalogue/speech-support.ts";
import type { MissingCapability } from "../../domain/routing/requirements.ts";
import type { AudioFormat } from "../../language/audio/meter.ts";
import type { SpeechCall } from "../../language/speech/call.ts";

export type SpeechRequirements = {
  readonly ask: SpeechCall;
  readonly characters: number;
  readonly nowMs: number;
};

/** A speech endpoint with the formats it serves at its current price. */
export type SpeechEndpoint = {
  readonly endpoint: Endpoint;
  readonly facts: SpeechSupport;
  readonly formats: readonly AudioFormat[];
};

/** Undefined: no speech interface, or no known price. */
export function speechEndpointOf(endpoint: Endpoint, nowMs: number): SpeechEndpoint | undefined {
  const { speech: facts } = endpoint;
  const price = facts === null ? undefined : priceAt(endpoint, nowMs);
  if (facts === null || price === undefined) return undefined;
  return { endpoint, facts, formats: speechFormats(facts, price) };
}

/** The first missing capability. */
export function missingSpeechCapability(
  endpoint: Endpoint,
  requirements: SpeechRequirements,
): MissingCapability | undefined {
  const candidate = speechEndpointOf(endpoint, requirements.nowMs);
  if (candidate === undefined) return { reason: "has no speech interface", param: "model" };
  const failed = CAPABILITY_CHECKS.find(({ takes }) => !takes(candidate, requirements));
  return failed && { reason: failed.reason(candidate, requirements), param: failed.param };
}

/** Reports the check that excludes the last of the endpoints, not the first endpoint's own problem. */
export function unfitSpeechFault(endpoints: readonly Endpoint[], requirements: SpeechRequirements): Fault | undefined {
  const candidates = endpoints.flatMap((endpoint) => speechEndpointOf(endpoint, requirements.nowMs) ?? []);
  const [first] = candidates;
  if (first === undefined) return undefined;
  const { model } = first.endpoint;
  let remaining = candidates;
  for (const { takes, fault } of CAPABILITY_CHECKS) {
    const passing = remaining.filter((candidate) => takes(candidate, requirements));
    if (passing.length === 0) return fault({ model, candidates, remaining, requirements });
    remaining = passing;
  }
  return undefined;
}

type FailedCheck = {
  readonly model: string;
  /** The speech endpoints of the model that policy allows, and those that passed the earlier checks. */
  readonly candidates: readonly SpeechEndpoint[];
  readonly remaining: readonly SpeechEndpoint[];
  readonly requirements: SpeechRequirements;
};

type CapabilityCheck = {
  readonly param: string;
  takes(candidate: SpeechEndpoint, requirements: SpeechRequirements): boolean;
  reason(candidate: SpeechEndpoint, requirements: SpeechRequirements): string;
  fault(check: FailedCheck): Fault;
};

const FORMAT_CHECK: CapabilityCheck = {
  param: "response_format",
  takes: ({ formats }, { ask }) => formats.includes(ask.format),
  reason: (_candidate, { ask }) => `does not support the format ${ask.format}`,
  fault({ model, candidates, requirements: { ask } }) {
    const served = AUDIO_FORMATS.filter((format) => candidates.some(({ formats }) => formats.includes(format)));
    const defaultNote = ask.format === "mp3" ? " (the default response_format)" : "";
    return fault("speech_format_not_supported", {
      message: `No endpoint of ${model} supports the format ${ask.format}${defaultNote}. Supported formats: ${served.join(", ")}.`,
      param: "response_format",
    });
  },
};

function settingCheck(setting: "speed" | "instructions"): CapabilityCheck {
  return {
    param: setting,
    takes: ({ facts }, { ask }) => ask[setting] === undefined || facts[setting],
    reason: () => `does not support ${setting}`,
    fault({ model, candidates, requirements: { ask } }) {
      const existsElsewhere = candidates.some(({ facts }) => facts[setting]);
      const subject = existsElsewhere
        ? `No endpoint of ${model} with the format ${ask.format}`
        : `No endpoint of ${model}`;
      return fault("unsupported_parameter", {
        message: `${subject} supports ${setting}. Omit it, or use another model.`,
        param: setting,
      });
    },
  };
}

const LENGTH_CHECK: CapabilityCheck = {
  param: "input",
  takes: ({ facts }, { characters }) => characters <= (facts.maxInputChars ?? Number.POSITIVE_INFINITY),
  reason: ({ facts }, { characters }) =>
    `supports at most ${facts.maxInputChars} characters, the text has ${characters}`,
  fault({ model, remaining, requirements: { characters } }) {
    const limit = Math.max(...remaining.map(({ facts }) => facts.maxInputChars ?? 0));
    return fault("speech_input_too_long", {
      message: `The text has ${characters} characters, but ${model} supports at most ${limit}. Send it in parts.`,
      param: "input",
    });
  },
};

const CAPABILITY_CHECKS: readonly CapabilityCheck[] = [
  FORMAT_CHECK,
  settingCheck("speed"),
  settingCheck("instructions"),
  LENGTH_CHECK,
];
