import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { chunksOf, QUIET } from "../support/scene.ts";
import { sdkTests, time, weather } from "../support/sdk-suite.ts";

/** The official SDKs and a simulated provider of responses that validates ids, signatures and the order of items. One model has that format only; the other also has chat completions, where it reasons or takes tools. */
const ALONE = "alibaba/qwen3.5-397b-a17b";
const BOTH = "openai/gpt-5.6-terra";

let sandbox: Sandbox;
let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
  const simulated = (facts: Json) => {
    for (const endpoint of facts.endpoints) endpoint.upstream_model = "sandbox/chat";
  };
  const alone = (facts: Json) => {
    simulated(facts);
    facts.dialects = [];
    facts.quirks = ["encrypted-reasoning"];
    for (const endpoint of facts.endpoints) delete endpoint.decisions_interface;
  };
  const us = `${sandbox.origins["sandbox-us"]}/v1`;
  gateway = await startGateway({
    env: {
      ...QUIET,
      GATEWAY_CATALOGUE_DIR: changedCatalogue({ scaleway: alone, openai: simulated }),
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: us,
      PROVIDER_OPENAI_API_KEY: "k",
      PROVIDER_OPENAI_BASE_URL: us,
    },
  });
  tenant = await gateway.tenant();
});
afterAll(async () => {
  await gateway.close();
  await sandbox.close();
});

const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: gateway.url, apiKey: null, authToken: tenant.key, maxRetries: 0 });

describe("an endpoint of this format only", () => {
  sdkTests({ gateway: () => gateway, client: openai }, { model: ALONE, provider: "sandbox-us", surface: "responses" });

  test("CHAT-04 response_format: an object and a schema", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", schema } };
    const messages = [{ role: "user" as const, content: "hello in JSON" }];
    const reply = await openai().chat.completions.create({ model: ALONE, messages, response_format });
    expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    const plain = { type: "json_object" as const };
    const other = await openai().chat.completions.create({ model: ALONE, messages, response_format: plain });
    expect(JSON.parse(other.choices[0]?.message.content ?? "")).toMatchObject({ simulated_by: "sandbox-us" });
  });

  test("CHAT-08 the token limit and its minimum", async () => {
    const messages = [{ role: "user" as const, content: "a b c d e f g h i j k l m n o p q r s t u v w x y z" }];
    const cut = await openai().chat.completions.create({ model: ALONE, messages, max_tokens: 16 });
    expect(cut.choices[0]?.finish_reason).toBe("length");
    const { status, body } = await gateway.call(tenant.key, "/v1/chat/completions", {
      body: { model: ALONE, messages, max_tokens: 15 },
    });
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "max_tokens"]);
  });

  test("MOD-01 RESP-01 it is listed, and callers of its own dialect use passthrough", async () => {
    const ids = (await openai().models.list()).data.map(({ id }) => id);
    expect(ids).toContain(ALONE);
    const { data, response } = await openai()
      .responses.create({ model: ALONE, input: "hello", store: false })
      .withResponse();
    expect(data.output_text).toContain("You said: hello");
    expect(response.headers.get("x-svc-upstream-surface")).toBe("responses");
  });
});

