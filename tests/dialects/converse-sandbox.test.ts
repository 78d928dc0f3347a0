import { describe, expect, test } from "vitest";
import { messages, sdkForFile, sdkTests } from "../support/sdk-suite.ts";

const sdk = sdkForFile();
const { client } = sdk;
const model = "sandbox/nova";

describe("the official SDK and a simulated provider that speaks Converse", () => {
  sdkTests(sdk, { model, provider: "sandbox-de", surface: "chat" });

  test("CHAT-04 response_format: a schema is enforced although the provider only supports tools", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", schema } };
    const reply = await client().chat.completions.create({ model, messages, response_format });
    const [choice] = reply.choices;
    expect(JSON.parse(choice?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    expect(choice?.finish_reason).toBe("stop");
    expect(choice?.message.tool_calls).toBeUndefined();
    const final = await client().chat.completions.stream({ model, messages, response_format }).finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(choice?.message.content);
    const object = await client().chat.completions.create({
      model,
      messages,
      response_format: { type: "json_object" },
    });
    expect(object.choices[0]?.finish_reason).toBe("stop");
    expect(JSON.parse(object.choices[0]?.message.content ?? "")).toMatchObject({ text: "You said: hello" });
  });

  test("CHAT-05 reasoning is returned beside the text, and the effort sent to the provider is in a header", async () => {
    const { data, response } = await client()
      .chat.completions.create({ model, messages, reasoning_effort: "xhigh" })
      .withResponse();
    expect(data.choices[0]?.message).toMatchObject({ reasoning_content: expect.stringContaining("effort high") });
    expect(response.headers.get("x-svc-reasoning-effort")).toBe("high");
    expect(response.headers.get("x-svc-upstream-surface")).toBe("chat");
  });

  test("CHAT-08 a token limit ends with length, a stop sequence with stop", async () => {
    const short = await client().chat.completions.create({ model, messages, max_tokens: 3 });
    expect(short.choices[0]?.finish_reason).toBe("length");
    const stopped = await client().chat.completions.create({ model, messages, stop: ["You"] });
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "[simulated by sandbox-de] " },
    });
  });

  test("CHAT-02 an image as a data URL is accepted; a remote URL is refused before any provider is called", async () => {
    const ask = (url: string) =>
      client().chat.completions.create({
        model,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "look" },
              { type: "image_url", image_url: { url } },
            ],
          },
        ],
      });
    const seen = await ask("data:image/png;base64,iVBORw0KGgo=");
    expect(seen.choices[0]?.message.content).toContain("(with 1 image)");
    await expect(ask("https://example.com/a.png")).rejects.toMatchObject({
      status: 400,
      code: "unsupported_parameter",
      param: "messages.0.content.1",
    });
  });
});
