import { afterEach, expect, test } from "vitest";
import { type TokenCounter, type TokenCounterLimits, tokenCounter } from "./token-counter.ts";

const counters: TokenCounter[] = [];
const LIMITS: TokenCounterLimits = { charsMax: 10_000, pendingMax: 2, timeoutMs: 20_000, idleMs: 60_000 };
function openCounter(limits: Partial<TokenCounterLimits> = {}): TokenCounter {
  const counter = tokenCounter({ ...LIMITS, ...limits });
  counters.push(counter);
  return counter;
}
afterEach(() => Promise.all(counters.splice(0).map((counter) => counter.close())));

test("MSG-03 texts are counted by the tokenizer, special tokens as plain text", async () => {
  const counter = openCounter();
  expect(await counter.count([])).toBe(0);
  expect(await counter.count(["hello world"])).toBe(2);
  expect(await counter.count(["hello world", " again"])).toBe(3);
  expect(await counter.count(["<|endoftext|>"])).toBeGreaterThan(1);
});

test("MSG-03 of a long input the beginning is counted and the rest extrapolated", async () => {
  const counter = openCounter();
  const sentence = "The quick brown fox jumps over the lazy dog. ";
  const tokens = await counter.count([sentence.repeat(100), sentence.repeat(4900)]);
  expect(tokens).toBeGreaterThan(48_000);
  expect(tokens).toBeLessThan(52_000);
});

test("MSG-03 a very long word is counted in linear time", async () => {
  expect(await openCounter({ charsMax: 400_000 }).count(["a".repeat(400_000)])).toBe(50_000);
});

test("MSG-03 a count beyond the pending limit or the timeout is undefined", async () => {
  const counter = openCounter();
  const counts = await Promise.all([1, 2, 3].map(() => counter.count(["hello world"])));
  expect(counts).toEqual([2, 2, undefined]);
  expect(await openCounter({ timeoutMs: 0 }).count(["hello"])).toBeUndefined();
});

test("MSG-03 a closed counter counts again in a new thread", async () => {
  const counter = openCounter();
  expect(await counter.count(["hello world"])).toBe(2);
  await counter.close();
  expect(await counter.count(["hello world"])).toBe(2);
});

test("EMB-01 token ids are decoded to text, also characters that span several tokens", async () => {
  const counter = openCounter();
  // The character 🙂 is three tokens, none of which is a text by itself.
  expect(await counter.decode([[15339, 1917], [9468, 247, 224], [9906]])).toEqual({
    is: "decoded",
    texts: ["hello world", "🙂", "Hello"],
  });
  expect(await counter.decode([[9468], [9906]])).toMatchObject({ is: "decoded", texts: [expect.any(String), "Hello"] });
});

test("EMB-01 an id that is no token is named, and the next request succeeds", async () => {
  const counter = openCounter();
  for (const token of [100_256, 100_261, 100_277, 9_999_999])
    expect(await counter.decode([[9906], [9906, token]])).toEqual({ is: "unknown", list: 1, token });
  expect(await counter.decode([[100_257], [100_276]])).toEqual({
    is: "decoded",
    texts: ["<|endoftext|>", "<|endofprompt|>"],
  });
  expect(await counter.count(["hello world"])).toBe(2);
});
