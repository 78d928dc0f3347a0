import OpenAI, { APIUserAbortError } from "openai";
import { LengthFinishReasonError } from "openai/error";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const messages = [{ role: "user" as const, content: "hello" }];
const Report = z.object({ city: z.string(), degrees: z.number() });

/** A tool that the client runs automatically. */
function weather(cities: string[]) {
  return {
    type: "function" as const,
    function: {
      name: "get_weather",
      description: "The weather of a city.",
      parameters: { type: "object" as const, properties: { city: { type: "string" as const } }, required: ["city"] },
      parse: (text: string): { city: string } => z.object({ city: z.string() }).parse(JSON.parse(text)),
      function: ({ city }: { city: string }) => {
        cities.push(city);
        return "sunny";
      },
    },
  };
}

describe.each(["sandbox/chat", "sandbox/claude", "sandbox/gemini", "sandbox/nova"])("%s", (model) => {
  test("CHAT-01 CHAT-07 create and the stream helper give the same message, usage and finish reason", async () => {
    const reply = await client.chat.completions.create({ model, messages });
    const runner = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
    const deltas: string[] = [];
    runner.on("content", (delta) => deltas.push(delta));
    const final = await runner.finalChatCompletion();
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe(reply.choices[0]?.message.content);
    expect(await runner.finalMessage()).toMatchObject({ role: "assistant", content: deltas.join(""), refusal: null });
    expect(final.choices[0]?.finish_reason).toBe(reply.choices[0]?.finish_reason);
    expect(final.usage).toEqual(reply.usage);
    expect(reply._request_id).toBe(reply.id);
  });

  test.each(["whole", "streamed"])(
    "CHAT-03 runTools, %s: the tool runs once and its result is in the reply",
    async (how) => {
      const cities: string[] = [];
      const ask = { model, messages: [{ role: "user" as const, content: "get_weather" }], tools: [weather(cities)] };
      const runner =
        how === "whole"
          ? client.chat.completions.runTools(ask)
          : client.chat.completions.runTools({ ...ask, stream: true });
      expect(await runner.finalContent()).toContain("The tool get_weather answered: sunny");
      expect(cities).toHaveLength(1);
      const roles = runner.messages.map(({ role }) => role);
      expect(roles).toEqual(["user", "assistant", "tool", "assistant"]);
    },
  );

  test("CHAT-04 parse and the stream helper give the same typed value", async () => {
    const response_format = zodResponseFormat(Report, "report");
    const reply = await client.chat.completions.parse({ model, messages, response_format });
    const parsed = reply.choices[0]?.message.parsed;
    expect(Report.parse(parsed)).toEqual(parsed);
    const final = await client.chat.completions.stream({ model, messages, response_format }).finalChatCompletion();
    expect(final.choices[0]?.message.parsed).toEqual(parsed);
  });

  test("CHAT-08 parse refuses a reply that was cut at its limit", async () => {
    const ask = { model, messages, max_tokens: 2, response_format: zodResponseFormat(Report, "report") };
    await expect(client.chat.completions.parse(ask)).rejects.toThrow(LengthFinishReasonError);
  });

  test("CHAT-09 an aborted stream is logged as disconnected", async () => {
    const long = [{ role: "user" as const, content: "word ".repeat(1500) }];
    const { data: stream, response } = await client.chat.completions
      .create({ model, messages: long, stream: true })
      .withResponse();
    const reading = (async () => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stream.controller.abort();
    })();
    await reading.catch((error: unknown) => expect(error).toBeInstanceOf(APIUserAbortError));
    const id = response.headers.get("x-svc-request-id");
    await eventually(
      async () => {
        const row: Json = await gateway.manage("GET", `/requests/${id}`);
        expect([row.model, row.error_code]).toEqual([model, "client_disconnected"]);
      },
      { interval: 25 },
    );
  });
});
