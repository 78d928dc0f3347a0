import { describe, expect, test } from "vitest";
import { bodyOf, call, callOf, FACTS, refusalOf, result, tool, user } from "../../../../../tests/support/converse.ts";
import { encodePath } from "./request.ts";

const dataUrl = (type: string, bytes: string | Buffer) =>
  `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
const file = (filename: string | undefined, type: string) => ({
  type: "file",
  file: { file_data: dataUrl(type, "x"), ...(filename === undefined ? {} : { filename }) },
});
describe("the path", () => {
  test.each([
    ["eu.amazon.nova-lite-v1:0", "/model/eu.amazon.nova-lite-v1%3A0/converse"],
    [
      "arn:aws:bedrock:eu-central-1:123:inference-profile/eu.x-v1:0",
      "/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123%3Ainference-profile%2Feu.x-v1%3A0/converse",
    ],
    ["odd (name)!'*", "/model/odd%20%28name%29%21%27%2A/converse"],
  ])("%s is one segment, percent-encoded to the last character", (upstreamModel, path) => {
    expect(encodePath(callOf({}), { ...FACTS, upstreamModel })).toBe(path);
    expect(encodePath(callOf({ stream: true }), { ...FACTS, upstreamModel })).toBe(`${path}-stream`);
  });
});

describe("turns", () => {
  test("a plain call has messages and no optional fields", () => {
    expect(bodyOf({})).toEqual({ messages: [{ role: "user", content: [{ text: "hello" }] }] });
  });

  test("CHAT-02 leading system and developer messages are the system prompt; later ones stay in place", () => {
    const body = bodyOf({
      messages: [
        { role: "system", content: "be kind" },
        { role: "developer", content: [{ type: "text", text: "be short" }] },
        user("a"),
        { role: "assistant", content: "b" },
        { role: "system", content: "now in French" },
        user("c"),
      ],
    });
    expect(body.system).toEqual([{ text: "be kind" }, { text: "be short" }]);
    expect(body.messages).toEqual([
      { role: "user", content: [{ text: "a" }] },
      { role: "assistant", content: [{ text: "b" }] },
      { role: "user", content: [{ text: "now in French" }, { text: "c" }] },
    ]);
  });

  test("CHAT-02 adjacent messages of one role are merged", () => {
    const { messages } = bodyOf({
      messages: [
        user("a"),
        user("b"),
        { role: "assistant", content: "c" },
        { role: "assistant", content: "d" },
        user("e"),
      ],
    });
    expect(messages.map(({ role, content }: { role: string; content: unknown[] }) => [role, content.length])).toEqual([
      ["user", 2],
      ["assistant", 2],
      ["user", 1],
    ]);
  });

  test("CHAT-02 blank texts are dropped, and turns that contain nothing else", () => {
    const body = bodyOf({
      messages: [
        { role: "system", content: "" },
        user([
          { type: "text", text: " \n" },
          { type: "text", text: "a" },
        ]),
        { role: "assistant", content: "" },
        user("b"),
      ],
    });
    expect(body).toEqual({ messages: [{ role: "user", content: [{ text: "a" }, { text: "b" }] }] });
  });

  test("CHAT-02 a user message comes first, also if the caller's conversation starts otherwise", () => {
    const alone = bodyOf({
      messages: [
        { role: "system", content: "a" },
        { role: "system", content: "b" },
      ],
    });
    expect(alone).toEqual({ system: [{ text: "a" }], messages: [{ role: "user", content: [{ text: "b" }] }] });
    const { messages } = bodyOf({ messages: [{ role: "assistant", content: "x" }, user("y")] });
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
    expect(messages[0].content).toEqual([{ text: expect.stringMatching(/\S/) }]);
    expect(refusalOf({ messages: [user("  ")] })).toEqual({ code: "invalid_value", param: "messages" });
  });

  test("CHAT-02 a prefill does not end in white space; earlier text stays unchanged", () => {
    const { messages } = bodyOf({
      messages: [
        user("a"),
        { role: "assistant", content: "b " },
        user("c "),
        { role: "assistant", content: ["So: ", "Answer: \n"].map((text) => ({ type: "text", text })) },
      ],
    });
    expect(messages.map(({ content }: { content: unknown[] }) => content)).toEqual([
      [{ text: "a" }],
      [{ text: "b " }],
      [{ text: "c " }],
      [{ text: "So: " }, { text: "Answer:" }],
    ]);
  });

  test("a refusal in the history becomes assistant text", () => {
    const { messages } = bodyOf({
      messages: [user("a"), { role: "assistant", content: null, refusal: "no" }, user("b")],
    });
    expect(messages[1]).toEqual({ role: "assistant", content: [{ text: "no" }] });
  });
});

describe("images, audio and documents", () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n and more", "latin1");
  const image = (url: string) =>
    user([
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url } },
    ]);

  test("CHAT-02 an image's format is read from its bytes, and jpg is jpeg", () => {
    const contentOf = (url: string) => bodyOf({ messages: [image(url)] }).messages[0].content[1];
    expect(contentOf(dataUrl("image/jpg", "?"))).toEqual({
      image: { format: "jpeg", source: { bytes: Buffer.from("?").toString("base64") } },
    });
    expect(contentOf(dataUrl("image/jpeg", png)).image.format).toBe("png");
    expect(contentOf(dataUrl("image/png", Buffer.from("\xff\xd8\xff\xe0", "latin1"))).image.format).toBe("jpeg");
    expect(contentOf(dataUrl("application/octet-stream", "RIFF\0\0\0\0WEBPVP8 ")).image.format).toBe("webp");
    expect(contentOf(dataUrl("image/gif", "GIF89a")).image.format).toBe("gif");
  });

  test.each([dataUrl("image/tiff", "x"), "https://example.com/a.png"])(
    "CHAT-02 an unsupported image is rejected with its path: %s",
    (url) => {
      expect(refusalOf({ messages: [image(url)] })).toEqual({ code: "invalid_value", param: "messages.0.content.1" });
    },
  );

  test("CHAT-02 documents have a format, a plain unique name and a text beside them", () => {
    const { messages } = bodyOf({
      messages: [
        user([
          file("Q3 -- report_(final).v2.pdf", "application/pdf"),
          file("Q3 -- report_(final).v2.pdf", "application/pdf"),
          file("données  été.csv", "text/csv"),
          file(undefined, "text/plain"),
          file("notes.md", "application/octet-stream"),
        ]),
      ],
    });
    const { content } = messages[0];
    const documents = content.slice(0, 5).map(({ document }: { document: Record<string, unknown> }) => document);
    expect(documents.map(({ format, name }: Record<string, unknown>) => [format, name])).toEqual([
      ["pdf", "Q3 -- report (final) v2"],
      ["pdf", "Q3 -- report (final) v2 (2)"],
      ["csv", "donn es t"],
      ["txt", "document"],
      ["md", "notes"],
    ]);
    for (const { name } of documents) expect(name).toMatch(/^[A-Za-z0-9\-()[\]]+( [A-Za-z0-9\-()[\]]+)*$/);
    expect(content[5]).toEqual({ text: expect.stringMatching(/\S/) });
    expect(documents[0].source).toEqual({ bytes: Buffer.from("x").toString("base64") });
  });

  test("CHAT-02 a document beside a text gets no additional text", () => {
    const { messages } = bodyOf({
      messages: [user([file("a.pdf", "application/pdf"), { type: "text", text: "sum up" }])],
    });
    expect(messages[0].content).toHaveLength(2);
    expect(refusalOf({ messages: [user([file("a.zip", "application/zip")])] })).toEqual({
      code: "invalid_value",
      param: "messages.0.content.0",
    });
  });

  test("CHAT-02 audio is a block of its own", () => {
    const part = (format: string) => user([{ type: "input_audio", input_audio: { data: "AAAA", format } }]);
    expect(bodyOf({ messages: [part("wav")] }).messages[0].content[0]).toEqual({
      audio: { format: "wav", source: { bytes: "AAAA" } },
    });
    expect(refusalOf({ messages: [part("midi")] }).param).toBe("messages.0.content.0");
  });
});

describe("inference parameters", () => {
  test("temperature, top_p, max_tokens and stop are in inferenceConfig", () => {
    const more = { temperature: 0.3, top_p: 0.9, max_tokens: 5, stop: ["END", ""] };
    expect(bodyOf(more).inferenceConfig).toEqual({ maxTokens: 5, temperature: 0.3, topP: 0.9, stopSequences: ["END"] });
    expect(bodyOf({ max_completion_tokens: 7 }).inferenceConfig).toEqual({ maxTokens: 7 });
  });

  test("user and safety_identifier are not sent", () => {
    expect(bodyOf({ user: "u", safety_identifier: "s" })).toEqual(bodyOf({}));
  });
});

describe("cache points", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const text = (words: string, more: Record<string, unknown> = {}) => ({ type: "text", text: words, ...more });
  const POINT = { cachePoint: { type: "default" } };

  test("follow what they mark: in tools, system, messages and results", () => {
    const body = bodyOf({
      tools: [{ ...tool("f"), ...hour }],
      messages: [
        { role: "system", content: [text("long", hour)] },
        user([text("a", { cache_control: { type: "ephemeral", ttl: "5m" } }), text("b")]),
        { role: "assistant", tool_calls: [call("c", "f", "{}")] },
        result("c", "r", mark),
        user("more"),
      ],
    });
    expect(body.toolConfig.tools[1]).toEqual({ cachePoint: { type: "default", ttl: "1h" } });
    expect(body.system[1]).toEqual({ cachePoint: { type: "default", ttl: "1h" } });
    expect(body.messages[0].content).toEqual([{ text: "a" }, POINT, { text: "b" }]);
    expect(body.messages[2].content).toEqual([{ toolResult: expect.anything() }, POINT, { text: "more" }]);
  });

  test("follow images and documents, and a result that is marked further inside", () => {
    const image = { type: "image_url", image_url: { url: dataUrl("image/png", "x") }, ...mark };
    const { messages } = bodyOf({
      messages: [
        user([image, { ...file("a.pdf", "application/pdf"), ...mark }, text("a")]),
        { role: "assistant", tool_calls: [call("c", "f", "{}")] },
        result("c", [text("r", mark)]),
      ],
    });
    const kinds = messages.map(({ content }: { content: object[] }) => content.flatMap(Object.keys));
    const marked = ["image", "cachePoint", "document", "cachePoint", "text"];
    expect(kinds).toEqual([marked, ["toolUse"], ["toolResult", "cachePoint"]]);
  });

  test("at most four, the last ones; a blank text loses its cache point", () => {
    const { messages, system } = bodyOf({
      messages: [
        { role: "system", content: [text("s", mark), text(" ", mark)] },
        user(["a", "b", "c", "d"].map((words) => text(words, mark))),
      ],
    });
    expect(system).toEqual([{ text: "s" }]);
    expect(messages[0].content).toHaveLength(8);
  });

  test.each([false, null])("are dropped if the endpoint is not known to support them: %s", (promptCaching) => {
    const body = bodyOf(
      { messages: [user([text("a", mark)])], tools: [{ ...tool("f"), ...mark }] },
      { ...FACTS, promptCaching },
    );
    expect(JSON.stringify(body)).not.toContain("cachePoint");
  });
});
