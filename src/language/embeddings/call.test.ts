import fc from "fast-check";
import { expect, test } from "vitest";
import { splitIntoBatches } from "./call.ts";

const room = fc.record({ inputs: fc.integer({ min: 1, max: 5 }), tokens: fc.integer({ min: 1, max: 20 }) });
const weighed = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 30 });

test("EMB-01 batches keep all inputs in order, are never empty, and exceed a limit only with one input", () => {
  fc.assert(
    fc.property(weighed, room, (inputTokens, most) => {
      const texts = inputTokens.map((weight, at) => `${at} ${weight}`);
      const lists = inputTokens.map((weight) => [weight]);
      const parts = splitIntoBatches({ inputs: { is: "tokens", texts, lists }, inputTokens }, most);
      expect(parts.flatMap((part) => part.texts)).toEqual(texts);
      expect(parts.flatMap((part) => (part.is === "tokens" ? part.lists : []))).toEqual(lists);
      for (const part of parts) {
        const tokens = part.texts.reduce((sum, text) => sum + Number(text.split(" ")[1]), 0);
        expect(part.texts.length).toBeGreaterThan(0);
        expect(part.texts.length).toBeLessThanOrEqual(most.inputs);
        expect(part.texts.length === 1 || tokens <= most.tokens).toBe(true);
      }
    }),
  );
});

test("EMB-01 inputs within the limits form one batch", () => {
  const inputs = { is: "texts", texts: ["a", "b"] } as const;
  expect(splitIntoBatches({ inputs, inputTokens: [1, 1] }, { inputs: 2, tokens: 2 })).toEqual([inputs]);
});
