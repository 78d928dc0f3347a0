import { expect, test } from "vitest";
import { releaseMemory } from "./release-memory.ts";

const PIECES = 24_000;
const PIECE_BYTES = 8 * 1024;
/** So many pieces lie between two that stay in use. */
const KEPT_EVERY = 64;

const rssBytes = () => process.memoryUsage.rss();

test.skipIf(process.platform !== "linux")("what is free between pieces in use goes back to the system", () => {
  const kept = takeAndKeepFew();
  const before = rssBytes();
  releaseMemory();
  expect(before - rssBytes()).toBeGreaterThan((PIECES * PIECE_BYTES) / 2);
  expect(kept.every((piece, place) => piece[0] === (place * KEPT_EVERY) % 256)).toBe(true);
});

function takeAndKeepFew(): readonly Buffer[] {
  const pieces = Array.from({ length: PIECES }, (_, place) => Buffer.allocUnsafeSlow(PIECE_BYTES).fill(place));
  return pieces.filter((_, place) => place % KEPT_EVERY === 0);
}
