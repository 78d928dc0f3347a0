import { describe, expect, test } from "vitest";
import { CHAT_CALL, CHAT_FACTS } from "../../../../../tests/support/chat.ts";
import type { Json } from "../../../../../tests/support/gateway.ts";
import { Fault } from "../../../../contract/faults.ts";
import type { Call } from "../../../canon/call.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import type { Quirk } from "../../../canon/quirks.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { chatUpstream } from "./dialect.ts";

const HELLO: ConversationTurn = { role: "user", parts: [{ is: "text", text: "hello" }] };
const TOOL = { name: "weather", description: "Tells it.", schema: { type: "object" }, strict: null };
const PNG = "iVBORw0KGgoAAAANSUhEUg==";

const text = (words: string): Extract<Part, { is: "text" }> => ({ is: "text", text: words });
const picture: Extract<Part, { is: "image" }> = {
  is: "image",
  source: { is: "inline", mediaType: "image/jpg", base64: PNG },
};
const called = (id: string, argumentsText = '{"c":1}'): Part => ({
  is: "tool_call",
  id,
  name: "weather",
  argumentsText,
});
type ResultContent = Extract<Part, { is: "tool_result" }>["content"];
const answered = (callId: string, ...content: ResultContent): Part => ({
  is: "tool_result",
  callId,
  content,
  failed: false,
});
const failed = (callId: string, ...content: ResultContent): Part => ({
  is: "tool_result",
  callId,
  content,
  failed: true,
});

function sent(more: Partial<Call>, facts: Partial<ModelFacts> = {}): Json {
  return JSON.parse(chatUpstream.encodeRequest({ ...CHAT_CALL, ...more }, { ...CHAT_FACTS, ...facts }));
}

function messages(turns: readonly ConversationTurn[], ...quirks: Quirk[]): Json {
  return sent({ turns }, { quirks }).messages;
}

