import type { Citation } from "../../../canon/reply-events.ts";
import type { WireCandidate } from "../wire.ts";

/** What was said so far, for places that are given in bytes of it. */
export type WrittenText = {
  readonly text: string;
  /** Where each part of the answer begins in the text, in bytes; empty when that is not known. */
  readonly partStarts: readonly number[];
};

type ByteSpan = { readonly startByte: number; readonly endByte: number };
type CitedSource = { readonly url: string | null; readonly title: string | null; readonly span: ByteSpan | null };

/** The sources an answer names, with their places counted as clients count: in UTF-16 units. */
export function citationsOf(candidate: WireCandidate, said: WrittenText): Citation[] {
  const sources = [...groundedSources(candidate, said), ...recitedSources(candidate)];
  if (sources.length === 0) return [];
  const bytes = Buffer.from(said.text);
  const unitsBefore = (byte: number) => bytes.toString("utf8", 0, Math.min(byte, bytes.length)).length;
  return sources.map(({ url, title, span }) => ({
    url,
    title,
    start: span === null ? null : unitsBefore(span.startByte),
    end: span === null ? null : unitsBefore(span.endByte),
  }));
}

function groundedSources({ groundingMetadata }: WireCandidate, { partStarts }: WrittenText): CitedSource[] {
  const chunks = groundingMetadata?.groundingChunks ?? [];
  const supports = groundingMetadata?.groundingSupports ?? [];
  return supports.flatMap(({ segment, groundingChunkIndices }) => {
    const from = partStarts[segment?.partIndex ?? 0] ?? 0;
    const span =
      segment == null ? null : { startByte: from + (segment.startIndex ?? 0), endByte: from + (segment.endIndex ?? 0) };
    return (groundingChunkIndices ?? []).flatMap((index) => {
      const web = chunks[index]?.web;
      return web == null ? [] : [{ url: web.uri ?? null, title: web.title ?? null, span }];
    });
  });
}

function recitedSources({ citationMetadata }: WireCandidate): CitedSource[] {
  const rows = citationMetadata?.citationSources ?? citationMetadata?.citations ?? [];
  return rows.map(({ uri, title, startIndex, endIndex }) => ({
    url: uri ?? null,
    title: title ?? null,
    span: endIndex == null ? null : { startByte: startIndex ?? 0, endByte: endIndex },
  }));
}
