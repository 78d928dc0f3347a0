import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { messages, sdkForFile, sdkTests, weather } from "../support/sdk-suite.ts";

const sdk = sdkForFile();
const { client } = sdk;
const model = "sandbox/claude";

describe("the official SDK and a simulated provider that speaks the messages format", () => {
  sdkTests(sdk, { model, provider: "sandbox-us", surface: "messages" });

  test("CHAT-04 structured output is parsed by the SDK, whole and streamed, and json_object is an object", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", strict: true, schema } };
    const reply = await client().chat.completions.parse({ model, messages, response_format });
    expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    const final = await client().chat.completions.stream({ model, messages, response_format }).finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(reply.choices[0]?.message.content);
    const object = await client().chat.completions.create({
      model,
      messages,
      response_format: { type: "json_object" },
    });
    expect(JSON.parse(object.choices[0]?.message.content ?? "")).toMatchObject({ text: "You said: hello" });
  });

  test("CHAT-05 signed reasoning survives the round trip through the SDK; changed reasoning is refused", async () => {
    const tools = [weather];
    const question = { role: "user" as const, content: "get_weather" };
    const ask = (all: Json[]) =>
      client().chat.completions.create({ model, messages: all, tools, reasoning_effort: "high" }).withResponse();
    const { data, response } = await ask([question]);
    expect(response.headers.get("x-svc-reasoning-effort")).toBe("high");
    const message: Json = data.choices[0]?.message;
    expect(message.reasoning_content).toContain("effort high");
    expect(message.reasoning_details).toMatchObject([{ type: "reasoning.text", format: "anthropic-claude-v1" }]);
    const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "rain" };
    const after = await ask([question, message, result]);
    expect(after.data.choices[0]?.message.content).toContain("The tool get_weather answered: rain");

    const [detail] = message.reasoning_details;
    const forged = { ...message, reasoning_details: [{ ...detail, text: `${detail.text}!` }] };
    await expect(ask([question, forged, result])).rejects.toMatchObject({ status: 400, code: "provider_error" });
    const foreign = { ...message, reasoning_details: [{ ...detail, format: "google-gemini-v1" }] };
    expect((await ask([question, foreign, result])).response.status).toBe(200);
  });

  test("CHAT-05 reasoning of a stream equals that of a whole reply", async () => {
    const ask = { model, messages, reasoning_effort: "low" as const };
    const whole: Json = (await client().chat.completions.create(ask)).choices[0]?.message;
    let text = "";
    const details: Json[] = [];
    for await (const chunk of await client().chat.completions.create({ ...ask, stream: true })) {
      const delta: Json = chunk.choices[0]?.delta ?? {};
      text += delta.reasoning_content ?? "";
      details.push(...(delta.reasoning_details ?? []));
    }
    expect(text).toBe(whole.reasoning_content);
    expect(details).toEqual(whole.reasoning_details);
  });

  test("CHAT-08 a token limit ends with length, a stop sequence with stop", async () => {
    const short = await client().chat.completions.create({ model, messages, max_tokens: 3 });
    expect(short.choices[0]?.finish_reason).toBe("length");
    const stopped = await client().chat.completions.create({ model, messages, stop: ["You"] });
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "[simulated by sandbox-us] " },
    });
  });

  test("CHAT-02 every role, images and files; audio is refused by name before any provider is called", async () => {
    const part = (more: OpenAI.ChatCompletionContentPart) =>
      client().chat.completions.create({
        model,
        messages: [
          { role: "system", content: "Be kind." },
          { role: "developer", content: "Be brief." },
          { role: "user", content: "hi" },
          { role: "assistant", content: "Hello!" },
          { role: "system", content: "Now look." },
          { role: "user", content: [{ type: "text", text: "look" }, more] },
        ],
      });
    const seen = await part({ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } });
    expect(seen.choices[0]?.message.content).toBe("[simulated by sandbox-us] You said: Now look.\nlook (with 1 image)");
    await part({ type: "image_url", image_url: { url: "https://example.com/a.png" } });
    await part({ type: "file", file: { file_data: "data:text/plain;base64,aGk=", filename: "a.txt" } });
    await expect(part({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } })).rejects.toMatchObject({
      status: 400,
      code: "unsupported_parameter",
      param: "messages.5.content.1",
    });
  });

  test("CHAT-03 tools that are no longer offered and ids of another dialect are accepted", async () => {
    const id = "call+1/=";
    const reply = await client().chat.completions.create({
      model,
      messages: [
        ...messages,
        {
          role: "assistant",
          tool_calls: [{ id, type: "function", function: { name: "get_time", arguments: "" } }],
        },
        { role: "tool", tool_call_id: id, content: "noon" },
      ],
    });
    expect(reply.choices[0]?.message.content).toContain("The tool get_time answered: noon");
  });
});
