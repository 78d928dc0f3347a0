import { request } from "node:http";
import { Ajv2020 } from "ajv/dist/2020.js";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { FAULT_MODELS } from "./fault-injection.ts";
import { PROVIDER_PROFILES, SANDBOX_SLUGS, type SandboxSlug } from "./provider-profiles.ts";
import { type Sandbox, startSandbox } from "./server.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
});
afterAll(() => sandbox.close());

function client(slug: SandboxSlug): OpenAI {
  return new OpenAI({ baseURL: `${sandbox.origins[slug]}/v1`, apiKey: "any", maxRetries: 0 });
}

function post(slug: SandboxSlug, body: unknown, headers: Record<string, string> = { authorization: "Bearer any" }) {
  return fetch(`${sandbox.origins[slug]}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const hello = { model: "sandbox/chat", messages: [{ role: "user" as const, content: "Grüße aus Köln 🌧" }] };
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { enum: ["celsius", "kelvin"] },
        days: { type: "integer", minimum: 2 },
      },
      required: ["city", "unit", "days"],
      additionalProperties: false,
    },
  },
};
const time = {
  type: "function" as const,
  function: { name: "get_time", parameters: { type: "object", properties: {} } },
};

function validate(schema: object, json: string): boolean {
  return new Ajv2020({ strict: false }).validate(schema, JSON.parse(json));
}

describe("text", () => {
  test.each(SANDBOX_SLUGS)("%s repeats the last user message under its own name", async (slug) => {
    const reply = await client(slug).chat.completions.create(hello);
    expect(reply.choices[0]?.message.content).toBe(`[simulated by ${slug}] You said: Grüße aus Köln 🌧`);
    expect(reply).toMatchObject({ object: "chat.completion", model: "sandbox/chat" });
    expect(reply.id).toMatch(/^chatcmpl-/);
    expect(reply.choices[0]).toMatchObject({ finish_reason: "stop", logprobs: null, message: { refusal: null } });
  });

  test("a token is four bytes of UTF-8, rounded up, plus three per message", async () => {
    const reply = await client("sandbox-us").chat.completions.create(hello);
    const text = reply.choices[0]?.message.content ?? "";
    expect(reply.usage?.prompt_tokens).toBe(3 + Math.ceil(Buffer.byteLength("Grüße aus Köln 🌧") / 4));
    expect(reply.usage?.completion_tokens).toBe(Math.ceil(Buffer.byteLength(text) / 4));
    expect(reply.usage?.total_tokens).toBe((reply.usage?.prompt_tokens ?? 0) + (reply.usage?.completion_tokens ?? 0));
  });

  test("a stream matches the JSON response, with usage in its last chunk if requested", async () => {
    const whole = await client("sandbox-us").chat.completions.create(hello);
    const stream = await client("sandbox-us").chat.completions.create({
      ...hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.length).toBeGreaterThan(5);
  });

  test("without include_usage no chunk has a usage field, and the stream ends with [DONE]", async () => {
    const response = await post("sandbox-us", { ...hello, stream: true });
    const body = await response.text();
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(body).not.toContain("usage");
    expect(body.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("max_tokens cuts between characters and reports length", async () => {
    const reply = await client("sandbox-us").chat.completions.create({
      model: "sandbox/chat",
      messages: [{ role: "user", content: "🌧".repeat(50) }],
      max_tokens: 12,
    });
    expect(reply.choices[0]?.finish_reason).toBe("length");
    expect(reply.usage?.completion_tokens).toBeLessThanOrEqual(12);
    expect(reply.choices[0]?.message.content).not.toContain("\uFFFD");
  });

  test("a stop sequence ends the reply before it", async () => {
    const reply = await client("sandbox-us").chat.completions.create({ ...hello, stop: ["aus", "Köln"] });
    expect(reply.choices[0]?.message.content).toBe("[simulated by sandbox-us] You said: Grüße ");
    expect(reply.choices[0]?.finish_reason).toBe("stop");
  });

  test("reasoning needs an effort, is counted, and consumes the token limit", async () => {
    const create = (more: { reasoning_effort?: "high"; max_completion_tokens?: number }) =>
      client("sandbox-us").chat.completions.create({ ...hello, ...more });
    const plain = await create({});
    const thoughtful = await create({ reasoning_effort: "high" });
    expect(plain.choices[0]?.message).not.toHaveProperty("reasoning_content");
    expect(thoughtful.choices[0]?.message).toMatchObject({ reasoning_content: expect.stringContaining("effort high") });
    const thought = thoughtful.usage?.completion_tokens_details?.reasoning_tokens ?? 0;
    expect(thought).toBeGreaterThan(0);
    expect(thoughtful.usage?.completion_tokens).toBe(thought + (plain.usage?.completion_tokens ?? 0));
    const starved = await create({ reasoning_effort: "high", max_completion_tokens: 5 });
    expect(starved.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "" } });
    expect(starved.usage?.completion_tokens).toBe(5);
  });

  test("log-probabilities are returned for every word if requested", async () => {
    const reply = await client("sandbox-us").chat.completions.create({ ...hello, logprobs: true, top_logprobs: 2 });
    const tokens = reply.choices[0]?.logprobs?.content ?? [];
    expect(tokens.map((one) => one.token).join("")).toBe(reply.choices[0]?.message.content);
    const counted = await client("sandbox-us").chat.completions.create({ ...hello, top_logprobs: 2 });
    expect(counted.choices[0]?.logprobs?.content).toEqual(tokens);
  });

  test("images are accepted by vision models and rejected by others", async () => {
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        ],
      },
    ];
    const seen = await post("sandbox-us", { model: "sandbox/chat", messages });
    expect(await seen.text()).toContain("You said: Look (with 1 image)");
    const blind = await post("sandbox-us", { model: "sandbox/chat-mini", messages });
    expect(blind.status).toBe(400);
  });
});

describe("tools", () => {
  test("a tool named by the user is called with valid arguments, then its result is quoted", async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "user", content: "Please use get_weather for Köln." },
    ];
    const first = await client("sandbox-de").chat.completions.create({
      model: "sandbox/chat",
      messages,
      tools: [weather, time],
    });
    const message = first.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    expect(message?.content).toBeNull();
    expect(message?.tool_calls?.length).toBe(1);
    if (message === undefined || call?.type !== "function") throw new Error("no call");
    expect(validate(weather.function.parameters, call.function.arguments)).toBe(true);
    messages.push(message, { role: "tool", tool_call_id: call.id, content: "21 °C and rain" });
    const second = await client("sandbox-de").chat.completions.create({
      model: "sandbox/chat",
      messages,
      tools: [weather, time],
    });
    expect(second.choices[0]?.message.content).toBe(
      "[simulated by sandbox-de] The tool get_weather answered: 21 °C and rain",
    );
  });

  test("several named tools are called in parallel with an index each, or one if parallel calls are off", async () => {
    const body = {
      model: "sandbox/chat",
      messages: [{ role: "user" as const, content: "get weather and get time" }],
      tools: [weather, time],
    };
    const stream = client("sandbox-us").chat.completions.stream({ ...body, stream_options: { include_usage: true } });
    const reply = await stream.finalChatCompletion();
    const calls = reply.choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => (call.type === "function" ? call.function.name : ""))).toEqual([
      "get_weather",
      "get_time",
    ]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    expect(calls[0]?.type === "function" && validate(weather.function.parameters, calls[0].function.arguments)).toBe(
      true,
    );
    expect(reply.choices[0]?.finish_reason).toBe("tool_calls");
    const single = await client("sandbox-us").chat.completions.create({ ...body, parallel_tool_calls: false });
    expect(single.choices[0]?.message.tool_calls?.length).toBe(1);
  });

  test("tool_choice: required and named force a call, none forbids it, auto needs the tool's name", async () => {
    const names = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption, content = "hello") => {
      const reply = await client("sandbox-us").chat.completions.create({
        model: "sandbox/chat",
        messages: [{ role: "user", content }],
        tools: [weather, time],
        tool_choice,
      });
      return reply.choices[0]?.message.tool_calls?.map((call) => (call.type === "function" ? call.function.name : ""));
    };
    expect(await names("auto")).toBeUndefined();
    expect(await names("auto", "forget_weather is no tool")).toBeUndefined();
    expect(await names("none", "get_time")).toBeUndefined();
    expect(await names("required")).toEqual(["get_weather"]);
    expect(await names({ type: "function", function: { name: "get_time" } })).toEqual(["get_time"]);
    const only = { mode: "required" as const, tools: [{ type: "function", function: { name: "get_time" } }] };
    expect(await names({ type: "allowed_tools", allowed_tools: only }, "get_weather")).toEqual(["get_time"]);
  });
});

describe("structured output", () => {
  test("json_schema gets a valid value, streamed or not", async () => {
    const schema = {
      type: "object",
      properties: { steps: { type: "array", items: { $ref: "#/$defs/step" }, minItems: 2 }, sure: { type: "boolean" } },
      required: ["steps", "sure"],
      additionalProperties: false,
      $defs: {
        step: {
          type: "object",
          properties: { text: { type: "string" } },
          required: ["text"],
          additionalProperties: false,
        },
      },
    };
    const body = {
      ...hello,
      response_format: { type: "json_schema" as const, json_schema: { name: "plan", strict: true, schema } },
    };
    const whole = await client("sandbox-fr").chat.completions.create(body);
    const text = whole.choices[0]?.message.content ?? "";
    expect(validate(schema, text)).toBe(true);
    const streamed = await client("sandbox-fr").chat.completions.stream(body).finalContent();
    expect(streamed).toBe(text);
  });

  test("json_object gets a JSON object", async () => {
    const reply = await client("sandbox-us").chat.completions.create({
      ...hello,
      response_format: { type: "json_object" },
    });
    expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({
      simulated_by: "sandbox-us",
      text: "You said: Grüße aus Köln 🌧",
    });
  });

  test("an unsupported schema is a 400 with the reason", async () => {
    const response_format = { type: "json_schema", json_schema: { name: "x", schema: { not: {} } } };
    const response = await post("sandbox-us", { ...hello, response_format });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "response_format", code: "invalid_json_schema" } });
  });
});

describe("errors in the provider's own format", () => {
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const CASES: readonly (readonly [string, unknown, number, string | null])[] = [
    ["no JSON", "{", 400, null],
    ["no messages", { model: "sandbox/chat" }, 400, "messages"],
    ["no model", { messages: hello.messages }, 400, "model"],
    ["an unknown field", { ...hello, session_id: "x" }, 400, "session_id"],
    ["an unknown role", { ...hello, messages: [{ role: "king", content: "x" }] }, 400, "messages[0].role"],
    ["a bad temperature", { ...hello, temperature: 3 }, 400, "temperature"],
    ["a word of others", { ...hello, model: "sandbox/chat-mini", reasoning_effort: "max" }, 400, "reasoning_effort"],
    ["stream_options without stream", { ...hello, stream_options: { include_usage: true } }, 400, "stream_options"],
    ["a call demanded without tools", { ...hello, tool_choice: "required" }, 400, "tool_choice"],
    [
      "a result without its call",
      { ...hello, messages: [{ role: "tool", content: "x", tool_call_id: "y" }] },
      400,
      "messages[0].tool_call_id",
    ],
    [
      "a call without its result",
      { ...hello, messages: [{ role: "assistant", tool_calls: [call] }, ...hello.messages] },
      400,
      "messages",
    ],
    ["an unknown model", { ...hello, model: "sandbox/none" }, 404, null],
  ];
  test.each(CASES)("%s", async (_name, body, status, param) => {
    const response = await post("sandbox-us", body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { type: "invalid_request_error", param, message: expect.any(String) },
    });
  });

  test("a model of another provider is unknown here", async () => {
    expect((await post("sandbox-us", { ...hello, model: "sandbox/chat-fr" })).status).toBe(404);
    expect((await post("sandbox-fr", { ...hello, model: "sandbox/chat-fr" })).status).toBe(200);
  });

  test.each([{}, { authorization: "Bearer " }, { authorization: "Basic abc" }])(
    "no bearer token: %j is a 401",
    async (headers) => {
      const response = await post("sandbox-us", hello, { ...headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: { code: "invalid_api_key" } });
    },
  );

  test("unknown paths are 404 and a wrong method is 405", async () => {
    const headers = { authorization: "Bearer any" };
    expect((await fetch(`${sandbox.origins["sandbox-us"]}/v1/nothing`, { headers })).status).toBe(404);
    expect((await fetch(`${sandbox.origins["sandbox-us"]}/v1/chat/completions`, { headers })).status).toBe(405);
  });
});

describe("injected faults", () => {
  test("the models list contains no fault model", async () => {
    const models = await Array.fromAsync(client("sandbox-us").models.list());
    expect(models.map((model) => model.id)).toEqual([...PROVIDER_PROFILES["sandbox-us"].models]);
    for (const { id } of models) expect(FAULT_MODELS).not.toContain(id);
  });

  test("fail-500 and fail-429 return their status, the latter with Retry-After", async () => {
    const broken = await post("sandbox-us", { ...hello, model: "sandbox/fail-500" });
    expect(broken.status).toBe(500);
    const limited = await post("sandbox-us", { ...hello, model: "sandbox/fail-429" });
    expect(limited.status).toBe(429);
    expect(limited.headers.get("retry-after")).toBe("7");
  });

  test("fail-over fails on sandbox-us and is served by the others", async () => {
    const statuses = await Promise.all(
      SANDBOX_SLUGS.map(async (slug) => (await post(slug, { ...hello, model: "sandbox/fail-over" })).status),
    );
    expect(statuses).toEqual([503, 200, 200]);
  });

  test("cut sends part of a response and closes the connection, streamed or not", async () => {
    for (const stream of [true, false]) {
      const response = await post("sandbox-us", { ...hello, model: "sandbox/cut", stream });
      expect(response.status).toBe(200);
      const decoder = new TextDecoder();
      let seen = "";
      const reading = (async () => {
        for await (const chunk of response.body ?? []) seen += decoder.decode(chunk, { stream: true });
      })();
      await expect(reading).rejects.toThrow();
      expect(seen).toContain("chatcmpl-");
      expect(seen).not.toContain("[DONE]");
    }
  });

  test("garbage is a web page with status 200", async () => {
    const response = await post("sandbox-us", { ...hello, model: "sandbox/garbage" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("text/html");
  });

  test("request content never triggers a fault", async () => {
    const content = "sandbox/fail-500 sandbox/cut sandbox/garbage sandbox/fail-429";
    const response = await post("sandbox-us", { ...hello, messages: [{ role: "user", content }] });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(content);
  });

  test("a client disconnect does not affect the next request", async () => {
    await new Promise<void>((resolve, reject) => {
      const call = request(`${sandbox.origins["sandbox-us"]}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: "Bearer any" },
      });
      call.on("response", (response) => response.once("data", () => call.destroy()).on("error", () => undefined));
      call.on("close", resolve).on("error", reject);
      call.end(JSON.stringify({ ...hello, stream: true, messages: [{ role: "user", content: "word ".repeat(1000) }] }));
    });
    expect((await post("sandbox-us", hello)).status).toBe(200);
  });
});
