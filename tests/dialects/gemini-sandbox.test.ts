import { describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { chunksOf, contentOf } from "../support/scene.ts";
import { messages, sdkForFile, sdkTests, time } from "../support/sdk-suite.ts";

const sdk = sdkForFile();
const { client } = sdk;
const model = "sandbox/gemini";

async function chat(body: object) {
  const { call, key } = sdk.gateway();
  return call(key, "/v1/chat/completions", { body: { model, messages, ...body } });
}

describe("the official SDK and a simulated provider that speaks Gemini", () => {
  sdkTests(sdk, { model, provider: "sandbox-us", surface: "chat" });

  test("CHAT-03 a missing signature is tolerated, a changed one is refused", async () => {
    const question = { role: "user", content: "get_time please" };
    const { body } = await chat({ messages: [question], tools: [time] });
    const { message } = body.choices[0];
    const [call] = message.tool_calls;
    const again = (tool_call: object) =>
      chat({
        messages: [
          question,
          { ...message, tool_calls: [tool_call] },
          { role: "tool", tool_call_id: call.id, content: "noon" },
        ],
        tools: [time],
      });
    expect((await again(call)).body.choices[0].message.content).toContain("answered: noon");
    const { extra_content: _lost, ...unsigned } = call;
    expect((await again(unsigned)).status).toBe(200);
    const changed = await again({ ...call, extra_content: { google: { thought_signature: "AAAA" } } });
    expect([changed.status, changed.body.error.code]).toEqual([400, "provider_error"]);
  });

  test("CHAT-04 response_format: an object, a schema, and a schema together with tools", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", schema } };
    for (const more of [{}, { tools: [time] }]) {
      const reply = await client().chat.completions.create({ model, messages, response_format, ...more });
      expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    }
    const plain = await client().chat.completions.create({ model, messages, response_format: { type: "json_object" } });
    expect(JSON.parse(plain.choices[0]?.message.content ?? "")).toMatchObject({ text: "You said: hello" });
  });

  test("CHAT-05 reasoning is returned, and signed text can be sent back unchanged, from a reply or a stream", async () => {
    const whole = (await chat({ reasoning_effort: "low" })).body.choices[0].message;
    expect(whole.reasoning_content).toContain("effort low");
    const { text } = await chat({ reasoning_effort: "low", stream: true });
    const deltas = chunksOf(text).map((chunk) => chunk.choices[0].delta);
    const streamed = {
      role: "assistant",
      content: contentOf(text),
      reasoning_content: deltas.map((delta: Json) => delta.reasoning_content ?? "").join(""),
      reasoning_details: deltas.flatMap((delta: Json) => delta.reasoning_details ?? []),
    };
    expect(whole).toMatchObject(streamed);
    for (const turn of [whole, streamed]) {
      const next = await chat({ messages: [...messages, turn, { role: "user", content: "and now?" }] });
      expect(next.body.choices[0].message.content).toContain("You said: and now?");
    }
    const forged = { ...streamed, content: "something else" };
    const refused = await chat({ messages: [...messages, forged, ...messages] });
    expect([refused.status, refused.body.error.message]).toEqual([400, "Corrupted thought signature."]);
  });

  test("CHAT-02 all roles, images, audio and files", async () => {
    const reply = await chat({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hello" },
        { role: "assistant", content: "Hi." },
        { role: "developer", content: "Now briefly." },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
            { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" } },
          ],
        },
      ],
    });
    expect(reply.body.choices[0].message.content).toContain("You said: Now briefly.\nlook (with 1 image)");
  });

  test("CHAT-08 the token limit, before and after the first token", async () => {
    const cut = await chat({ max_tokens: 3 });
    expect(cut.body.choices[0].finish_reason).toBe("length");
    const thinking = await chat({ max_tokens: 1, reasoning_effort: "high", stream: true });
    expect(chunksOf(thinking.text).at(-1).choices[0].finish_reason).toBe("length");
  });
});
