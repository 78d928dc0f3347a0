import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../../../tests/support/gateway.ts";
import { FACTS } from "../../../../tests/support/messages.ts";
import { Fault } from "../../../contract/faults.ts";
import type { Call } from "../../canon/call.ts";
import type { ConversationTurn } from "../../canon/parts.ts";
import { messagesUpstream } from "./upstream/dialect.ts";

/** One call with everything in it that the dialect can say. */
const FULL: Call = {
  model: "m",
  turns: [
    { role: "system", parts: [{ is: "text", text: "s", cache: { ttl: "1h" } }] },
    {
      role: "user",
      parts: [
        { is: "text", text: "t", cache: { ttl: null } },
        { is: "image", source: { is: "url", url: "https://a/b" }, cache: { ttl: "5m" } },
        {
          is: "file",
          source: { is: "inline", mediaType: "text/plain", base64: "AAAA" },
          filename: "f",
          cache: { ttl: "5m" },
        },
      ],
    },
    {
      role: "assistant",
      parts: [
        { is: "reasoning", detail: { is: "readable", text: "r", signature: { family: "anthropic", data: "d" } } },
        { is: "reasoning", detail: { is: "encrypted", signature: { family: "anthropic", data: "e" } } },
        { is: "refusal", text: "no" },
        { is: "tool_call", id: "i", name: "n", argumentsText: "{}" },
      ],
    },
    { role: "tool", parts: [{ is: "tool_result", callId: "i", content: [{ is: "text", text: "x" }], failed: false }] },
  ],
  tools: [{ name: "n", description: "d", schema: { type: "object" }, strict: null }],
  toolChoice: { is: "auto" },
  responseFormat: { is: "json_schema", name: "f", description: "d", schema: { type: "object" }, strict: true },
  reasoning: { effort: "low", budgetTokens: null },
  maxOutputTokens: 9000,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: ["a"],
  stream: false,
  includeUsage: false,
  parameters: [],
};
/** A model of this kind does not think and take sampling at once. */
const SAMPLED: Call = { ...FULL, reasoning: undefined, temperature: 0.5, topP: 0.5, topK: 5 };

/** Fields that are known to say nothing to a provider, with the reason. */
const SILENT: ReadonlySet<string> = new Set([
  "model", // the endpoint's own name is sent in its place
  "includeUsage", // the provider always tells its usage
  "parameters", // asked by the planner
  "responseFormat.name", // has no place in the dialect
  "responseFormat.strict", // a schema is always held strictly
]);

/** Other values of the same kind, for every leaf of the call. */
function* changes(value: unknown, path: string[] = []): Iterable<{ path: string[]; to: unknown }> {
  if (Array.isArray(value)) for (const [at, one] of value.entries()) yield* changes(one, [...path, String(at)]);
  else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) yield* changes(one, [...path, key]);
  else if (typeof value === "string") yield { path, to: OTHER[value] ?? `${value}z` };
  else if (typeof value === "number") yield { path, to: value / 2 };
  else if (typeof value === "boolean") yield { path, to: !value };
}

const OTHER: Readonly<Record<string, string>> = {
  low: "high",
  auto: "none",
  "1h": "5m",
  "5m": "1h",
  "{}": '{"a":1}',
  AAAA: "AAAB",
  anthropic: "google",
  system: "user",
  user: "assistant",
  assistant: "user",
  tool: "assistant",
  "text/plain": "application/pdf",
};

function changed(base: Call, path: readonly string[], to: unknown): Call {
  const call = structuredClone(base);
  let at: unknown = call;
  for (const step of path.slice(0, -1)) if (typeof at === "object" && at !== null) at = Reflect.get(at, step);
  if (typeof at === "object" && at !== null) Reflect.set(at, path.at(-1) ?? "", to);
  return call;
}

test.each([
  ["thinks", FULL],
  ["samples", SAMPLED],
])("any change of a call that %s changes the request or is rejected", (_, base) => {
  const facts = { ...FACTS, maxOutputTokens: 64_000 };
  const before = messagesUpstream.encodeRequest(base, facts);
  const silent: string[] = [];
  for (const { path, to } of changes(base)) {
    // Which kind of thing it is, is not a value of its own.
    if (path.at(-1) === "is" && path[0] !== "toolChoice") continue;
    const call = changed(base, path, to);
    let after: string | undefined;
    try {
      after = messagesUpstream.encodeRequest(call, facts);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
    if (after === before) silent.push(path.join("."));
  }
  expect(new Set(silent)).toEqual(new Set([...SILENT].filter((path) => path !== "parameters")));
});

test("every turn of any conversation is sent or rejected, and roles alternate", () => {
  const turn: fc.Arbitrary<ConversationTurn> = fc.record({
    role: fc.constantFrom("system", "developer", "user", "assistant"),
    parts: fc.array(fc.record({ is: fc.constant("text" as const), text: fc.string() }), { maxLength: 2 }),
  });
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
      const said = turns
        .flatMap(({ parts }) => parts.map((part) => (part.is === "text" ? part.text.trim() : "")))
        .filter((text) => text !== "");
      let body: Json;
      try {
        body = JSON.parse(messagesUpstream.encodeRequest({ ...FULL, turns, responseFormat: { is: "text" } }, FACTS));
      } catch (error) {
        // Only a conversation without any turn to answer is refused.
        expect(error).toBeInstanceOf(Fault);
        return;
      }
      const roles: string[] = body.messages.map(({ role }: Json) => role);
      expect(roles[0]).toBe("user");
      for (const [at, role] of roles.entries()) if (at > 0) expect(role).not.toBe(roles[at - 1]);
      const blocks = [...(body.system ?? []), ...body.messages.flatMap(({ content }: Json) => content)];
      const texts = blocks.map(({ text }: Json) => text.trim()).filter((text) => !text.startsWith("(The conversation"));
      expect(texts.sort()).toEqual(said.sort());
    }),
  );
});
