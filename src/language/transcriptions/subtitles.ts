import type { TranscriptSegment } from "./reply.ts";

/** SubRip: numbered cues with a comma before the milliseconds. */
export function renderSrt(segments: readonly TranscriptSegment[]): string {
  return toCues(segments)
    .map(
      ({ startMs, endMs, text }, index) =>
        `${index + 1}\n${formatTimestamp(startMs, ",")} --> ${formatTimestamp(endMs, ",")}\n${text}\n\n`,
    )
    .join("");
}

/** WebVTT: a header, cues without numbers, and characters that would be markup written out. */
export function renderVtt(segments: readonly TranscriptSegment[]): string {
  const cues = toCues(segments).map(
    ({ startMs, endMs, text }) =>
      `${formatTimestamp(startMs, ".")} --> ${formatTimestamp(endMs, ".")}\n${escapeMarkup(text)}\n\n`,
  );
  return `WEBVTT\n\n${cues.join("")}`;
}

type SubtitleCue = { readonly startMs: number; readonly endMs: number; readonly text: string };

/** In the order of their beginnings, none empty and none without a length: players drop what comes otherwise. */
function toCues(segments: readonly TranscriptSegment[]): SubtitleCue[] {
  return segments
    .map(({ start, end, text }) => {
      const startMs = Math.round(start * 1000);
      return { startMs, endMs: Math.max(startMs + 1, Math.round(end * 1000)), text: cueText(text) };
    })
    .filter(({ text }) => text !== "")
    .sort((one, other) => one.startMs - other.startMs);
}

function formatTimestamp(ms: number, mark: "," | "."): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const fraction = String(ms % 1000).padStart(3, "0");
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${mark}${fraction}`;
}

/** A blank line ends a cue and an arrow begins one, so neither may stand inside. */
function cueText(text: string): string {
  return text
    .trim()
    .replace(/\s*[\r\n\u2028\u2029]\s*/g, "\n")
    .replaceAll(/-{2,}>/g, "->");
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
