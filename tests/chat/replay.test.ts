import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Interaction, loadBytes, loadChunks, loadExchange, scriptOf } from "../support/replay.ts";
import { chunksOf, costNanos, eventsOf, MODEL, openScene, type Scene, type Used } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());

type Recording = {
  readonly name: string;
  /** Index of the exchange. */
  readonly at: number;
  /** Expected usage by the usage table, transcribed from the recordings manually. */
  readonly used: Used & { readonly reasoning?: number };
};

const WHOLE: readonly Recording[] = [
  { name: "openai-parallel-tools", at: 0, used: { input: 70, output: 46 } },
  { name: "openai-parallel-tools", at: 1, used: { input: 70, output: 46 } },
  { name: "openai-json-schema", at: 0, used: { input: 71, output: 12 } },
  { name: "openai-json-schema", at: 1, used: { input: 92, output: 15 } },
  { name: "openai-cache-write-5.6", at: 0, used: { input: 1220, written: 1217, output: 100, reasoning: 100 } },
  { name: "compatible-tool-call-no-id", at: 0, used: { input: 35, output: 12 } },
  { name: "compatible-tool-call-no-id", at: 1, used: { input: 66, output: 6 } },
  { name: "groq-400-tool-use-failed", at: 1, used: { input: 254, output: 174, reasoning: 147 } },
];

const STREAMED: readonly Recording[] = [
  { name: "openai-stream-tool-then-text", at: 0, used: { input: 53, output: 15 } },
  { name: "openai-stream-tool-then-text", at: 1, used: { input: 78, output: 9 } },
  { name: "deepseek-stream-reasoning", at: 0, used: { input: 17, output: 47, reasoning: 34 } },
  { name: "mistral-stream-thinking", at: 0, used: { input: 31, output: 66 } },
  { name: "mistral-stream-tools-multiturn", at: 0, used: { input: 159, cached: 128, output: 28 } },
  { name: "mistral-stream-tools-multiturn", at: 1, used: { input: 222, cached: 192, output: 43 } },
  { name: "mistral-stream-tools-multiturn", at: 2, used: { input: 291, cached: 192, output: 27 } },
  { name: "mistral-stream-tools-multiturn", at: 3, used: { input: 352, cached: 320, output: 42 } },
];

