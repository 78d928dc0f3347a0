import { describe, expect, test } from "vitest";
import { AdaptiveTimeout } from "./adaptive-timeout.ts";

describe("the timeout of Redis", () => {
  test("SCALE-22 grows with the slowest recent reply, within bounds, and shrinks once replies are fast again", () => {
    const timeout = new AdaptiveTimeout(250);
    expect(timeout.at(0)).toBe(250);
    timeout.noteReply(0, 1);
    expect(timeout.at(1)).toBe(250);
    timeout.noteReply(0, 100);
    timeout.noteReply(100, 101);
    expect(timeout.at(101)).toBe(800);
    // The next span still knows it, the one after does not.
    expect(timeout.at(10_001)).toBe(800);
    timeout.noteReply(20_001, 20_002);
    expect(timeout.at(20_003)).toBe(250);
    timeout.noteReply(20_003, 29_000);
    expect(timeout.at(29_000)).toBe(2500);
    expect(timeout.at(90_000)).toBe(250);
  });
});
