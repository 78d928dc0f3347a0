import type { Utf8Offsets } from "../../../../kit/utf8-offsets.ts";
import type { Citation } from "../../../canon/reply-events.ts";
import type { WireCandidate, WireGroundingChunk } from "../wire.ts";

/** Further ones are omitted: each is an event, and a support can name one source very often. */
export const CITATIONS_MAX = 4096;

/** Output text so far, for byte offsets into it. */
type WrittenText = {
  readonly offsets: Utf8Offsets;
  /** Byte offset of each part; empty if unknown. */
  readonly partStarts: readonly number[];
};

type TextSpan = Pick<Citation, "start" | "end">;
const NO_SPAN: TextSpan = { start: null, end: null };

/** Citations with offsets converted from bytes to UTF-16 units. */
export function* citationsOf(candidate: WireCandidate, written: WrittenText): Generator<Citation> {
  yield* groundedCitations(candidate, written);
  yield* recitedCitations(candidate, written);
}

function* groundedCitations({ groundingMetadata }: WireCandidate, { offsets, partStarts }: WrittenText) {
  const chunks = groundingMetadata?.groundingChunks ?? [];
  const supports = groundingMetadata?.groundingSupports ?? [];
  const used = new Set<number>();
  for (const { segment, groundingChunkIndices } of supports) {
    const from = partStarts[segment?.partIndex ?? 0] ?? 0;
    const span =
      segment == null
        ? NO_SPAN
        : spanOf(offsets, { startByte: from + (segment.startIndex ?? 0), endByte: from + (segment.endIndex ?? 0) });
    for (const index of groundingChunkIndices ?? []) {
      used.add(index);
      yield* citationIn(chunks[index], span);
    }
  }
  for (const [index, chunk] of chunks.entries()) if (!used.has(index)) yield* citationIn(chunk, NO_SPAN);
}

/** Marks a passage of the text without a source to cite. */
export function hasUnsourcedSupport({ groundingMetadata }: WireCandidate): boolean {
  const chunks = groundingMetadata?.groundingChunks ?? [];
  const supports = groundingMetadata?.groundingSupports ?? [];
  return supports.some(({ groundingChunkIndices }) =>
    (groundingChunkIndices ?? []).every((index) => sourceOf(chunks[index]) == null),
  );
}

function* citationIn(chunk: WireGroundingChunk | undefined, span: TextSpan): Generator<Citation> {
  const source = sourceOf(chunk);
  if (source != null) yield { url: source.uri ?? null, title: source.title ?? null, ...span };
}

function sourceOf(chunk: WireGroundingChunk | undefined) {
  return chunk?.web ?? chunk?.retrievedContext ?? chunk?.maps;
}

function* recitedCitations({ citationMetadata }: WireCandidate, { offsets }: WrittenText): Generator<Citation> {
  const rows = citationMetadata?.citationSources ?? citationMetadata?.citations ?? [];
  for (const { uri, title, startIndex, endIndex } of rows) {
    const span = endIndex == null ? NO_SPAN : spanOf(offsets, { startByte: startIndex ?? 0, endByte: endIndex });
    yield { url: uri ?? null, title: title ?? null, ...span };
  }
}

type ByteSpan = { readonly startByte: number; readonly endByte: number };

function spanOf(offsets: Utf8Offsets, { startByte, endByte }: ByteSpan): TextSpan {
  return { start: offsets.unitsBefore(startByte), end: offsets.unitsBefore(endByte) };
}