function recorded({ name, at }: Recording): Interaction {
  const found = loadExchange(`d1-openai-chat/${name}`).interactions[at];
  if (found === undefined) throw new Error(`${name} has no exchange ${at}`);
  return found;
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** The recorded request with a model that this gateway has a provider for. */
function requestOf(interaction: Interaction): Record<string, unknown> {
  return { ...objectOf(interaction.request.json), model: MODEL };
}

/** Converts non-standard fields of a recording to the dialect. */
function inDialect(choices: readonly Json[], form: "delta" | "message", id: string): Json[] {
  return choices.map((choice) => {
    const { reasoning, ...message } = choice[form];
    if (reasoning) message.reasoning_content = reasoning;
    if (Array.isArray(message.content)) {
      const [first, second] = message.content;
      const thoughts = first.thinking?.map(({ text }: Json) => text).join("");
      if (thoughts) message.reasoning_content = thoughts;
      message.content = (thoughts === undefined ? first : second)?.text ?? "";
    }
    if (form === "message" && message.tool_calls)
      message.tool_calls = message.tool_calls.map((call: Json, at: number) => ({
        ...call,
        id: call.id || `call_${id.slice(-24)}_${at}`,
      }));
    return { ...choice, [form]: message };
  });
}

async function expectBooked(requestId: string, used: Recording["used"]): Promise<number> {
  const nanos = costNanos("deepinfra", used);
  const row = await scene.row(requestId);
  expect(row.usage).toMatchObject({
    input_tokens: used.input,
    cached_tokens: used.cached ?? 0,
    cache_write_tokens: used.written ?? 0,
    output_tokens: used.output,
    reasoning_tokens: used.reasoning ?? 0,
    estimated: false,
  });
  const charges = await scene.charges(tenant);
  expect(charges.find(({ id }) => id === `charge:${requestId}`)?.nanos).toBe(nanos);
  return Number(nanos) / 1e9;
}

/** The recorded stream for a client that requested usage: with the gateway's id, and usage once, at the end. */
function expectedChunks(recording: readonly Json[], id: string, cost: number, output: number): Json[] {
  const last = recording.findLast(({ usage }) => usage != null);
  const usage = { ...last.usage, completion_tokens: output, cost, currency: "EUR" };
  const chunks = recording
    .filter((chunk) => chunk.usage == null || chunk.choices.length > 0)
    .map(({ usage: figures, choices, ...chunk }) => ({
      ...chunk,
      choices: inDialect(choices, "delta", id),
      ...(figures === null ? { usage: null } : {}),
      id,
    }));
  return [...chunks, last.choices.length > 0 ? { choices: [], usage } : { ...last, id, usage }];
}

describe("recorded traffic of real providers", () => {
  beforeAll(async () => {
    tenant = await scene.gateway.tenant();
  });

  test.each(WHOLE)(
    "CHAT-01 CHAT-07 $name, exchange $at: the reply equals the recording except for id, cost and non-standard fields",
    async (recording) => {
      const interaction = recorded(recording);
      const request = requestOf(interaction);
      scene.at("deepinfra").next(scriptOf(interaction));
      const { status, body } = await scene.chat(tenant.key, request);
      expect(status).toBe(200);
      expect(scene.at("deepinfra").requests.at(-1)?.json).toEqual(request);
      const cost = await expectBooked(body.id, recording.used);
      const answer = JSON.parse(interaction.response.body.toString());
      const details = {
        prompt_tokens_details: { cached_tokens: recording.used.cached ?? 0, cache_write_tokens: 0 },
        // Not zero where the provider does not count it.
        ...(recording.used.reasoning === undefined
          ? {}
          : { completion_tokens_details: { reasoning_tokens: recording.used.reasoning } }),
      };
      expect(body).toEqual({
        ...answer,
        id: body.id,
        choices: inDialect(answer.choices, "message", body.id),
        usage: { ...details, ...answer.usage, cost, currency: "EUR" },
      });
    },
  );

  test.each(STREAMED)(
    "CHAT-01 CHAT-06 CHAT-07 $name, exchange $at: the stream equals the recording except for id, usage, cost and extras",
    async (recording) => {
      const interaction = recorded(recording);
      for (const slices of ["whole", "bytes"]) {
        scene.at("deepinfra").next(scriptOf(interaction, slices === "bytes" ? { slices } : {}));
        const { thinking: _, ...request }: Json = requestOf(interaction);
        const { text, headers } = await scene.chat(tenant.key, { ...request, stream_options: { include_usage: true } });
        const id = String(headers.get("x-svc-request-id"));
        const cost = await expectBooked(id, recording.used);
        const chunks = chunksOf(text);
        const recordedChunks = chunksOf(interaction.response.body.toString().replaceAll("\r\n", "\n"));
        const expected = expectedChunks(recordedChunks, id, cost, recording.used.output);
        expect(chunks.slice(0, -1)).toEqual(expected.slice(0, -1));
        expect(chunks.at(-1)).toMatchObject(expected.at(-1));
        expect(chunks).toHaveLength(expected.length);
        expect(eventsOf(text).at(-1)).toBe("[DONE]");
      }
    },
  );

  test.each([
    ["d1-openai-chat/azure-model-router", { input: 15, output: 78, reasoning: 64 }],
    ["d1-openai-chat/xai-tool-call", { input: 291, cached: 290, output: 222, reasoning: 196 }],
  ])(
    "CHAT-01 CHAT-07 %s: chunks of a stream that starts without choices, or counts reasoning separately",
    async (name, used) => {
      const bytes = loadChunks(name);
      scene.at("deepinfra").next({ body: bytes, headers: { "content-type": "text/event-stream" } });
      const { text, headers } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
      const id = String(headers.get("x-svc-request-id"));
      const cost = await expectBooked(id, used);
      expect(chunksOf(text)).toEqual(expectedChunks(chunksOf(bytes.toString()), id, cost, used.output));
    },
  );

  test("ERR-06 a recorded refusal of the caller's tools is passed on, a recorded refusal of the key is not", async () => {
    const [refusal] = loadExchange("d1-openai-chat/groq-400-tool-use-failed").interactions;
    const [badKey] = loadExchange("d1-openai-chat/openai-401").interactions;
    if (refusal === undefined || badKey === undefined) throw new Error("the recordings are empty");
    scene.at("deepinfra").next(scriptOf(refusal));
    const passed = await scene.chat(tenant.key, requestOf(refusal));
    expect([passed.status, passed.body.error.code]).toEqual([400, "provider_error"]);
    expect(passed.body.error.message).toBe("Tool choice is required, but model did not call a tool");
    scene.at("deepinfra").next(scriptOf(badKey));
    const hidden = await scene.chat(tenant.key);
    expect([hidden.status, hidden.body.error.code]).toEqual([502, "upstream_error"]);
    expect(hidden.text).not.toMatch(/incorrect|platform\.openai/i);
  });

  test("ERR-02 an error inside a stream, and events with carriage returns and comments", async () => {
    const stream = (body: Buffer): Script => ({ body, headers: { "content-type": "text/event-stream" } });
    scene.at("deepinfra").next(stream(loadBytes("synthetic/openai-midstream-error.sse.txt")));
    const broken = await scene.chat(tenant.key, { stream: true });
    expect(eventsOf(broken.text)).toHaveLength(2);
    expect(chunksOf(broken.text).at(-1).error).toMatchObject({
      code: "upstream_error",
      request_id: broken.headers.get("x-svc-request-id"),
    });
    scene.at("deepinfra").next(stream(loadBytes("synthetic/sse-crlf-comments-utf8.sse.txt")));
    const whole = await scene.chat(tenant.key, { stream: true });
    expect(chunksOf(whole.text)[0].choices[0].delta.content).toBe("北京 🌧");
    expect(eventsOf(whole.text).at(-1)).toBe("[DONE]");
  });
});
