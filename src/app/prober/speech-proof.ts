import { speechFormats, speechUnit } from "../../domain/billing/speech-price.ts";
import { speechAdapter } from "../../io/upstream/speech-adapter.ts";
import { adtsMeter } from "../../language/audio/adts.ts";
import { couldBeFormat, SNIFF_BYTES } from "../../language/audio/format-sniffer.ts";
import { speechMeter } from "../../language/audio/speech-meter.ts";
import { failedFinding, type ProbeCall, type ProbeFinding, type ProbeTarget, provenFinding } from "./probe.ts";

const INPUT = "This is a short test of speech.";

/** Minimum duration of the spoken input. */
const SECONDS_MIN = 0.3;

/** Requests a short text in the endpoint's first format; the response must be audio of a plausible duration. */
export async function proveSpeech({ endpoint, price }: ProbeTarget, call: ProbeCall): Promise<ProbeFinding> {
  const { speech: support } = endpoint;
  const [format] = support === null ? [] : speechFormats(support, price);
  const [voice] = support?.voices ?? [];
  if (support === null || format === undefined) return failedFinding("it lists no format to request");
  if (voice === undefined) return failedFinding("it lists no voice to request");
  const unit = speechUnit(price);
  const meter = format === "aac" ? adtsMeter() : speechMeter(format);
  let head = Buffer.alloc(0);
  const onBytes = (bytes: Buffer) => {
    if (head.length < SNIFF_BYTES) head = Buffer.concat([head, bytes.subarray(0, SNIFF_BYTES)]);
    meter?.push(bytes);
  };
  const result = await call(speechAdapter({ input: INPUT, voice, format }, { endpoint, support, unit }), onBytes);
  if (result.is === "failed") return failedFinding(result.why);
  if (result.is === "whole") return failedFinding("it responded without audio");
  const seconds = meter?.seconds() ?? 0;
  const { usage } = result.stream;
  // A provider that bills by another unit need not report tokens.
  const reported = usage === undefined || usage.inputTokens + usage.outputTokens === 0 ? undefined : usage;
  const used = {
    inputTokens: reported?.inputTokens ?? null,
    outputTokens: reported?.outputTokens ?? null,
    audioMs: Math.round(seconds * 1000),
  };
  if (head.length === 0 || !couldBeFormat(format, head))
    return failedFinding(`the response is not audio in ${format}`, used);
  if (seconds < SECONDS_MIN) return failedFinding(`its audio lasts ${seconds.toFixed(2)} s`, used);
  // A price per token needs reported usage.
  if (unit === "tokens" && usage === undefined) return failedFinding("it does not report usage", used);
  return provenFinding(`${seconds.toFixed(1)} s of audio in ${format}`, used);
}
