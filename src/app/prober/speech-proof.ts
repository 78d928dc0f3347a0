import { speechFormats, speechUnit } from "../../domain/billing/speech-price.ts";
import { speechLane } from "../../io/upstream/speech-lane.ts";
import { adtsMeter } from "../../language/audio/adts.ts";
import { couldBeFormat, SNIFF_BYTES } from "../../language/audio/format-sniffer.ts";
import { speechMeter } from "../../language/audio/speech-meter.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget, provenFinding } from "./probe.ts";

const WORDS = "This is a short test of speech.";

/** Nobody says that in less. */
const SECONDS_MIN = 0.3;

/** A short text in the first format that the endpoint can be asked for: audio must come back, and last. */
export async function proveSpeech({ endpoint, price }: ProbeTarget, ask: ProbeCall): Promise<ProbeFinding> {
  const { speech: facts } = endpoint;
  const [format] = facts === null ? [] : speechFormats(facts, price);
  const [voice] = facts?.voices ?? [];
  if (facts === null || format === undefined) return failedFinding("it names no format that it could be asked for");
  if (voice === undefined) return failedFinding("it names no voice that it could be asked for");
  const unit = speechUnit(price);
  const meter = format === "aac" ? adtsMeter() : speechMeter(format);
  let head = Buffer.alloc(0);
  const heard = (bytes: Buffer) => {
    if (head.length < SNIFF_BYTES) head = Buffer.concat([head, bytes.subarray(0, SNIFF_BYTES)]);
    meter?.push(bytes);
  };
  const asked = await ask(speechLane({ input: WORDS, voice, format }, { endpoint, facts, unit }), heard);
  if (asked.is === "failed") return failedFinding(asked.why);
  if (asked.is === "whole") return failedFinding("it answered without audio");
  const seconds = meter?.seconds() ?? 0;
  const { usage } = asked.stream;
  // By another unit than tokens a provider need not tell any.
  const told = usage === undefined || usage.inputTokens + usage.outputTokens === 0 ? undefined : usage;
  const used = {
    inputTokens: told?.inputTokens ?? null,
    outputTokens: told?.outputTokens ?? null,
    audioMs: Math.round(seconds * 1000),
  };
  if (head.length === 0 || !couldBeFormat(format, head))
    return failedFinding(`what came is not audio in ${format}`, used);
  if (seconds < SECONDS_MIN) return failedFinding(`its audio lasts ${seconds.toFixed(2)} s`, used);
  // Where tokens are the price, there is nothing else to bill by.
  if (unit === "tokens" && usage === undefined) return failedFinding("it does not report what it used", used);
  return provenFinding(`${seconds.toFixed(1)} s of audio in ${format}`, used);
}
