import { afterEach, expect, test } from "vitest";
import { type TokenCounter, type TokenCounterLimits, tokenCounter } from "./token-counter.ts";

const open: TokenCounter[] = [];
const LIMITS: TokenCounterLimits = { charsMax: 10_000, waitingMax: 2, answerMs: 20_000, idleMs: 60_000 };
function opened(limits: Partial<TokenCounterLimits> = {}): TokenCounter {
  const counter = tokenCounter({ ...LIMITS, ...limits });
  open.push(counter);
  return counter;
}
afterEach(() => Promise.all(open.splice(0).map((counter) => counter.close())));

test("MSG-03 texts are counted by the tokenizer, words with a meaning of their own too", async () => {
  const counter = opened();
  expect(await counter.count([])).toBe(0);
  expect(await counter.count(["hello world"])).toBe(2);
  expect(await counter.count(["hello world", " again"])).toBe(3);
  expect(await counter.count(["<|endoftext|>"])).toBeGreaterThan(1);
});

test("MSG-03 of a long input the beginning is counted and the rest is taken to be alike", async () => {
  const counter = opened();
  const sentence = "The quick brown fox jumps over the lazy dog. ";
  const tokens = await counter.count([sentence.repeat(100), sentence.repeat(4900)]);
  expect(tokens).toBeGreaterThan(48_000);
  expect(tokens).toBeLessThan(52_000);
});

test("MSG-03 one endless word takes no endless time", async () => {
  expect(await opened({ charsMax: 400_000 }).count(["a".repeat(400_000)])).toBe(50_000);
});

test("who comes when too many wait, or is answered too late, is told so", async () => {
  const counter = opened();
  const answers = await Promise.all([1, 2, 3].map(() => counter.count(["hello world"])));
  expect(answers).toEqual([2, 2, undefined]);
  expect(await opened({ answerMs: 0 }).count(["hello"])).toBeUndefined();
});

test("a counter that was closed counts again, in a new thread", async () => {
  const counter = opened();
  expect(await counter.count(["hello world"])).toBe(2);
  await counter.close();
  expect(await counter.count(["hello world"])).toBe(2);
});

test("EMB-01 token numbers become the texts they stand for, letters that are cut between two of them too", async () => {
  const counter = opened();
  // The character 🙂 is three tokens, none of which is a text by itself.
  expect(await counter.decode([[15339, 1917], [9468, 247, 224], [9906]])).toEqual({
    is: "words",
    texts: ["hello world", "🙂", "Hello"],
  });
  expect(await counter.decode([[9468], [9906]])).toMatchObject({ is: "words", texts: [expect.any(String), "Hello"] });
});

test("EMB-01 a number that is no token is named, and the next question is answered", async () => {
  const counter = opened();
  for (const token of [100_256, 100_261, 100_277, 9_999_999])
    expect(await counter.decode([[9906], [9906, token]])).toEqual({ is: "unknown", list: 1, token });
  expect(await counter.decode([[100_257], [100_276]])).toEqual({
    is: "words",
    texts: ["<|endoftext|>", "<|endofprompt|>"],
  });
  expect(await counter.count(["hello world"])).toBe(2);
});
