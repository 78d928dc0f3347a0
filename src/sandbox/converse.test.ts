import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventStreamReader } from "../kit/aws-event-stream.ts";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { type Sandbox, startSandbox } from "./server.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
});
afterAll(() => sandbox.close());

const HELLO = { messages: [{ role: "user", content: [{ text: "hello" }] }] };
const BEARER = { authorization: "Bearer any" };

async function post(body: unknown, at = "sandbox%2Fnova/converse", headers: Record<string, string> = BEARER) {
  const response = await fetch(`${sandbox.origins["sandbox-de"]}/v1/model/${at}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

const USE = { toolUse: { toolUseId: "t_1", name: "weather", input: {} } };
const RESULT = { toolResult: { toolUseId: "t_1", content: [{ text: "sunny" }] } };
const TOOLS = { tools: [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object" } } } }] };
const user = (...content: unknown[]) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });

describe("the simulated Converse service", () => {
  test("replies as JSON and as valid binary frames with the same content, usage last", async () => {
    const body = {
      ...HELLO,
      additionalModelRequestFields: { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } },
    };
    const whole = await post(body);
    expect(whole.status).toBe(200);
    const reply = JSON.parse(whole.bytes.toString());
    expect(reply).toMatchObject({ stopReason: "end_turn", output: { message: { role: "assistant" } } });
    expect(reply.usage.totalTokens).toBe(reply.usage.inputTokens + reply.usage.outputTokens);
    const stream = await post(body, "sandbox%2Fnova/converse-stream");
    expect(stream.headers.get("content-type")).toBe("application/vnd.amazon.eventstream");
    const reader = new EventStreamReader(1 << 20);
    const pieces = [...reader.push(stream.bytes), ...reader.end()];
    const events = pieces.map((piece) => {
      if (piece.is !== "message") throw new Error(piece.is);
      return { event: piece.headers.get(":event-type"), ...JSON.parse(piece.payload.toString()) };
    });
    expect(events.map(({ event }) => event)).not.toContain("contentBlockStart");
    expect(events.slice(-2).map(({ event }) => event)).toEqual(["messageStop", "metadata"]);
    const joined = (index: number, read: (delta: Record<string, unknown>) => unknown) =>
      events
        .filter(({ event, contentBlockIndex }) => event === "contentBlockDelta" && contentBlockIndex === index)
        .map(({ delta }) => read(delta))
        .join("");
    const [{ reasoningContent }, { text }] = reply.output.message.content;
    expect(joined(0, ({ reasoningContent: part }) => Object(part).text)).toBe(reasoningContent.reasoningText.text);
    expect(joined(1, (delta) => delta["text"])).toBe(text);
    expect(events.at(-1)?.usage).toEqual(reply.usage);
  });

  test("a stop sequence is the stop reason, streamed or not", async () => {
    const body = { ...HELLO, inferenceConfig: { stopSequences: ["hello"] } };
    for (const at of ["sandbox%2Fnova/converse", "sandbox%2Fnova/converse-stream"])
      expect((await post(body, at)).bytes.toString("latin1")).toContain('"stopReason":"stop_sequence"');
    const other = await post({ ...HELLO, inferenceConfig: { stopSequences: ["bye"] } });
    expect(JSON.parse(other.bytes.toString())).toMatchObject({ stopReason: "end_turn" });
  });

  test("an unencoded slash in the model name returns 200 without a reply, as by the real service", async () => {
    const { status, bytes } = await post(HELLO, "sandbox/nova/converse");
    expect(status).toBe(200);
    expect(JSON.parse(bytes.toString()).Output.__type).toContain("UnknownOperationException");
  });

  test("a request signature is accepted like a bearer key; a missing credential is rejected", async () => {
    const authorization = "AWS4-HMAC-SHA256 Credential=AKID/20261115/eu-central-1/bedrock/aws4_request, Signature=00";
    expect((await post(HELLO, undefined, { authorization })).status).toBe(200);
    const refused = await post(HELLO, undefined, {});
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.bytes.toString())).toEqual({ message: expect.any(String) });
  });

  test.each([
    ["an unknown field", { ...HELLO, temperature: 1 }],
    ["a block with two keys", { messages: [user({ text: "a", image: {} })] }],
    ["a blank text", { messages: [user({ text: " " })] }],
    ["an empty turn", { messages: [user()] }],
    ["two users in a row", { messages: [user({ text: "a" }), user({ text: "b" })] }],
    ["an assistant first", { messages: [assistant({ text: "a" })] }],
    ["calls without toolConfig", { messages: [user({ text: "a" }), assistant(USE), user(RESULT)] }],
    [
      "a call without its result",
      { messages: [user({ text: "a" }), assistant(USE), user({ text: "b" })], toolConfig: TOOLS },
    ],
    ["a result without its call", { messages: [user(RESULT)], toolConfig: TOOLS }],
    ["a temperature above the scale", { ...HELLO, inferenceConfig: { temperature: 1.5 } }],
    [
      "too many cache points",
      { messages: [user({ text: "a" }, ...Array(5).fill({ cachePoint: { type: "default" } }))] },
    ],
    ["a wrong picture format", { messages: [user({ image: { format: "jpg", source: { bytes: "AAAA" } } })] }],
  ])("rejects %s with the exception's name", async (_what, body) => {
    const { status, headers, bytes } = await post(body);
    expect(status, bytes.toString()).toBe(400);
    expect(headers.get("x-amzn-errortype")).toMatch(/^ValidationException:/);
  });

  test("accepts everything that the gateway may send", async () => {
    const body = {
      messages: [
        user(
          { text: "a" },
          { cachePoint: { type: "default" } },
          { image: { format: "png", source: { bytes: "AAAA" } } },
        ),
        assistant({ reasoningContent: { redactedContent: "AAAA" } }, USE),
        user(RESULT),
      ],
      system: [{ text: "s" }],
      toolConfig: { ...TOOLS, toolChoice: { auto: {} } },
      inferenceConfig: { maxTokens: 50, temperature: 1, topP: 0.5, stopSequences: ["zzz"] },
    };
    const { status, bytes } = await post(body);
    expect(status, bytes.toString()).toBe(200);
    expect(JSON.parse(bytes.toString()).output.message.content[0].text).toContain("The tool weather answered: sunny");
  });
});