function refused(more: Partial<Call>): Fault {
  try {
    sent(more);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

test("a plain call encodes to the model and its messages only", () => {
  expect(sent({})).toEqual({ model: "up/model", messages: [{ role: "user", content: "hello" }] });
});

describe("settings", () => {
  test("MSG-02 the output limit is sent under the name that the server knows", () => {
    expect(sent({ maxOutputTokens: 7 })).toMatchObject({ max_tokens: 7 });
    const other = sent({ maxOutputTokens: 7 }, { outputLimit: "max_completion_tokens" });
    expect(other).toMatchObject({ max_completion_tokens: 7 });
    expect(other.max_tokens).toBeUndefined();
  });

  test("sampling, stop sequences and stream usage are encoded", () => {
    expect(sent({ temperature: 0.5, topP: 0.9, stop: ["a", "b"], stream: true })).toMatchObject({
      temperature: 0.5,
      top_p: 0.9,
      stop: ["a", "b"],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(Object.keys(sent({ temperature: 0.5, topP: 0.9, topK: 5 }, { sampling: false }))).toEqual([
      "model",
      "messages",
    ]);
  });

  test("values that only this dialect supports are sent under their own names", () => {
    const openAiParameters = {
      seed: 1,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      logit_bias: { "5": -1 },
      verbosity: "low",
      prompt_cache_key: "k",
      safety_identifier: "s",
      service_tier: "flex",
      user: "u",
      metadata: { a: "b" },
      store: true,
    };
    const { metadata: _, store: __, ...known } = openAiParameters;
    const { model: ___, messages: ____, ...body } = sent({ openAiParameters });
    expect(body).toEqual(known);
    expect(sent({ openAiParameters: { top_logprobs: 3 } })).toMatchObject({ logprobs: true, top_logprobs: 3 });
    expect(sent({ openAiParameters: { seed: null, user: undefined } })).not.toHaveProperty("seed");
  });

  test("response formats are encoded", () => {
    expect(sent({ responseFormat: { is: "json_object" } }).response_format).toEqual({ type: "json_object" });
    const schema = { type: "object" };
    const format = { is: "json_schema", name: "n", description: null, schema, strict: true } as const;
    expect(sent({ responseFormat: format }).response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "n", schema, strict: true },
    });
    const told = sent({ responseFormat: { ...format, description: "d" } });
    expect(told.response_format.json_schema.description).toBe("d");
  });

  test('the effort is sent, also "none"', () => {
    const wish = (effort: "none" | "high") => ({ reasoning: { effort, budgetTokens: null } });
    expect(sent(wish("high")).reasoning_effort).toBe("high");
    expect(sent(wish("none")).reasoning_effort).toBe("none");
    expect(sent(wish("none"), { reasoning: "untold" }).reasoning_effort).toBe("none");
    expect(sent(wish("none"), { reasoning: "never" })).not.toHaveProperty("reasoning_effort");
    expect(sent(wish("high"), { reasoning: "never" }).reasoning_effort).toBe("high");
  });
});

describe("tools", () => {
  test("tool definitions are encoded, with strict only if stated", () => {
    const open = { name: "open", description: null, schema: null, strict: null };
    const strict = { name: "now", description: null, schema: null, strict: true };
    const empty = { ...strict, schema: {} };
    const nothing = { type: "object", properties: {}, required: [], additionalProperties: false };
    expect(sent({ tools: [TOOL, open, strict, empty] }).tools).toEqual([
      {
        type: "function",
        function: { name: "weather", description: "Tells it.", parameters: { type: "object" } },
      },
      { type: "function", function: { name: "open", parameters: { type: "object", properties: {} } } },
      { type: "function", function: { name: "now", parameters: nothing, strict: true } },
      { type: "function", function: { name: "now", parameters: nothing, strict: true } },
    ]);
  });

  test.each([
    [{ is: "auto" }, "auto"],
    [{ is: "none" }, "none"],
    [{ is: "required" }, "required"],
    [
      { is: "named", name: "weather" },
      { type: "function", function: { name: "weather" } },
    ],
  ] as const)("the choice %o keeps the tools", (toolChoice, wire) => {
    const body = sent({ tools: [TOOL], toolChoice });
    expect(body.tool_choice).toEqual(wire);
    expect(body.tools).toHaveLength(1);
  });

  test("a list of allowed tools becomes a tool choice", () => {
    const openAiParameters = { allowed_tools: ["weather"] };
    expect(sent({ tools: [TOOL], toolChoice: { is: "required" }, openAiParameters }).tool_choice).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "weather" } }] },
    });
    expect(sent({ tools: [TOOL], toolChoice: { is: "none" }, openAiParameters }).tool_choice).toBe("none");
  });

  test("no tool fields are sent without tools", () => {
    const openAiParameters = { parallel_tool_calls: false };
    expect(sent({ tools: [TOOL], openAiParameters }).parallel_tool_calls).toBe(false);
    expect(sent({ openAiParameters, toolChoice: { is: "auto" } })).toEqual(sent({}));
    expect(refused({ toolChoice: { is: "required" } })).toMatchObject({ code: "invalid_value", param: "tool_choice" });
  });
});

