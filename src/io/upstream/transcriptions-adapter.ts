import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { TranscriptionSupport } from "../../domain/catalogue/transcriptions-support.ts";
import { tryParseJson } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import { tokensOfWeight, weightOf } from "../../language/canon/estimate.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { needsSegments, needsWords, type TranscriptionCall } from "../../language/transcriptions/call.ts";
import { billableSeconds, implausibleUsage, type MeasuredAudio } from "../../language/transcriptions/duration.ts";
import { mistralTranscriptions } from "../../language/transcriptions/mistral.ts";
import { openaiTranscriptions } from "../../language/transcriptions/openai.ts";
import { renderTranscript, renderUsage, transcriptContentType } from "../../language/transcriptions/render.ts";
import type { Transcript } from "../../language/transcriptions/reply.ts";
import { TranscriptStream } from "../../language/transcriptions/stream.ts";
import type { TranscriptionWireFormat } from "../../language/transcriptions/wire-format.ts";
import { buildMultipartBody, type MultipartFile } from "./multipart-body.ts";
import { NO_DROPPED_FIELDS, type UpstreamAdapter } from "./upstream-adapter.ts";

const WIRES: Readonly<Record<TranscriptionSupport["interface"], TranscriptionWireFormat>> = {
  openai: openaiTranscriptions,
  mistral: mistralTranscriptions,
};

/** A parameter that the endpoint cannot be told together with the times that the format is made of. */
export function timestampConflict(facts: TranscriptionSupport, ask: TranscriptionCall): string | undefined {
  if (!needsSegments(ask)) return undefined;
  return WIRES[facts.interface].incompatibleWithTimestamps.find((name) => Object.hasOwn(ask.parameters, name));
}

/** Whether the answer that the endpoint will be asked for says how long the audio was. */
export function reportsSeconds(facts: TranscriptionSupport, ask: TranscriptionCall): boolean {
  return (
    facts.seconds || (WIRES[facts.interface].timestampsImplyDuration && answerFor(ask, "seconds", facts) === "timed")
  );
}

/** What a transcript is made from, and by what it is billed at this endpoint. */
export type TranscriptionInput = {
  readonly ask: TranscriptionCall;
  readonly file: MultipartFile & MeasuredAudio;
  readonly billedBy: "seconds" | "tokens";
};

/** The way to an endpoint that listens. The file is read again from its beginning by every attempt. */
export function transcriptionsAdapter(
  { ask, file, billedBy }: TranscriptionInput,
  { upstreamModel }: Pick<Endpoint, "upstreamModel">,
  facts: TranscriptionSupport,
): UpstreamAdapter {
  const wire = WIRES[facts.interface];
  const { headers, body } = buildMultipartBody(wire.encode(ask, upstreamModel, answerFor(ask, billedBy, facts)), file);
  return {
    surface: null,
    path: wire.path,
    auth: "bearer",
    headers,
    streamContentType: "text/event-stream",
    keepAliveFrame: ": keep-alive\n\n",
    effort: undefined,
    droppedFields: NO_DROPPED_FIELDS,
    maxUsage: () => implausibleUsage(file, String(ask.parameters.prompt ?? "")),
    encode: () => body,
    decodeResponse(bytes) {
      const transcript = wire.decode(tryParseJson(bytes));
      return transcript === undefined ? undefined : answerOf(transcript, { ask, file, billedBy });
    },
    openFrameReader: (max) => new SseReader(max),
    openReplyStream: () => new TranscriptStream(wire, billedBy, file),
    decodeProblem: wire.decodeProblem,
  };
}

/** Timed also where seconds are billed and only an answer with times says how many there were. */
function answerFor(
  ask: TranscriptionCall,
  billedBy: TranscriptionInput["billedBy"],
  facts: TranscriptionSupport,
): "plain" | "timed" {
  if (needsSegments(ask)) return "timed";
  const isTold = billedBy === "tokens" || facts.seconds || !facts.segments;
  // Neither a stream nor what is included goes together with times.
  return isTold || ask.isStreaming || ask.parameters.include !== undefined ? "plain" : "timed";
}

function answerOf(transcript: Transcript, { ask, file, billedBy }: TranscriptionInput): WholeReply | UnusableReply {
  const missing = missingIn(transcript, ask);
  if (missing !== undefined) return { unusable: missing };
  const { usage, segments, text } = transcript;
  const weight = weightOf(text);
  const shown = { endSeconds: segments?.at(-1)?.end ?? 0, tokens: tokensOfWeight(weight) };
  const seconds = billableSeconds(usage.seconds, file, shown);
  if (billedBy === "seconds" && seconds === undefined) return { unusable: "it does not say how long the audio was" };
  const bySeconds = billedBy === "seconds" && seconds !== undefined;
  return {
    usage: bySeconds ? NO_TOKENS : usage.tokens,
    upstreamId: null,
    outputWeight: bySeconds ? 0 : weight,
    units: bySeconds ? { seconds } : undefined,
    detail: seconds === undefined ? undefined : { seconds },
    contentType: transcriptContentType(ask.format),
    render: (counted, shown) =>
      renderTranscript(
        transcript,
        ask,
        seconds,
        renderUsage(bySeconds ? { by: "seconds", seconds } : { by: "tokens" }, counted, shown),
      ),
  };
}

/** Times that were asked for and did not come, in words without content. */
function missingIn({ text, segments, words }: Transcript, ask: TranscriptionCall): string | undefined {
  const isSilent = text.trim() === "";
  if (needsWords(ask) && (words === undefined || (words.length === 0 && !isSilent))) return "no times of words";
  const wordsAlone = ask.format === "verbose_json" && needsWords(ask) && !ask.granularities.includes("segment");
  if (!needsSegments(ask) || wordsAlone) return undefined;
  return segments === undefined || (segments.length === 0 && !isSilent) ? "no times of segments" : undefined;
}
