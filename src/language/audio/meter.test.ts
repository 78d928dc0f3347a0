import { describe, expect, test } from "vitest";
import { billedSeconds, SampleDuration } from "./meter.ts";

describe("billedSeconds", () => {
  test.each([
    [0, 1],
    [0.02, 1],
    [0.5, 1],
    [1, 1],
    [1.49, 1],
    [1.5, 2],
    [2.4999999, 2],
    [2.5, 3],
    [3.5, 4],
    [61.234, 61],
    [3_599.5, 3_600],
  ])("TTS-07 %f s of audio are billed as %i", (seconds, billed) => {
    expect(billedSeconds(seconds)).toBe(billed);
  });

  test("TTS-07 half a second summed from frames rounds up", () => {
    const tally = new SampleDuration();
    for (let i = 0; i < 2_500; i++) tally.add(48, 48_000);
    expect(tally.seconds).toBe(2.5);
    expect(billedSeconds(tally.seconds)).toBe(3);
  });
});

test("a change of sample rate keeps earlier samples", () => {
  const tally = new SampleDuration();
  tally.add(24_000, 24_000);
  tally.add(4_000, 8_000);
  tally.add(24_000, 24_000);
  expect(tally.seconds).toBe(2.5);
  tally.add(99, 0);
  expect(tally.seconds).toBe(2.5);
});