describe("the conversation", () => {
  const instruct = (role: "system" | "developer", ...words: string[]): ConversationTurn => ({
    role,
    parts: words.map(text),
  });

  test("MSG-02 RESP-02 leading instructions become one system message; later ones start the next user message", () => {
    const turns: ConversationTurn[] = [
      { role: "system", parts: [{ ...text("one"), cache: { ttl: "1h" } }, text("two")] },
      instruct("developer", "three"),
      instruct("system", ""),
      HELLO,
      instruct("system", ""),
      { role: "assistant", parts: [called("a"), called("b")] },
      { role: "tool", parts: [answered("b", picture)] },
      instruct("developer", "four"),
      { role: "tool", parts: [answered("a", text("x"))] },
      { role: "user", parts: [text("look")] },
      instruct("system", "five"),
    ];
    const [system, hello, , ...rest] = messages(turns);
    expect([system, hello]).toEqual([
      { role: "system", content: "one\n\ntwo\n\nthree" },
      { role: "user", content: "hello" },
    ]);
    expect(rest).toEqual([
      { role: "tool", tool_call_id: "b", content: "(The result is an image, in the next message.)" },
      { role: "tool", tool_call_id: "a", content: "x" },
      {
        role: "user",
        content: [
          { type: "text", text: "From the result of tool call b:" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: "text", text: "four" },
          { type: "text", text: "look" },
        ],
      },
      { role: "user", content: "five" },
    ]);
  });

  test("MSG-02 later instructions stay system messages if the server accepts them anywhere", () => {
    const turns = [instruct("system", "one"), instruct("developer", "two"), HELLO, instruct("developer", "three")];
    expect(messages(turns, "all-roles")).toEqual([
      { role: "system", content: "one\n\ntwo" },
      { role: "user", content: "hello" },
      { role: "system", content: "three" },
    ]);
  });

  test("texts of one reply are joined; empty content is null only beside tool calls", () => {
    const turns: ConversationTurn[] = [
      { role: "user", parts: [] },
      { role: "assistant", parts: [text("It is "), { is: "refusal", text: "no." }] },
      HELLO,
      { role: "assistant", parts: [called("a", " ")] },
      { role: "tool", parts: [answered("a")] },
    ];
    expect(messages(turns)).toEqual([
      { role: "user", content: "" },
      { role: "assistant", content: "It is no." },
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "" },
    ]);
  });

  test("MSG-02 tool results come first, then the user message with the images of the results in front", () => {
    const turns: ConversationTurn[] = [
      { role: "assistant", parts: [called("a"), called("b")] },
      {
        role: "user",
        parts: [text("look"), answered("a", text("x"), picture), failed("b", text("y"))],
      },
    ];
    expect(messages(turns).slice(1)).toEqual([
      { role: "tool", tool_call_id: "a", content: "x" },
      { role: "tool", tool_call_id: "b", content: "The tool failed: y" },
      {
        role: "user",
        content: [
          { type: "text", text: "From the result of tool call a:" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: "text", text: "look" },
        ],
      },
    ]);
  });

  test("images follow after all results of the turn", () => {
    const turns: ConversationTurn[] = [
      { role: "assistant", parts: [called("a"), called("b")] },
      { role: "tool", parts: [answered("a", picture)] },
      { role: "tool", parts: [failed("b")] },
      { role: "assistant", parts: [text("ok")] },
    ];
    const list = messages(turns);
    expect(list.map(({ role }: Json) => role)).toEqual(["assistant", "tool", "tool", "user", "assistant"]);
    expect(list[1].content).toBe("(The result is an image, in the next message.)");
    expect(list[2].content).toBe("The tool failed.");
  });

  test("reasoning goes only to servers that require it, and then with every reply", () => {
    const turns: ConversationTurn[] = [
      HELLO,
      {
        role: "assistant",
        parts: [
          { is: "reasoning", detail: { is: "readable", text: "hm", signature: { family: "anthropic", data: "sig" } } },
          { is: "reasoning", detail: { is: "encrypted", signature: { family: "anthropic", data: "blob" } } },
          called("a"),
        ],
      },
      { role: "tool", parts: [answered("a", text("x"))] },
      { role: "assistant", parts: [text("done")] },
    ];
    expect(JSON.stringify(messages(turns))).not.toMatch(/hm|sig|blob|reasoning/);
    const list = messages(turns, "reasoning-in-history");
    expect(list[1].reasoning_content).toBe("hm");
    expect(list[3]).toEqual({ role: "assistant", content: "done", reasoning_content: "" });
    expect(JSON.stringify(list)).not.toMatch(/sig|blob/);
  });

  test("a reply without encodable content is dropped", () => {
    const sealed: Part = { is: "reasoning", detail: { is: "encrypted", signature: { family: "openai", data: "x" } } };
    expect(messages([HELLO, { role: "assistant", parts: [sealed] }])).toHaveLength(1);
    expect(refused({ turns: [{ role: "assistant", parts: [sealed] }] })).toMatchObject({ param: "messages" });
  });

  test("CHAT-03 ids that a server rejects are rewritten alike for call and result, without collisions", () => {
    const ids = ["call_1", "toolu_01ABCdef", "abcDEF123"];
    const turns: ConversationTurn[] = [
      { role: "assistant", parts: ids.map((id) => called(id)) },
      { role: "user", parts: ids.map((id) => answered(id, text(id))) },
    ];
    const [assistant, ...results] = messages(turns, "tool-ids-9");
    const wire: string[] = assistant.tool_calls.map(({ id }: Json) => id);
    for (const id of wire) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(new Set(wire).size).toBe(3);
    expect(wire[2]).toBe("abcDEF123");
    expect(results.map(({ tool_call_id }: Json) => tool_call_id)).toEqual(wire);
    expect(messages(turns)[0].tool_calls.map(({ id }: Json) => id)).toEqual(ids);
    const long = "x".repeat(60);
    const [shortened] = messages([{ role: "assistant", parts: [called(long)] }]);
    expect(shortened.tool_calls[0].id).toMatch(/^call_[0-9a-f]{32}$/);
  });

  test("signatures of calls go to models that require them", () => {
    const signature = { family: "google", data: "sig" } as const;
    const signed: Part = { is: "tool_call", id: "a", name: "weather", argumentsText: "{}", signature };
    const turns: ConversationTurn[] = [{ role: "assistant", parts: [signed] }];
    expect(JSON.stringify(messages(turns))).not.toContain("sig");
    expect(messages(turns, "signed-tool-calls")[0].tool_calls[0].extra_content).toEqual({
      google: { thought_signature: "sig" },
    });
  });
});

