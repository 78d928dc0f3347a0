import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { messageJson } from "../support/messages.ts";
import { chunksOf, contentOf, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "mistral", "anthropic"];
const EMAIL = "jane.doe@mail.example.eu";
const RULES = { personal: { below: "L3", action: "pseudonymise" } };
const QUESTION = `Please write to ${EMAIL} today.`;

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: RULES });
});

const received = (provider: Provider): Json[] => scene.at(provider).requests.map(({ json }) => json as Json);
const lastText = (provider: Provider): string => received(provider).at(-1)?.messages.at(-1).content;
const only = (...order: Provider[]) => ({ provider: { only: order } });
/** The upstream answers with the last message, character by character in a stream. */
const echo = (more: (text: string) => object[] = () => []) => {
  return ({ json }: { readonly json: unknown }): Script => {
    const { messages, stream } = json as Json;
    const text: string = messages.at(-1).content;
    return stream === true ? { frames: chatFrames([...text, ...more(text)]) } : { json: chatJson({ content: text }) };
  };
};
const ask = (more: object = {}) =>
  scene.chat(tenant.key, { messages: [{ role: "user", content: QUESTION }], ...only("deepinfra"), ...more });

describe("pseudonyms", () => {
  test("CLASS-03 CLASS-05 the provider gets a stand-in, the caller the original, whole and streamed", async () => {
    scene.at("deepinfra").always(echo());
    const whole = await ask();
    expect(whole.body.choices[0].message.content).toBe(QUESTION);
    expect(whole.headers.get("x-svc-data-action")).toBe("pseudonymised");
    expect(lastText("deepinfra")).toMatch(/^Please write to [a-z0-9]+@example\.(com|net|org) today\.$/);
    const first = lastText("deepinfra");
    const streamed = await ask({ stream: true });
    expect(contentOf(streamed.text)).toBe(QUESTION);
    expect(lastText("deepinfra")).toBe(first);
    expect(JSON.stringify(received("deepinfra"))).not.toContain(EMAIL);
  });

  test("CLASS-03 arguments of tools are restored in the escapes that the model wrote", async () => {
    const call = (text: string) => ({ index: 0, function: { arguments: text } });
    scene.at("deepinfra").next(
      echo((text) => {
        const standIn = /[a-z0-9]+@example\.\w+/.exec(text)?.[0] ?? "";
        const json = `{"to": "${standIn.replace("@", "\\u0040")}"}`;
        const begin = { index: 0, id: "c1", type: "function", function: { name: "mail", arguments: "" } };
        return [{ tool_calls: [begin] }, ...[...json].map((char) => ({ tool_calls: [call(char)] }))];
      }),
    );
    const { text } = await ask({ stream: true, tools: [{ type: "function", function: { name: "mail" } }] });
    const args = chunksOf(text).map((chunk) => chunk.choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? "");
    expect(JSON.parse(args.join(""))).toEqual({ to: EMAIL });
    expect(contentOf(text)).toBe(QUESTION);
  });

  test("CLASS-03 messages and responses are restored on the translated path, and stored with the original", async () => {
    scene.at("deepinfra").always(echo());
    const body = {
      model: MODEL,
      max_tokens: 50,
      messages: [{ role: "user", content: QUESTION }],
      ...only("deepinfra"),
    };
    const whole = await scene.gateway.call(tenant.key, "/v1/messages", { body });
    expect(whole.body.content[0].text).toBe(QUESTION);
    const streamed = await scene.gateway.call(tenant.key, "/v1/messages", { body: { ...body, stream: true } });
    expect(foldMessage(streamed.text).content[0].text).toBe(QUESTION);
    for (const stream of [false, true]) {
      const input = { model: MODEL, input: QUESTION, store: true, stream, ...only("deepinfra") };
      const answer = await scene.gateway.call(tenant.key, "/v1/responses", { body: input });
      expect(answer.text).toContain(EMAIL);
      expect(answer.text).not.toContain("@example.");
      const id = /resp_[A-Za-z0-9]+/.exec(answer.text)?.[0] ?? "";
      const sent = lastText("deepinfra");
      const stored = await scene.gateway.call(tenant.key, `/v1/responses/${id}`, { method: "GET" });
      expect(stored.text).toContain(EMAIL);
      const next = { model: MODEL, input: `And ${EMAIL}?`, previous_response_id: id, ...only("deepinfra") };
      await scene.gateway.call(tenant.key, "/v1/responses", { body: next });
      expect(lastText("deepinfra")).toContain(/[a-z0-9]+@example\.\w+/.exec(sent)?.[0]);
    }
  });

  test("CLASS-03 in one plan a high endpoint reads the text and a low one the stand-in", async () => {
    scene.at("deepinfra").next({ status: 503, json: {} });
    scene.at("ovhcloud").next(echo());
    const served = await ask({ provider: { order: ["deepinfra", "ovhcloud"] } });
    expect([served.headers.get("x-svc-provider"), served.headers.get("x-svc-data-action")]).toEqual([
      "ovhcloud",
      "none",
    ]);
    expect(lastText("ovhcloud")).toBe(QUESTION);
    expect(lastText("deepinfra")).toContain("@example.");
    expect(served.body.choices[0].message.content).toBe(QUESTION);
  });

  test("CLASS-04 data in the beta header of the messages API is inspected and replaced like the body", async () => {
    const body = { model: "anthropic/claude-sonnet-4-6", max_tokens: 90, messages: [{ role: "user", content: "Hi" }] };
    const call = (data_classes: object) =>
      scene.gateway.call(tenant.key, "/v1/messages", {
        body: { ...body, data_classes },
        headers: { "anthropic-beta": `files-api-2025-04-14,${EMAIL}` },
      });
    scene.at("anthropic").always({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const blocked = await call({ personal: { action: "block" } });
    expect([blocked.status, blocked.body.error.message]).toEqual([403, expect.stringContaining('"personal"')]);
    expect(scene.at("anthropic").requests).toHaveLength(0);
    const answer = await call({ personal: { action: "redact" } });
    expect(answer.headers.get("x-svc-data-classes")).toBe("personal=1");
    const { headers } = scene.at("anthropic").requests.at(-1) ?? {};
    expect(JSON.stringify(headers)).not.toContain(EMAIL);
    expect(headers?.["anthropic-beta"]).toMatch(/^files-api-2025-04-14,/);
  });

  test("CLASS-03 a session has its own stand-ins, and other workspaces have others", async () => {
    scene.at("deepinfra").always(echo());
    await ask();
    const plain = lastText("deepinfra");
    await ask({ session_id: "s1" });
    const session = lastText("deepinfra");
    await scene.chat(tenant.key, {
      messages: [{ role: "user", content: `Hello ${EMAIL}` }],
      session_id: "s1",
      ...only("deepinfra"),
    });
    const standIn = /[a-z0-9]+@example\.\w+/.exec(session)?.[0];
    expect(lastText("deepinfra")).toBe(`Hello ${standIn}`);
    expect(session).not.toBe(plain);
    const other = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${other.slug}/policy`, { data_classes: RULES });
    await scene.chat(other.key, { messages: [{ role: "user", content: QUESTION }], ...only("deepinfra") });
    expect(lastText("deepinfra")).not.toBe(plain);
  });

  test("CLASS-02 a request and a router tighten the rules, and loosen none", async () => {
    scene.at("deepinfra").always(echo());
    await ask({ data_classes: { personal: { action: "report" } } });
    expect(lastText("deepinfra")).toContain("@example.");
    expect(received("deepinfra").at(-1)).not.toHaveProperty("data_classes");
    const stricter = await ask({ data_classes: { personal: { action: "redact" } } });
    expect(lastText("deepinfra")).toContain("[EMAIL]");
    expect(stricter.headers.get("x-svc-data-action")).toBe("redacted");
    const blocked = await ask({ data_classes: { personal: { action: "block" } } });
    expect([blocked.status, blocked.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    const wrong = await ask({ data_classes: { personal: { action: "hide" } } });
    expect([wrong.status, wrong.body.error.param]).toEqual([400, "data_classes.personal.action"]);
    const rules = { personal: { action: "redact", below: "L1" } };
    const router = { models: [MODEL], data_classes: rules };
    const put = await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/careful`, router);
    expect(put.data_classes).toEqual(rules);
    await ask({ model: `@${tenant.slug}/careful` });
    expect(lastText("deepinfra")).toContain("[EMAIL]");
  });

  test("CLASS-02 rules of a request hold where its workspace has none, and without any nothing is inspected", async () => {
    scene.at("deepinfra").always(echo());
    const other = await scene.gateway.tenant();
    const body = { messages: [{ role: "user", content: QUESTION }], ...only("deepinfra") };
    const plain = await scene.chat(other.key, body);
    expect([lastText("deepinfra"), plain.headers.get("x-svc-data-classes")]).toEqual([QUESTION, null]);
    await scene.chat(other.key, { ...body, data_classes: { personal: { action: "pseudonymise" } } });
    expect(lastText("deepinfra")).toContain("@example.");
  });

  test("CLASS-03 stand-ins in signed reasoning stay in later turns, byte for byte, and originals come back elsewhere", async () => {
    const text = `${QUESTION} IBAN DE89 3704 0044 0532 0130 00, call +49 30 901820, geboren am 30.07.1985, IP 84.112.9.200.`;
    scene.at("anthropic").always(({ json }: { readonly json: unknown }) => {
      const { messages } = json as Json;
      const [{ content }] = messages;
      const question: string = typeof content === "string" ? content : content[0].text;
      const thinking = { type: "thinking", thinking: `They say: ${question}`, signature: "c2lnbmVk" };
      return { json: messageJson([thinking, { type: "text", text: question }]) };
    });
    const first = { role: "user", content: text };
    const body = {
      model: "anthropic/claude-sonnet-4-6",
      max_tokens: 3_000,
      thinking: { type: "enabled", budget_tokens: 1_024 },
      ...only("anthropic"),
    };
    const ask = (messages: object[]) => scene.gateway.call(tenant.key, "/v1/messages", { body: { ...body, messages } });
    const one = await ask([first]);
    const [thinking, shown] = one.body.content;
    expect([thinking.type, shown.text]).toEqual(["thinking", text]);
    expect(thinking.thinking).not.toContain(EMAIL);
    const two = await ask([first, { role: "assistant", content: one.body.content }, { role: "user", content: "Why?" }]);
    expect([two.status, two.body.content?.[1].text]).toEqual([200, text]);
    const [begin, turn] = received("anthropic").at(-1)?.messages ?? [];
    expect(turn.content[0]).toEqual(thinking);
    expect(`They say: ${turn.content[1].text}`).toBe(thinking.thinking);
    const sent = JSON.stringify([begin, turn]);
    for (const original of [EMAIL, "DE89 3704", "901820", "30.07.1985", "84.112.9.200"])
      expect(sent).not.toContain(original);
  });

  test("CLASS-03 where a reply cannot be restored, low endpoints are excluded with the reason", async () => {
    const before = received("deepinfra").length;
    expect((await ask({ logprobs: true })).status).toBe(403);
    const probable = { model: MODEL, input: QUESTION, top_logprobs: 2, store: false, ...only("deepinfra") };
    expect((await scene.gateway.call(tenant.key, "/v1/responses", { body: probable })).status).toBe(403);
    const vectors = { model: "mistral/mistral-embed", input: `Jane Doe, ${EMAIL}` };
    const refused = await scene.gateway.call(tenant.key, "/v1/embeddings", { body: vectors });
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    expect(received("deepinfra").length).toBe(before);
    expect(received("mistral")).toEqual([]);
  });
});

/** The rules of a recipe as the guide prints them. */
function recipeOf(who: string): object {
  const guide = readFileSync("docs/guides/data-class-rules.md", "utf8");
  const [, rules = ""] = new RegExp(`^\\| ${who} \\| \`(.+?)\` \\|`, "m").exec(guide) ?? [];
  return JSON.parse(rules);
}

describe("recipes of the guide", () => {
  const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
  const follow = (who: string) =>
    scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: recipeOf(who) });
  const askOf = (content: string, provider?: Provider) =>
    scene.chat(tenant.key, { messages: [{ role: "user", content }], ...(provider && only(provider)) });

  test("CLASS-02 CLASS-03 a law firm: mandates stay readable at L3, lower endpoints get stand-ins, secrets none", async () => {
    await follow("a law firm");
    scene.at("deepinfra").always(echo());
    expect((await askOf(QUESTION, "deepinfra")).body.choices[0].message.content).toBe(QUESTION);
    expect(lastText("deepinfra")).not.toContain(EMAIL);
    await askOf(QUESTION, "ovhcloud");
    expect(lastText("ovhcloud")).toBe(QUESTION);
    expect((await askOf(`Token ${TOKEN}`)).body.error.code).toBe("data_class_not_permitted");
  });

  test("CLASS-02 a hospital: personal data runs at L3 and above, health near a person nowhere below L4", async () => {
    await follow("a hospital");
    expect((await askOf(QUESTION)).headers.get("x-svc-provider")).toBe("ovhcloud");
    const refused = await askOf("The patient Jane Doe has diabetes.");
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    expect((await askOf("What is the capital of France?", "deepinfra")).status).toBe(200);
  });

  test("CLASS-02 CLASS-05 a software company: secrets reach no provider, the rest is counted", async () => {
    await follow("a software company");
    const answer = await askOf(`Why does ${TOKEN} of ${EMAIL} fail?`, "deepinfra");
    expect(lastText("deepinfra")).toBe(`Why does [SECRET] of ${EMAIL} fail?`);
    expect(answer.headers.get("x-svc-data-classes")).toBe("personal=1,secret=1");
  });
});
