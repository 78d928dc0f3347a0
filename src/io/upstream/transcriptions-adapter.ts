import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { TranscriptionSupport } from "../../domain/catalogue/transcriptions-support.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { OversizedTextError, TEXT_LIMITS, type TextLimits } from "../../kit/json-size.ts";
import { SseReader } from "../../kit/sse.ts";
import { runAtOnce, runInSlices, type WorkSteps } from "../../kit/work-steps.ts";
import type { ReportedCost, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { tokensOfWeight, weightOf } from "../../language/canon/tokens.ts";
import { NO_TOKENS, type Usage } from "../../language/canon/usage.ts";
import { OmissionLog, omittedMembers } from "../../language/dialects/reply-members.ts";
import {
  needsSegments,
  needsWords,
  type TranscriptFormat,
  type TranscriptionCall,
} from "../../language/transcriptions/call.ts";
import { billableSeconds, implausibleUsage, type MeasuredAudio } from "../../language/transcriptions/duration.ts";
import { renderTranscript, renderUsage, transcriptContentType } from "../../language/transcriptions/render.ts";
import type { Transcript } from "../../language/transcriptions/reply.ts";
import { TranscriptStream } from "../../language/transcriptions/stream.ts";
import type { TranscriptionWireFormat } from "../../language/transcriptions/wire-format.ts";
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
  text: TextLimits = TEXT_LIMITS,
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
    form: { bulk: { members: ["logprobs"] } },
    decodeResponse(source) {
      const body = JsonDocument.of(source).value;
      const transcript = wire.decode(body);
      if (transcript === undefined) return undefined;
      const reply = replyOf(transcript, { call, file, billedBy });
      return "unusable" in reply ? reply : { ...reply, omitted: omittedMembers(body, wire.reply(call.format)) };
    },
    async decodeInSlices({ value }, _headers, work) {
      const decoded = await runInSlices(decodeRows(value, wire, call.format), work);
      if (decoded === undefined) return undefined;
      const { transcript, omitted } = decoded;
      checkCues(transcript, call.format, text);
      const reply = replyOf(transcript, { call, file, billedBy });
      if ("unusable" in reply) return reply;
      return { ...reply, omitted, renderInSlices: (...counted) => runInSlices(reply.steps(...counted), work) };
    },
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream: () => new TranscriptStream(wire, billedBy, file),
    decodeProblem: wire.decodeProblem,
  };
}

/** Segments or words that one step reads. */
const ROWS_PER_STEP = 64;
const ROW_VALUES = 8;
const ROW_CHARS = 128;
const LISTS = ["segments", "words"] as const;

/** A long transcript, some rows at a time. */
function* decodeRows(
  body: unknown,
  wire: Pick<TranscriptionWireFormat, "decode" | "reply">,
  format: TranscriptFormat,
): WorkSteps<{ readonly transcript: Transcript; readonly omitted: readonly string[] | undefined } | undefined> {
  if (!isJsonObject(body)) return undefined;
  const log = new OmissionLog();
  const rule = wire.reply(format);
  const head = wire.decode({ ...body, ...emptied(body) });
  if (head === undefined) return undefined;
  log.check({ ...body, ...emptied(body) }, rule);
  const parts = { segments: [head.segments], words: [head.words] };
  for (const name of LISTS) {
    const list = listOf(body[name]);
    for (let at = 0; at < list.length; at += ROWS_PER_STEP) {
      const part = { text: "", [name]: list.slice(at, at + ROWS_PER_STEP) };
      const decoded = wire.decode(part);
      log.check(part, rule);
      if (name === "segments") parts.segments.push(decoded?.segments);
      else parts.words.push(decoded?.words);
      yield { chars: ROWS_PER_STEP * ROW_CHARS, values: ROWS_PER_STEP * ROW_VALUES };
    }
  }
  const transcript = { ...head, segments: joined(parts.segments), words: joined(parts.words) };
  return { transcript, omitted: log.paths };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const emptied = (body: JsonObject) =>
  Object.fromEntries(LISTS.filter((name) => Array.isArray(body[name])).map((name) => [name, []]));

/** Undefined if a row is not valid. */
function joined<T>(parts: readonly (readonly T[] | undefined)[]): readonly T[] | undefined {
  const valid = parts.filter((part) => part !== undefined);
  return valid.length === parts.length ? valid.flat() : undefined;
}

/** The text of subtitles is rewritten, each in one event-loop turn. */
function checkCues(
  { segments = [] }: Transcript,
  format: TranscriptFormat,
  { replyChars, settings }: TextLimits,
): void {
  if (format !== "srt" && format !== "vtt") return;
  const chars = segments.reduce((sum, { text }) => sum + text.length, 0);
  if (chars > replyChars) throw new OversizedTextError(replyChars, "the text of the subtitles", settings?.reply);
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

type TranscriptReply = WholeReply & { steps(...counted: Parameters<WholeReply["render"]>): WorkSteps<string> };

function replyOf(
  transcript: Transcript,
  { call, file, billedBy }: TranscriptionInput,
): TranscriptReply | UnusableReply {
  const missing = missingTimestamps(transcript, call);
  if (missing !== undefined) return { unusable: missing };
  const { usage, segments, text } = transcript;
  const weight = weightOf(text);
  const visible = { endSeconds: segments?.at(-1)?.end ?? 0, tokens: tokensOfWeight(weight) };
  const seconds = billableSeconds(usage.seconds, file, visible);
  if (billedBy === "seconds" && seconds === undefined) return { unusable: "the audio duration is not reported" };
  const bySeconds = billedBy === "seconds" && seconds !== undefined;
  const steps = (counted: Usage, shown: ReportedCost | undefined) =>
    renderTranscript(
      transcript,
      call,
      seconds,
      renderUsage(bySeconds ? { by: "seconds", seconds } : { by: "tokens" }, counted, shown),
    );
  return {
    usage: bySeconds ? NO_TOKENS : usage.tokens,
    upstreamId: null,
    outputWeight: bySeconds ? 0 : weight,
    units: bySeconds ? { seconds } : undefined,
    detail: seconds === undefined ? undefined : { seconds },
    contentType: transcriptContentType(call.format),
    render: (...counted) => runAtOnce(steps(...counted)),
    steps,
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
