import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Tenant } from "../support/gateway.ts";
import { costNanos, MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script, sse } from "../support/upstream.ts";

/** The official client, configured only with the gateway's URL. */
let scene: Scene;
let tenant: Tenant;
let client: OpenAI;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
  tenant = await scene.gateway.tenant();
  client = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key });
});
afterAll(() => scene.close());

const request: { model: string; messages: OpenAI.ChatCompletionMessageParam[] } = {
  model: MODEL,
  messages: [{ role: "user", content: "Say hello." }],
};
const upstream = () => scene.at("deepinfra");

const toolCall = (stream: boolean): Script => {
  const call = { id: "call_weather_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  if (!stream)
    return {
      json: chatJson({
        message: { role: "assistant", content: null, tool_calls: [call] },
        finish_reason: "tool_calls",
      }),
    };
  const pieces = [
    { tool_calls: [{ index: 0, ...call, function: { name: "weather", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] },
  ];
  return { frames: chatFrames(pieces, { finish: "tool_calls", usage: "asked" }) };
};

const weather = (seen: string[]) => ({
  type: "function" as const,
  function: {
    name: "weather",
    description: "The weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    parse: JSON.parse,
    function: ({ city }: { city: string }) => {
      seen.push(city);
      return "sunny";
    },
  },
});

describe("the official client with only the base URL changed", () => {
  test("CHAT-01 create: message, usage, and the request id", async () => {
    const completion = await client.chat.completions.create(request);
    expect(completion.choices[0]?.message.content).toBe("Hello there");
    expect(completion._request_id).toBe(completion.id);
    expect(completion.usage).toMatchObject({
      total_tokens: 18,
      cost: Number(costNanos("deepinfra", { input: 11, output: 7 })) / 1e9,
      currency: "EUR",
    });
    const { response, request_id } = await client.chat.completions.create(request).withResponse();
    expect(response.headers.get("x-svc-request-id")).toBe(request_id);
  });

  test("CHAT-01 CHAT-06 create with a stream, with usage and without", async () => {
    for (const include_usage of [true, false]) {
      const stream = await client.chat.completions.create({
        ...request,
        stream: true,
        stream_options: { include_usage },
      });
      let text = "";
      let totals = 0;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        totals += chunk.usage?.total_tokens ?? 0;
      }
      expect([text, totals]).toEqual(["Hello there", include_usage ? 18 : 0]);
    }
  });

  test("CHAT-01 the stream helper: deltas, snapshot, final message and total usage", async () => {
    const runner = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    const deltas: string[] = [];
    runner.on("content", (delta) => deltas.push(delta));
    expect(await runner.finalContent()).toBe("Hello there");
    expect(deltas.join("")).toBe("Hello there");
    expect((await runner.totalUsage()).total_tokens).toBe(18);
    expect((await runner.finalChatCompletion()).choices[0]?.finish_reason).toBe("stop");
  });

  test("CHAT-01 a helper that aborts its stream cancels the provider's call", async () => {
    const [role = "", word = ""] = chatFrames(["one word"]);
    upstream().next({ frames: [role, word], end: { is: "stall", after: Buffer.byteLength(role + word) } });
    const count = upstream().requests.length;
    const stream = await client.chat.completions.create({ ...request, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "one word") break;
    expect(await (await upstream().arrived(count + 1)).over).toBe("aborted");
  });

  test("CHAT-01 an abort signal cancels the provider's call", async () => {
    upstream().next({ end: { is: "stall", after: "before_headers" } });
    const count = upstream().requests.length;
    const controller = new AbortController();
    const running = client.chat.completions.create(request, { signal: controller.signal, maxRetries: 0 });
    const received = await upstream().arrived(count + 1);
    controller.abort();
    await expect(running).rejects.toThrow(APIUserAbortError);
    expect(await received.over).toBe("aborted");
  });

  test.each([false, true])(
    "CHAT-01 the tool loop runs the tool and sends its result back under the same id (stream: %s)",
    async (stream) => {
      const cities: string[] = [];
      const count = upstream().requests.length;
      upstream().next(toolCall(stream));
      upstream().next(
        stream
          ? { frames: chatFrames(["It is ", "sunny."], { usage: "asked" }) }
          : { json: chatJson({ content: "It is sunny." }) },
      );
      const tools = [weather(cities)];
      const runner = stream
        ? client.chat.completions.runTools({ ...request, tools, stream })
        : client.chat.completions.runTools({ ...request, tools });
      expect(await runner.finalContent()).toBe("It is sunny.");
      expect(cities).toEqual(["Paris"]);
      const second = upstream().requests[count + 1];
      expect(second?.json).toMatchObject({
        messages: [
          { role: "user" },
          {
            role: "assistant",
            tool_calls: [{ id: "call_weather_1", function: { name: "weather", arguments: '{"city":"Paris"}' } }],
          },
          { role: "tool", tool_call_id: "call_weather_1", content: "sunny" },
        ],
        tools: [{ type: "function", function: { name: "weather" } }],
      });
    },
  );

  test("CHAT-01 parse: a schema is sent and a typed value returned", async () => {
    upstream().next({ json: chatJson({ content: '{"city":"Paris","degrees":21}' }) });
    const format = zodResponseFormat(z.object({ city: z.string(), degrees: z.number() }), "report");
    const completion = await client.chat.completions.parse({ ...request, response_format: format });
    expect(completion.choices[0]?.message.parsed).toEqual({ city: "Paris", degrees: 21 });
    expect(upstream().requests.at(-1)?.json).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "report", strict: true } },
    });
  });

  test("CHAT-01 models.list and models.retrieve, with slashes in the id", async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain(MODEL);
    expect(await client.models.retrieve(MODEL)).toMatchObject({
      id: MODEL,
      object: "model",
      owned_by: expect.any(String),
    });
  });
});

