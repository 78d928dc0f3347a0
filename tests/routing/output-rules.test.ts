import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { frames as geminiFrames, whole as geminiWhole } from "../support/gemini.ts";
import { messageJson, messageStream } from "../support/messages.ts";
import { chunksOf, contentOf, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "anthropic", "google-ai-studio"];
const OWN = "jane.doe@mail.example.eu";
const OTHER = "bob@corp.example.eu";
const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
const ANSWER = `You are ${OWN}. Ask ${OTHER}, who signs in with ${TOKEN}.`;
const REDACTED = `You are ${OWN}. Ask [EMAIL], who signs in with [SECRET].`;
const REDACT = { personal: { output: "redact" }, secret: { output: "redact" } };

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const setPolicy = (rules: object) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: rules });
const call = { id: "c1", type: "function", function: { name: "mail", arguments: JSON.stringify({ to: OTHER }) } };
const chatScript = ({ json }: { readonly json: unknown }): Script =>
  (json as Json).stream === true
    ? { frames: chatFrames([...ANSWER, { tool_calls: [{ index: 0, ...call }] }]) }
    : { json: chatJson({ message: { role: "assistant", content: ANSWER, tool_calls: [call] } }) };
const ask = (more: object = {}) =>
  scene.chat(tenant.key, {
    messages: [{ role: "user", content: `I am ${OWN}` }],
    provider: { only: ["deepinfra"] },
    ...more,
  });

/** One answer in every dialect of callers, whole or streamed. */
async function answerOf(path: string, model: string, stream: boolean): Promise<Called> {
  const provider = { only: [model.startsWith("anthropic") ? "anthropic" : "deepinfra"] };
  if (path === "/v1/chat/completions") return ask({ stream });
  if (path === "/v1/messages") {
    const messages = [{ role: "user", content: `I am ${OWN}` }];
    return scene.gateway.call(tenant.key, path, { body: { model, max_tokens: 90, messages, stream, provider } });
  }
  if (path === "/v1/responses")
    return scene.gateway.call(tenant.key, path, { body: { model, input: `I am ${OWN}`, stream, provider } });
  return scene.gateway.call("", `${path}${stream ? ":streamGenerateContent?alt=sse" : ":generateContent"}`, {
    headers: { "x-goog-api-key": tenant.key },
    body: { contents: [{ parts: [{ text: `I am ${OWN}` }] }] },
  });
}

