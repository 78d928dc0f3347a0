import fc from "fast-check";
import { expect, test } from "vitest";
import { ChatRequest } from "../../contract/schemas/chat.ts";
import { isPlainChat } from "./decode.ts";

const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(Number.POSITIVE_INFINITY, -0, 1e9, 1.5, "", "x".repeat(300)));
const rarely = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: rare });
const role = rarely(fc.constantFrom("user", "assistant", "system", "developer"), fc.constantFrom("tool", "stranger"));
const content = rarely(fc.string(), fc.oneof(odd, fc.constant([{ type: "text", text: "x" }])));
const message = fc.record(
  { role, content, refusal: odd, tool_calls: odd, tool_call_id: odd, name: odd, cache_control: odd },
  { requiredKeys: [], noNullPrototype: true },
);
const messages = fc.array(rarely(fc.record({ role, content }, { noNullPrototype: true }), message), { maxLength: 4 });
const fields = {
  model: rarely(fc.string(), odd),
  messages: rarely(messages, odd),
  stream: rarely(fc.boolean(), odd),
  stream_options: rarely(fc.record({ include_usage: rarely(fc.boolean(), odd) }, { noNullPrototype: true }), odd),
  temperature: rarely(fc.double({ min: -0.2, max: 2.2, noNaN: true }), odd),
  top_p: rarely(fc.double({ min: -0.1, max: 1.1, noNaN: true }), odd),
  max_tokens: rarely(fc.integer({ min: -1, max: 10_000_002 }), odd),
  max_completion_tokens: rarely(fc.integer({ min: 0, max: 10_000_002 }), odd),
};
const more = { ...fields, n: odd, stop: odd, tools: odd, user: odd, nonsense: odd };
const body = rarely(
  fc.record(fields, { requiredKeys: ["model", "messages"], noNullPrototype: true }),
  fc.record(more, { requiredKeys: [], noNullPrototype: true }),
);

test("a plain request passes the schema unchanged", () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
      if (!isPlainChat(value)) return;
      plain += 1;
      expect(ChatRequest.parse(value)).toStrictEqual(value);
    }),
    { numRuns: 5000 },
  );
  // The property says nothing if hardly anything is plain.
  expect(plain).toBeGreaterThan(100);
});

test.each([
  [{ model: "m", messages: [{ role: "user", content: "Hello" }] }],
  [{ model: "m".repeat(256), messages: [{ role: "developer", content: "" }], temperature: 2, top_p: 0, max_tokens: 1 }],
  [
    {
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 10_000_000,
      messages: [{ content: "x", role: "system" }],
      model: "m",
    },
  ],
])("a common request is plain: %j", (value) => {
  expect(isPlainChat(value)).toBe(true);
  expect(ChatRequest.parse(value)).toStrictEqual(value);
});