describe("errors in the official client", () => {
  async function thrownBy(run: () => Promise<unknown>): Promise<APIError> {
    const problem: unknown = await run().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (problem instanceof APIError) return problem;
    throw new Error(`no APIError but ${String(problem)}`);
  }

  test("CHAT-01 ERR-01 each status is its error class, with code, type, param and request id", async () => {
    const withoutRetries = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
    const withUnknownKey = new OpenAI({
      baseURL: `${scene.gateway.url}/v1`,
      apiKey: "sk_svc_live_nobody",
      maxRetries: 0,
    });
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { allowed_models: [MODEL] });
    const ask =
      (body: object = {}) =>
      () =>
        withoutRetries.chat.completions.create({ ...request, ...body });
    const CASES: [() => Promise<unknown>, new (...args: never[]) => APIError, string, string | undefined, Script?][] = [
      [ask({ temperature: 9 }), BadRequestError, "invalid_value", "temperature"],
      [ask({ top_k: 4 }), BadRequestError, "unsupported_parameter", "top_k"],
      [() => withUnknownKey.chat.completions.create(request), AuthenticationError, "invalid_api_key", undefined],
      [ask({ model: "openai/gpt-oss-20b" }), PermissionDeniedError, "model_not_permitted", "model"],
      [ask({ model: "no/such" }), NotFoundError, "model_not_found", "model"],
      [
        ask(),
        UnprocessableEntityError,
        "provider_error",
        undefined,
        { status: 422, json: { error: { message: "odd" } } },
      ],
      [ask(), RateLimitError, "rate_limit_exceeded", undefined, { status: 429, json: {} }],
      [ask(), InternalServerError, "upstream_error", undefined, { status: 500, json: {} }],
    ];
    for (const [run, Kind, code, param, script] of CASES) {
      if (script !== undefined) upstream().next(script);
      const problem = await thrownBy(run);
      expect(problem).toBeInstanceOf(Kind);
      expect([problem.code, problem.param ?? undefined]).toEqual([code, param]);
      expect(problem.requestID).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
      expect(problem.requestID).toBe(problem.headers?.get("x-svc-request-id"));
    }
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { allowed_models: null });
  });

  test("CHAT-01 ERR-02 an error inside a stream is raised with its message, code and request id", async () => {
    upstream().next({ frames: [...chatFrames(["begun"]).slice(0, 2), sse({ error: { message: "boom" } })] });
    const { data: stream, request_id } = await client.chat.completions
      .create({ ...request, stream: true })
      .withResponse();
    let text = "";
    const problem = await thrownBy(async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    });
    expect(text).toBe("begun");
    expect([problem.code, problem.type]).toEqual(["upstream_error", "upstream_error"]);
    expect(problem.error).toMatchObject({ request_id });
    expect(problem.message).toMatch(/not charged/);
  });

  test("CHAT-01 ERR-05 402 is not retried by the client", async () => {
    const poor = await scene.gateway.tenant({ credit: "0" });
    const withoutCredit = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: poor.key });
    const problem = await thrownBy(() => withoutCredit.chat.completions.create(request));
    expect([problem.status, problem.code, problem.type]).toEqual([402, "insufficient_credits", "billing_error"]);
    expect(await scene.rows(poor)).toHaveLength(1);
  });

  test("CHAT-01 a temporary failure is retried by the client and billed once", async () => {
    const payer = await scene.gateway.tenant();
    const retrying = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: payer.key });
    upstream().next({ status: 429, json: {} });
    const completion = await retrying.chat.completions.create(request);
    expect(completion.choices[0]?.message.content).toBe("Hello there");
    expect((await scene.rows(payer)).map((row) => row.status)).toEqual([200, 429]);
    expect(await scene.charges(payer)).toHaveLength(1);
  });
});