describe("media", () => {
  const inline = (mediaType: string, base64 = "AAAA") => ({ is: "inline", mediaType, base64 }) as const;

  test.each<[string, Part, Json]>([
    [
      "a picture elsewhere",
      { is: "image", source: { is: "url", url: "https://a/b" } },
      { type: "image_url", image_url: { url: "https://a/b" } },
    ],
    [
      "sound",
      { is: "audio", source: inline("audio/mpeg") },
      { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    ],
    [
      "a document",
      { is: "file", source: inline("application/pdf"), filename: null },
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AAAA" } },
    ],
    [
      "an uploaded file",
      { is: "file", source: { is: "uploaded", id: "file-1" }, filename: null },
      { type: "file", file: { file_id: "file-1" } },
    ],
    [
      "a text as a file",
      { is: "file", source: inline("text/plain", Buffer.from("Grüße").toString("base64")), filename: "a.txt" },
      { type: "text", text: "a.txt:\nGrüße" },
    ],
  ])("%s", (_, part, wire) => {
    expect(messages([{ role: "user", parts: [part, picture] }])[0].content[0]).toEqual(wire);
  });

  test.each<[string, ConversationTurn]>([
    ["a file elsewhere", { role: "user", parts: [{ is: "file", source: { is: "url", url: "u" }, filename: null }] }],
    ["sound elsewhere", { role: "user", parts: [{ is: "audio", source: { is: "url", url: "u" } }] }],
    ["an uploaded picture", { role: "user", parts: [{ is: "image", source: { is: "uploaded", id: "i" } }] }],
    [
      "a text that is none",
      { role: "user", parts: [{ is: "file", source: inline("text/plain", "//8="), filename: null }] },
    ],
    ["a picture in an answer", { role: "assistant", parts: [picture] }],
    ["a picture in instructions", { role: "system", parts: [picture] }],
  ])("%s is rejected with its path", (_, turn) => {
    expect(refused({ turns: [HELLO, turn] })).toMatchObject({ code: "invalid_value", param: "messages.1.content.0" });
  });
});
