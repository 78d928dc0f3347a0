import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { SseReader } from "../kit/sse.ts";
import { type Sandbox, startSandbox } from "./server.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
});
afterAll(() => sandbox.close());

// biome-ignore lint/suspicious/noExplicitAny: bodies are asserted field by field
type Json = any;

const user = (...parts: unknown[]) => ({ role: "user", parts });
const model = (...parts: unknown[]) => ({ role: "model", parts });
const HELLO = { contents: [user({ text: "hello" })] };
const KEY = { "x-goog-api-key": "any" };
const TOOLS = [{ functionDeclarations: [{ name: "get_time" }] }];

async function post(body: unknown, at = "sandbox%2Fgemini:generateContent", headers: Record<string, string> = KEY) {
  const response = await fetch(`${sandbox.origins["sandbox-us"]}/v1/models/${at}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get("content-type"), bytes, json: parsed(bytes) };
}

function parsed(bytes: Buffer): Json {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function textIn(answers: Json[], kind: "thought" | "answer"): string {
  const parts = answers.flatMap((answer) => answer.candidates[0].content.parts ?? []);
  return parts.map((part) => ((part.thought === true) === (kind === "thought") ? (part.text ?? "") : "")).join("");
}

describe("the simulated Gemini service", () => {
  test("replies as JSON, as events and as a list with the same content", async () => {
    const body = { ...HELLO, generationConfig: { thinkingConfig: { thinkingLevel: "low", includeThoughts: true } } };
    const whole = await post(body);
    const events = await post(body, "sandbox%2Fgemini:streamGenerateContent?alt=sse");
    const list = await post(body, "sandbox%2Fgemini:streamGenerateContent");
    expect([whole.type, events.type, list.type]).toEqual([
      "application/json; charset=UTF-8",
      "text/event-stream",
      "application/json; charset=UTF-8",
    ]);
    const frames = new SseReader(1 << 20).push(events.bytes).map(({ data }): Json => JSON.parse(data));
    for (const answers of [[whole.json], frames, list.json]) {
      expect(textIn(answers, "answer")).toBe("[simulated by sandbox-us] You said: hello");
      expect(textIn(answers, "thought")).toContain("effort low");
      const { candidates, usageMetadata } = answers.at(-1);
      expect(candidates[0].finishReason).toBe("STOP");
      expect(usageMetadata).toEqual(whole.json.usageMetadata);
      expect(candidates[0].content.parts.at(-1).thoughtSignature).toEqual(expect.any(String));
    }
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount } = whole.json.usageMetadata;
    expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
  });

  test("a call has an id and a signature, and its result is accepted only with both", async () => {
    const asked = user({ text: "get_time please" });
    const { json } = await post({ contents: [asked], tools: TOOLS });
    const [part] = json.candidates[0].content.parts;
    expect(part).toMatchObject({ functionCall: { id: expect.any(String), name: "get_time", args: {} } });
    const answer = (more: object = {}) =>
      user({ functionResponse: { id: part.functionCall.id, name: "get_time", response: { result: "noon" }, ...more } });
    const done = await post({ contents: [asked, model(part), answer()], tools: TOOLS });
    expect(textIn([done.json], "answer")).toContain("The tool get_time answered: noon");
    const { thoughtSignature, ...unsigned } = part;
    const refusals: [unknown[], RegExp][] = [
      [[asked, model(unsigned), answer()], /missing a thought_signature/],
      [
        [asked, model({ ...part, thoughtSignature: `${thoughtSignature}AAAA` }), answer()],
        /Corrupted thought signature/,
      ],
      [[asked, model(part), answer({ id: "other" })], /ids and names/],
      [[asked, model(part), user({ text: "well?" })], /number of function response parts/],
      [[asked, model(part)], /followed by its function responses/],
      [[asked, asked], /alternate/],
    ];
    for (const [contents, message] of refusals) {
      const refused = await post({ contents, tools: TOOLS });
      expect(refused.status).toBe(400);
      expect(refused.json.error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
      expect(refused.json.error.message).toMatch(message);
    }
  });

  test.each([
    ["an unknown field", { ...HELLO, messages: [] }, /Unknown name "messages"/],
    ["no contents", { contents: [] }, /contents/],
    ["a role it does not have", { contents: [{ role: "assistant", parts: [{ text: "a" }] }] }, /contents/],
    ["two tools", { ...HELLO, tools: [...TOOLS, ...TOOLS] }, /one tool/],
    ["a choice without tools", { ...HELLO, toolConfig: { functionCallingConfig: { mode: "ANY" } } }, /function_decl/],
    ["a schema without JSON", { ...HELLO, generationConfig: { responseJsonSchema: {} } }, /mime type/],
    ["six stop sequences", { ...HELLO, generationConfig: { stopSequences: [..."123456"] } }, /stopSequences/],
    [
      "a level and a budget",
      { ...HELLO, generationConfig: { thinkingConfig: { thinkingLevel: "low", thinkingBudget: 1 } } },
      /only one of/,
    ],
  ])("rejects %s", async (_what, body, message) => {
    const { status, json } = await post(body);
    expect(status).toBe(400);
    expect(json.error.message).toMatch(message);
  });

  test("rejects a missing key and an unknown model in its own error format", async () => {
    expect((await post(HELLO, undefined, {})).json.error).toMatchObject({ code: 401, status: "UNAUTHENTICATED" });
    expect((await post(HELLO, "nobody:generateContent")).json.error).toMatchObject({ code: 404, status: "NOT_FOUND" });
  });
});
