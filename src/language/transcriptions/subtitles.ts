import type { Segment } from "./transcript.ts";

/** SubRip: numbered cues with a comma before the milliseconds. */
export function srtOf(segments: readonly Segment[]): string {
  return segments
    .map(
      ({ start, end, text }, index) =>
        `${index + 1}\n${timeOf(start, ",")} --> ${timeOf(end, ",")}\n${lineOf(text)}\n\n`,
    )
    .join("");
}

/** WebVTT: a header, cues without numbers, and characters that would be markup written out. */
export function vttOf(segments: readonly Segment[]): string {
  const cues = segments.map(
    ({ start, end, text }) => `${timeOf(start, ".")} --> ${timeOf(end, ".")}\n${unmarked(lineOf(text))}\n\n`,
  );
  return `WEBVTT\n\n${cues.join("")}`;
}

function timeOf(seconds: number, mark: "," | "."): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const fraction = String(ms % 1000).padStart(3, "0");
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${mark}${fraction}`;
}

/** A blank line ends a cue and an arrow begins one, so neither may stand inside. */
function lineOf(text: string): string {
  return text
    .trim()
    .replace(/\s*[\r\n\u2028\u2029]\s*/g, "\n")
    .replaceAll("-->", "->");
}

function unmarked(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