describe.each([ALONE, BOTH])("%s", (model) => {
  const get = (how: string) => [{ role: "user" as const, content: `get_weather and get_time please, ${how}` }];

  test.each(["whole", "streamed"])(
    "CHAT-05 two turns of chat, %s: reasoning, calls, results, the final text",
    async (how) => {
      const ask = { model, messages: get(how), tools: [weather, time], reasoning_effort: "high" as const };
      const stream = how === "streamed";
      const first = await gateway.call(tenant.key, "/v1/chat/completions", { body: { ...ask, stream } });
      expect(first.headers.get("x-svc-upstream-surface")).toBe("responses");
      const message = stream ? foldChat(chunksOf(first.text)) : first.body.choices[0].message;
      expect(message.reasoning_content).toContain("effort high");
      expect(message.reasoning_details[0]).toMatchObject({ format: "openai-responses-v1" });
      expect(message.tool_calls.map((call: Json) => call.function.name)).toEqual(["get_weather", "get_time"]);
      const results = message.tool_calls.map(({ id }: Json) => ({ role: "tool", tool_call_id: id, content: "ok" }));
      const second = await gateway.call(tenant.key, "/v1/chat/completions", {
        body: { ...ask, messages: [...ask.messages, message, ...results] },
      });
      expect(second.status, second.text).toBe(200);
      expect(second.body.choices[0].message.content).toContain("The tool get_time answered: ok");
      const forged = { ...message.reasoning_details[0], signature: `${message.reasoning_details[0].signature}x` };
      const refused = await gateway.call(tenant.key, "/v1/chat/completions", {
        body: { ...ask, messages: [...ask.messages, { ...message, reasoning_details: [forged] }, ...results] },
      });
      expect([refused.status, refused.body.error.message]).toEqual([
        400,
        expect.stringContaining("could not be verified"),
      ]);
    },
  );

  test("MSG-04 two turns of messages: reasoning makes the round trip with its signature", async () => {
    const tool = {
      name: "get_weather",
      input_schema: {
        type: "object" as const,
        properties: { city: { type: "string", enum: ["Paris"] } },
        required: ["city"],
      },
    };
    const ask = { model, max_tokens: 4000, thinking: { type: "adaptive" as const }, tools: [tool] };
    const question = { role: "user" as const, content: "What does get_weather say?" };
    const stream = anthropic().messages.stream({ ...ask, messages: [question] });
    const streamed = await stream.finalMessage();
    const whole = await anthropic().messages.create({ ...ask, messages: [question] });
    for (const { content, stop_reason } of [whole, streamed]) {
      expect(content.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
      expect(stop_reason).toBe("tool_use");
      const call = content.find((block) => block.type === "tool_use");
      expect(call?.input).toEqual({ city: "Paris" });
      const result = { type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "sunny" };
      const messages = [
        question,
        { role: "assistant" as const, content },
        { role: "user" as const, content: [result] },
      ];
      const second = await anthropic().messages.create({ ...ask, messages });
      expect(JSON.stringify(second.content)).toContain("sunny");
    }
  });

  test.each(["whole", "streamed"])("MSG-04 the tool runner continues until the model is done (%s)", async (way) => {
    const cities: unknown[] = [];
    const tool = betaTool({
      name: "get_weather",
      description: "The weather of a city.",
      inputSchema: { type: "object", properties: { city: { type: "string", enum: ["Paris"] } }, required: ["city"] },
      run: ({ city }) => {
        cities.push(city);
        return `sunny in ${city}`;
      },
    });
    const messages = [{ role: "user" as const, content: "What does get_weather say?" }];
    const params = { model, max_tokens: 4000, messages, thinking: { type: "adaptive" as const }, tools: [tool] };
    const runner =
      way === "whole"
        ? anthropic().beta.messages.toolRunner(params)
        : anthropic().beta.messages.toolRunner({ ...params, stream: true });
    const last = await runner.runUntilDone();
    expect(cities).toEqual(["Paris"]);
    expect(JSON.stringify(last.content)).toContain("sunny in Paris");
  });
});

/** The message that a client assembles from a stream. */
function foldChat(chunks: readonly Json[]): Json {
  const message: Json = {
    role: "assistant",
    content: null,
    reasoning_content: "",
    reasoning_details: [],
    tool_calls: [],
  };
  for (const { delta } of chunks.flatMap(({ choices }) => choices)) {
    if (delta.content) message.content = (message.content ?? "") + delta.content;
    message.reasoning_content += delta.reasoning_content ?? "";
    message.reasoning_details.push(...(delta.reasoning_details ?? []));
    for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
      message.tool_calls[index] ??= { id, type, function: { name: called.name, arguments: "" } };
      message.tool_calls[index].function.arguments += called.arguments ?? "";
    }
  }
  return message;
}
