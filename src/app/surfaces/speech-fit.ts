import { fault } from "../../contract/faults.ts";
import { speechFormats } from "../../domain/billing/speech.ts";
import { type Endpoint, priceAt } from "../../domain/catalogue/catalogue.ts";
import { AUDIO_FORMATS, type AudioFormat, type SpeechFacts } from "../../domain/catalogue/facts-speech.ts";
import type { Shortcoming } from "../../domain/routing/capability.ts";
import type { SpeechAsk } from "../../language/speech/ask.ts";

/** What is asked of an endpoint that speaks. */
export type SpeechWanted = {
  readonly ask: SpeechAsk;
  readonly characters: number;
  readonly nowMs: number;
  /** All that can be called of a model. */
  readonly callable: (modelId: string) => readonly { readonly endpoint: Endpoint }[];
};

/** An endpoint that speaks, and the formats that it can be asked for now. */
export type Speaker = {
  readonly endpoint: Endpoint;
  readonly facts: SpeechFacts;
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
export function speechShortcoming(endpoint: Endpoint, wanted: SpeechWanted): Shortcoming | undefined {
  const { nowMs, callable } = wanted;
  const speaker = speakerOf(endpoint, nowMs);
  if (speaker === undefined) return { reason: "does not speak", param: "model" };
  const siblings = () => callable(endpoint.model).flatMap((one) => speakerOf(one.endpoint, nowMs) ?? []);
  return (
    formatShort(speaker, wanted, siblings) ??
    settingShort(speaker, wanted, siblings) ??
    tooLong(speaker, wanted, siblings)
  );
}

type Siblings = () => readonly Speaker[];

function formatShort(
  { endpoint, formats }: Speaker,
  { ask }: SpeechWanted,
  siblings: Siblings,
): Shortcoming | undefined {
  const { format } = ask;
  if (formats.includes(format)) return undefined;
  const served = AUDIO_FORMATS.filter((one) => siblings().some((sibling) => sibling.formats.includes(one)));
  const those = served.includes(format)
    ? `only by endpoints that cannot do the rest of this request`
    : `by none of its endpoints. Formats that work: ${served.join(", ")}`;
  const unsaid = format === "mp3" ? " (mp3 is meant where no response_format is sent)" : "";
  return {
    reason: `does not serve ${format}`,
    param: "response_format",
    fault: fault("speech_format_not_supported", {
      message: `${endpoint.model}: the format ${format}${unsaid} is served ${those}.`,
      param: "response_format",
    }),
  };
}

const SETTINGS = ["speed", "instructions"] as const;

function settingShort(
  { endpoint, facts }: Speaker,
  { ask }: SpeechWanted,
  siblings: Siblings,
): Shortcoming | undefined {
  const setting = SETTINGS.find((name) => ask[name] !== undefined && !facts[name]);
  if (setting === undefined) return undefined;
  const others = siblings().some((sibling) => sibling.facts[setting]);
  const why = others ? "only by endpoints that cannot do the rest of this request" : "by none of its endpoints";
  return {
    reason: `does not take ${setting}`,
    param: setting,
    fault: fault("unsupported_parameter", {
      message: `${endpoint.model}: ${setting} is taken ${why}. Leave it out or choose another model.`,
      param: setting,
    }),
  };
}

function tooLong(
  { endpoint, facts }: Speaker,
  { characters }: SpeechWanted,
  siblings: Siblings,
): Shortcoming | undefined {
  const { maxInputChars } = facts;
  if (maxInputChars === null || characters <= maxInputChars) return undefined;
  const most = Math.max(maxInputChars, ...siblings().map((sibling) => sibling.facts.maxInputChars ?? 0));
  const limit = most >= characters ? maxInputChars : most;
  return {
    reason: `takes at most ${maxInputChars} characters, the text has ${characters}`,
    param: "input",
    fault: fault("speech_input_too_long", {
      message: `The text has ${characters} characters, and ${endpoint.model} takes at most ${limit}. Send it in parts.`,
      param: "input",
    }),
  };
}