describe("rules for replies", () => {
  test.each([
    ["/v1/chat/completions", MODEL],
    ["/v1/messages", MODEL],
    ["/v1/messages", "anthropic/claude-sonnet-4-6"],
    ["/v1/responses", MODEL],
    ["/v1beta/models/google/gemini-2.5-flash", ""],
  ])(
    "CLASS-02 CLASS-05 replies of %s (%s) are redacted whole and streamed, and the log counts the classes",
    async (path, model) => {
      await setPolicy(REDACT);
      scene.at("deepinfra").always(chatScript);
      scene.at("anthropic").always(({ json }: { readonly json: unknown }) => {
        const message = messageJson([{ type: "text", text: ANSWER }]);
        return (json as Json).stream === true ? { frames: [String(messageStream(message, 1))] } : { json: message };
      });
      scene
        .at("google-ai-studio")
        .always(({ path: called = "" }: { readonly path?: string }) =>
          called.includes(":stream")
            ? { frames: geminiFrames([...ANSWER].map((text) => ({ text }))) }
            : { json: geminiWhole([{ text: ANSWER }]) },
        );
      for (const stream of [false, true]) {
        const answer = await answerOf(path, model, stream);
        expect(answer.status, answer.text).toBe(200);
        expect(answer.text).not.toContain(OTHER);
        expect(answer.text).not.toContain(TOKEN);
        expect(answer.text).toContain("[EMAIL]");
        expect(answer.text).toContain("[SECRET]");
      }
      const [row] = await scene.rows(tenant);
      expect((await scene.row(row?.id)).detail).toMatchObject({ data_output: { personal: 1, secret: 1 } });
    },
  );

  test("CLASS-02 every character but the values passes; arguments of tools stay JSON", async () => {
    await setPolicy(REDACT);
    scene.at("deepinfra").always(chatScript);
    const { content, tool_calls } = (await ask()).body.choices[0].message;
    expect([content, JSON.parse(tool_calls[0].function.arguments)]).toEqual([REDACTED, { to: "[EMAIL]" }]);
    const { text } = await ask({ stream: true });
    expect(contentOf(text)).toBe(REDACTED);
    const args = chunksOf(text).map(({ choices }) => choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? "");
    expect(JSON.parse(args.join(""))).toEqual({ to: "[EMAIL]" });
    expect(chunksOf(text).map(({ choices }) => choices[0]?.finish_reason)).toContain("stop");
  });

  test.each<[string, (text: string) => object, (delta: Json) => string]>([
    ["a voice's transcript", (transcript) => ({ audio: { transcript } }), ({ audio }) => audio?.transcript ?? ""],
    [
      "reasoning details",
      (text) => ({ reasoning_details: [{ type: "reasoning.text", index: 0, text }] }),
      ({ reasoning_details: details }) => details?.[0]?.text ?? "",
    ],
    [
      "a custom tool's input",
      (input) => ({ tool_calls: [{ index: 0, id: "c1", type: "custom", custom: { name: "run", input } }] }),
      ({ tool_calls: calls }) => calls?.[0]?.custom?.input ?? "",
    ],
    [
      "content between pieces of other texts",
      (text) => ({ content: text, ...(text === "g" ? { reasoning_content: "Hm" } : {}) }),
      ({ content }) => content ?? "",
    ],
  ])("CLASS-02 a secret in %s, cut between any two characters of a stream, is redacted", async (_, piece, textIn) => {
    await setPolicy(REDACT);
    const pieces = [...ANSWER].flatMap((text) => [piece(text), { reasoning_content: "x " }]);
    scene.at("deepinfra").always({ frames: chatFrames(pieces) });
    const { text } = await ask({ stream: true });
    const read = chunksOf(text).map(({ choices }) => textIn(choices[0]?.delta ?? {}));
    expect(read.join("")).toBe(REDACTED);
  });

  test("CLASS-02 in objects that the model writes, members of any name, names and numbers are read", async () => {
    await setPolicy(REDACT);
    const input = {
      id: TOKEN,
      name: OTHER,
      data: { [OTHER]: 1 },
      status: [OTHER],
      iban: "DE89 3704 0044 0532 0130 00",
      card: 4111111111111111,
    };
    scene.at("anthropic").always({
      json: messageJson([{ type: "tool_use", id: "toolu_1", name: "send", input }], { stop_reason: "tool_use" }),
    });
    scene.at("google-ai-studio").always({ json: geminiWhole([{ functionCall: { name: "send", args: input } }]) });
    for (const answer of [
      await answerOf("/v1/messages", "anthropic/claude-sonnet-4-6", false),
      await answerOf("/v1beta/models/google/gemini-2.5-flash", "", false),
    ]) {
      expect(answer.status, answer.text).toBe(200);
      for (const value of [TOKEN, OTHER, "4111111111111111"]) expect(answer.text).not.toContain(value);
      expect(answer.text).toContain('"send"');
    }
  });

  test("CLASS-02 log probabilities would spell out what is redacted, so they are refused", async () => {
    await setPolicy(REDACT);
    const refused = await ask({ logprobs: true });
    expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect(refused.body.error.message).toContain("log probabilities");
  });

  test("CLASS-02 a blocked reply is refused with the class and charged", async () => {
    await setPolicy({ secret: { output: "block" } });
    scene.at("deepinfra").always(chatScript);
    const before = await scene.wallet(tenant);
    const { status, body, text } = await ask();
    expect([status, body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect(body.error.message).toContain('of the class "secret" (secret.github)');
    expect(text).not.toContain("ghp_");
    const after = await scene.wallet(tenant);
    expect([Number(after.balance) < Number(before.balance), Number(after.held)]).toEqual([true, 0]);
    const [row] = await scene.rows(tenant);
    expect([row?.status, row?.error_code]).toEqual([403, "data_class_not_permitted"]);
    expect((await scene.row(row?.id)).detail).toMatchObject({
      data_output: { secret: 1 },
      data_output_blocked: "secret",
    });
  });

  test.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
    "CLASS-02 a blocked stream of %s ends before the value with an error, and is charged",
    async (path) => {
      await setPolicy({ secret: { output: "block" } });
      scene.at("deepinfra").always(chatScript);
      const { text, status } = await answerOf(path, MODEL, true);
      expect(status).toBe(200);
      expect(text).toContain("data_class_not_permitted");
      expect(text).not.toContain("ghp_");
      if (path === "/v1/chat/completions") expect(contentOf(text)).toBe(ANSWER.slice(0, ANSWER.indexOf(TOKEN)));
      const [row] = await scene.rowsOnce(tenant, 1);
      expect([row?.error_code, Number(row?.cost) > 0]).toEqual(["data_class_not_permitted", true]);
    },
  );

  test("CLASS-02 a blocked value at the very end of a Gemini stream is withheld, and the log says so", async () => {
    await setPolicy({ secret: { output: "block" } });
    const parts = geminiFrames([...`Sign in with ${TOKEN}`].map((text) => ({ text })));
    scene.at("google-ai-studio").always({ frames: parts });
    const answer = await answerOf("/v1beta/models/google/gemini-2.5-flash", "", true).catch(() => undefined);
    expect(answer?.text ?? "").not.toContain("ghp_");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect([row?.error_code, Number(row?.cost) > 0]).toEqual(["data_class_not_permitted", true]);
    expect((await scene.row(row?.id)).detail).toMatchObject({ data_output_blocked: "secret" });
  });

  test("CLASS-03 CLASS-02 restored originals pass; a request can only tighten", async () => {
    await setPolicy({ personal: { action: "pseudonymise", output: "report" } });
    scene.at("deepinfra").always(({ json }: { readonly json: unknown }) => {
      const { messages, stream } = json as Json;
      const text = `${messages.at(-1).content} and ${OTHER}`;
      return stream === true ? { frames: chatFrames([...text]) } : { json: chatJson({ content: text }) };
    });
    const whole = `I am ${OWN} and ${OTHER}`;
    expect((await ask()).body.choices[0].message.content).toBe(whole);
    const stricter = { data_classes: { personal: { output: "redact" } } };
    const redacted = `I am ${OWN} and [EMAIL]`;
    expect((await ask(stricter)).body.choices[0].message.content).toBe(redacted);
    expect(contentOf((await ask({ ...stricter, stream: true })).text)).toBe(redacted);
    await setPolicy({ personal: { output: "redact" } });
    const looser = { data_classes: { personal: { output: "report" } } };
    expect((await ask(looser)).body.choices[0].message.content).toBe(redacted);
  });
});
