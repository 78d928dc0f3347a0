import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { TranscriptionSupport } from "../../domain/catalogue/transcriptions-support.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { tokensOfWeight, weightOf } from "../../language/canon/tokens.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { omittedMembers } from "../../language/dialects/reply-members.ts";
import { needsSegments, needsWords, type TranscriptionCall } from "../../language/transcriptions/call.ts";
import { billableSeconds, implausibleUsage, type MeasuredAudio } from "../../language/transcriptions/duration.ts";
import { renderTranscript, renderUsage, transcriptContentType } from "../../language/transcriptions/render.ts";
import type { Transcript } from "../../language/transcriptions/reply.ts";
import { TranscriptStream } from "../../language/transcriptions/stream.ts";
import { buildMultipartBody, type MultipartFile } from "./multipart-body.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

/** A parameter that the endpoint does not accept together with the timestamps that the response format needs. */
export function timestampConflict(facts: TranscriptionSupport, ask: TranscriptionCall): string | undefined {
  if (!needsSegments(ask)) return undefined;
  return UPSTREAM_ADAPTERS.transcriptions[facts.interface].incompatibleWithTimestamps.find((name) =>
    Object.hasOwn(ask.parameters, name),
  );
}

/** Whether the response of the endpoint will contain the duration of the audio. */
export function reportsSeconds(facts: TranscriptionSupport, ask: TranscriptionCall): boolean {
  return (
    facts.seconds ||
    (UPSTREAM_ADAPTERS.transcriptions[facts.interface].timestampsImplyDuration &&
      responseKindFor(ask, "seconds", facts) === "timed")
  );
}

export type TranscriptionInput = {
  readonly call: TranscriptionCall;
  readonly file: MultipartFile & MeasuredAudio;
  readonly billedBy: "seconds" | "tokens";
};

/** Every attempt reads the file from the start. */
export function transcriptionsAdapter(
  { call, file, billedBy }: TranscriptionInput,
  { upstreamModel }: Pick<Endpoint, "upstreamModel">,
  facts: TranscriptionSupport,
): UpstreamAdapter {
  const wire = UPSTREAM_ADAPTERS.transcriptions[facts.interface];
  const { headers, body } = buildMultipartBody(
    wire.encode(call, upstreamModel, responseKindFor(call, billedBy, facts)),
    file,
  );
  return {
    surface: null,
    path: wire.path,
    auth: "bearer",
    headers,
    streamContentType: "text/event-stream",
    keepAliveFrame: ": keep-alive\n\n",
    effort: undefined,
    maxUsage: () => implausibleUsage(file, String(call.parameters.prompt ?? "")),
    encode: () => body,
    decodeResponse(source) {
      const body = JsonDocument.of(source).value;
      const transcript = wire.decode(body);
      if (transcript === undefined) return undefined;
      const reply = replyOf(transcript, { call, file, billedBy });
      return "unusable" in reply ? reply : { ...reply, omitted: omittedMembers(body, wire.reply(call.format)) };
    },
    openFrameReader: (max) => new SseReader(max),
    openReplyStream: () => new TranscriptStream(wire, billedBy, file),
    decodeProblem: wire.decodeProblem,
  };
}

/** Also `timed` if seconds are billed and only a response with timestamps contains them. */
function responseKindFor(
  ask: TranscriptionCall,
  billedBy: TranscriptionInput["billedBy"],
  facts: TranscriptionSupport,
): "plain" | "timed" {
  if (needsSegments(ask)) return "timed";
  const isKnown = billedBy === "tokens" || facts.seconds || !facts.segments;
  // Providers reject timestamps together with streaming or `include`.
  return isKnown || ask.isStreaming || ask.parameters.include !== undefined ? "plain" : "timed";
}

function replyOf(transcript: Transcript, { call, file, billedBy }: TranscriptionInput): WholeReply | UnusableReply {
  const missing = missingTimestamps(transcript, call);
  if (missing !== undefined) return { unusable: missing };
  const { usage, segments, text } = transcript;
  const weight = weightOf(text);
  const visible = { endSeconds: segments?.at(-1)?.end ?? 0, tokens: tokensOfWeight(weight) };
  const seconds = billableSeconds(usage.seconds, file, visible);
  if (billedBy === "seconds" && seconds === undefined) return { unusable: "the audio duration is not reported" };
  const bySeconds = billedBy === "seconds" && seconds !== undefined;
  return {
    usage: bySeconds ? NO_TOKENS : usage.tokens,
    upstreamId: null,
    outputWeight: bySeconds ? 0 : weight,
    units: bySeconds ? { seconds } : undefined,
    detail: seconds === undefined ? undefined : { seconds },
    contentType: transcriptContentType(call.format),
    render: (counted, visible) =>
      renderTranscript(
        transcript,
        call,
        seconds,
        renderUsage(bySeconds ? { by: "seconds", seconds } : { by: "tokens" }, counted, visible),
      ),
  };
}

/** Requested timestamps that are missing, without content. */
function missingTimestamps({ text, segments, words }: Transcript, ask: TranscriptionCall): string | undefined {
  const isSilent = text.trim() === "";
  if (needsWords(ask) && (words === undefined || (words.length === 0 && !isSilent))) return "no word timestamps";
  const wordsAlone = ask.format === "verbose_json" && needsWords(ask) && !ask.granularities.includes("segment");
  if (!needsSegments(ask) || wordsAlone) return undefined;
  return segments === undefined || (segments.length === 0 && !isSilent) ? "no segment timestamps" : undefined;
}
