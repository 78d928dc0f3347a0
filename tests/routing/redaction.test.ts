import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Reading, readingsOf } from "../../src/domain/data-classes/reading.ts";
import { atOnce } from "../../src/kit/in-turns.ts";
import type { Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const ALL: readonly Provider[] = [
  "openai",
  "anthropic",
  "aws-bedrock",
  "google-ai-studio",
  "mistral",
  "deepinfra",
  "ovhcloud",
];
const EMAIL = "jane.doe@mail.example.eu";
const IBAN = "DE89370400440532013000";
const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
const BIRTH = "30.07.1985";
const ORIGINALS = [EMAIL, IBAN, TOKEN, BIRTH];

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
  for (const provider of ALL) scene.at(provider).always({ status: 503, json: { error: { message: "busy" } } });
});

const at = (path: string) => `/workspaces/${tenant.slug}${path}`;
const setPolicy = (rules: object | null) => scene.gateway.manage("PATCH", at("/policy"), { data_classes: rules });
const counts = () => ALL.map((provider) => scene.at(provider).requests.length);
/** Every byte that providers received since then, and the same with escapes decoded. */
function receivedSince(before: readonly number[]): string[] {
  return ALL.flatMap((provider, index) => decodedTexts(scene.at(provider).requests.slice(before[index])));
}

function decodedTexts(requests: readonly { readonly raw: Buffer }[]): string[] {
  return requests.map(({ raw }) => {
    const text = raw.toString();
    return [text, ...atOnce(readingsOf(new Reading(text))).map((reading) => reading.text), ...embeddedIn(text)].join(
      "\n",
    );
  });
}

/** Texts that the body holds in base64. */
const embeddedIn = (text: string) =>
  [...text.matchAll(/"([A-Za-z0-9+/]{40,}={0,2})"/g)].map(([, encoded = ""]) =>
    Buffer.from(encoded, "base64").toString(),
  );

const RULES = { personal: { action: "redact" }, secret: { action: "redact" } };
const ARGUMENTS = JSON.stringify({ to: EMAIL, note: `geboren am ${BIRTH}\n${TOKEN}` });
const RESULT = `{"t": "jane.doe\\u0040mail.example.eu", "konto": "a\\n${IBAN}"}`;
const SCHEMA = { type: "object", properties: { to: { type: "string", description: `such as ${EMAIL}` } } };

const CHAT = {
  messages: [
    { role: "system", content: `The account is ${IBAN}.` },
    { role: "user", content: `Write to ${EMAIL}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "mail", arguments: ARGUMENTS } }],
    },
    { role: "tool", tool_call_id: "c1", content: RESULT },
  ],
  tools: [{ type: "function", function: { name: "mail", description: `Not ${EMAIL}`, parameters: SCHEMA } }],
  max_tokens: 50,
};
const MESSAGES = {
  system: `The account is ${IBAN}.`,
  messages: [
    { role: "user", content: `Write to ${EMAIL}` },
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "mail", input: JSON.parse(ARGUMENTS) }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: RESULT }] },
  ],
  tools: [{ name: "mail", description: `Not ${EMAIL}`, input_schema: SCHEMA }],
  max_tokens: 50,
};
const RESPONSES = {
  instructions: `The account is ${IBAN}.`,
  input: [
    { role: "user", content: `Write to ${EMAIL}` },
    { type: "function_call", call_id: "c1", name: "mail", arguments: ARGUMENTS },
    { type: "function_call_output", call_id: "c1", output: RESULT },
  ],
  tools: [{ type: "function", name: "mail", description: `Not ${EMAIL}`, parameters: SCHEMA }],
  store: false,
  max_output_tokens: 50,
};
const MODELS = [
  "openai/gpt-oss-120b",
  "openai/gpt-5-mini",
  "anthropic/claude-sonnet-4-6",
  "amazon/nova-2-lite",
  "google/gemini-2.5-flash",
  "mistral/mistral-small-2603",
];

/** Values as a caller might write them; each beside a word that names it. */
function formed(values: readonly string[], form: string): string {
  const text = values.map((value) => (value === BIRTH ? `geboren am ${value}` : `to ${value}`)).join(", ");
  switch (form) {
    case "json":
      return JSON.stringify({ text: `a\n${text}` });
    case "nested":
      return JSON.stringify({ text: JSON.stringify([`a\t${text}`]) });
    case "escaped":
      return `{"text": "${text.replaceAll("@", "\\u0040").replaceAll("3", "\\u0033")}"}`;
    case "base64":
      return Buffer.from(`A text file. ${text}`).toString("base64");
    default:
      return text;
  }
}

/** A request with the text at one place. */
function bodyWith(path: string, place: string, text: string): object {
  const at = (name: string, other: string) => (place === name ? text : other);
  const args = place === "arguments" ? JSON.stringify({ text }) : "{}";
  const schema = { type: "object", properties: { [place === "name" ? text.slice(0, 60) : "to"]: { type: "string" } } };
  const description = at("tool", "Sends it");
  if (path === "/v1/messages")
    return {
      system: at("system", "Be brief."),
      messages: [
        { role: "user", content: at("user", "Hi") },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "mail", input: JSON.parse(args) }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: at("result", "ok") }] },
      ],
      tools: [{ name: "mail", description, input_schema: schema }],
      max_tokens: 50,
    };
  if (path === "/v1/responses")
    return {
      instructions: at("system", "Be brief."),
      input: [
        { role: "user", content: at("user", "Hi") },
        { type: "function_call", call_id: "c1", name: "mail", arguments: args },
        { type: "function_call_output", call_id: "c1", output: at("result", "ok") },
      ],
      tools: [{ type: "function", name: "mail", description, parameters: schema }],
      store: false,
    };
  const call = { id: "c1", type: "function", function: { name: "mail", arguments: args } };
  return {
    messages: [
      { role: "system", content: at("system", "Be brief.") },
      { role: "user", content: at("user", "Hi") },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: at("result", "ok") },
    ],
    tools: [{ type: "function", function: { name: "mail", description, parameters: schema } }],
  };
}

describe("redaction", () => {
  test.each([
    ["/v1/chat/completions", CHAT],
    ["/v1/messages", MESSAGES],
    ["/v1/responses", RESPONSES],
  ])("CLASS-04 no original reaches any adapter, retry or failover of %s", async (path, body) => {
    await setPolicy(RULES);
    for (const model of MODELS) {
      for (const stream of [false, true]) {
        const before = counts();
        await scene.gateway.call(tenant.key, path, { body: { ...body, model, stream } });
        const received = receivedSince(before);
        expect(received.length, model).toBeGreaterThan(0);
        for (const text of received) {
          for (const original of ORIGINALS) expect(text, model).not.toContain(original);
          expect(text).toContain("[EMAIL]");
        }
      }
    }
  });

  test.each([
    ["/v1/messages/count_tokens", { model: "anthropic/claude-sonnet-4-6", ...MESSAGES, max_tokens: undefined }],
    ["/v1/embeddings", { model: "google/gemini-embedding-001", input: [`to ${EMAIL}`, `or ${IBAN}`] }],
    ["/v1/embeddings", { model: "mistral/codestral-embed-2505", input: `to ${EMAIL}` }],
    ["/v1/audio/speech", { model: "openai/gpt-4o-mini-tts", voice: "alloy", input: `to ${EMAIL}` }],
  ])("CLASS-04 no original reaches a provider through %s", async (path, body) => {
    await setPolicy(RULES);
    const before = counts();
    const answer = await scene.gateway.call(tenant.key, path, { body });
    const received = receivedSince(before);
    expect(received.length, JSON.stringify(answer.body)).toBeGreaterThan(0);
    for (const text of received) {
      for (const original of ORIGINALS) expect(text).not.toContain(original);
      expect(text).toMatch(/\[(EMAIL|IBAN)\]/);
    }
  });

  test("CLASS-04 the prompt and file name of a transcription are redacted in its form", async () => {
    await setPolicy(RULES);
    const form = new FormData();
    form.set("model", "openai/gpt-4o-mini-transcribe");
    form.set("prompt", `With ${EMAIL}`);
    form.set("file", new Blob([Buffer.alloc(2_000)], { type: "audio/mpeg" }), `${EMAIL}.mp3`);
    const before = counts();
    await fetch(`${scene.gateway.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}` },
      body: form,
    });
    for (const text of receivedSince(before)) {
      expect(text).not.toContain(EMAIL);
      expect(text).toContain("With [EMAIL]");
    }
  });

  test("CLASS-02 CLASS-05 an endpoint below the level gets markers, one above it the text, in one plan", async () => {
    await setPolicy({ personal: { below: "L3", action: "redact" } });
    const before = counts();
    scene.at("ovhcloud").next({ json: chatJson() });
    const content = `Write to ${EMAIL}`;
    const provider = { order: ["deepinfra", "ovhcloud"] };
    const served = await scene.chat(tenant.key, { messages: [{ role: "user", content }], provider });
    expect([served.headers.get("x-svc-provider"), served.headers.get("x-svc-data-action")]).toEqual([
      "ovhcloud",
      "none",
    ]);
    const [low, high] = receivedSince(before);
    expect([low, high]).toEqual([
      expect.stringContaining("Write to [EMAIL]"),
      expect.stringContaining(`Write to ${EMAIL}`),
    ]);
    scene.at("deepinfra").next({ json: chatJson() });
    const redacted = await scene.chat(tenant.key, { messages: [{ role: "user", content }], provider });
    expect([redacted.headers.get("x-svc-data-classes"), redacted.headers.get("x-svc-data-action")]).toEqual([
      "personal=1",
      "redacted",
    ]);
    const { detail } = await scene.row(redacted.body.id);
    expect(detail).toMatchObject({ data_classes: { personal: 1 }, data_action: "redacted" });
  });

  test("CLASS-04 on the passthrough path every other byte stays as the caller sent it", async () => {
    await setPolicy(RULES);
    const text = `{ "model":"${MODEL}", "messages" : [{"role":"user",\n"content":"\\u00e4 ${EMAIL} \\/"}] ,"top_p":0.50}`;
    const before = counts();
    await scene.chat(tenant.key, text);
    const [received] = receivedSince(before);
    const [, tail] = text.split('"messages"');
    expect(received).toContain(tail?.replace(EMAIL, "[EMAIL]").slice(0, -1));
  });

  test("CLASS-04 a value that is split over two parts of a message is blocked, or replaced in both on every adapter", async () => {
    const [one, two] = [EMAIL.slice(0, 9), EMAIL.slice(9)];
    const content = [
      { type: "text", text: `Write to ${one}` },
      { type: "text", text: `${two}, please` },
    ];
    for (const action of ["redact", "pseudonymise"]) {
      await setPolicy({ personal: { action } });
      for (const model of MODELS) {
        for (const path of ["/v1/chat/completions", "/v1/messages"]) {
          const before = counts();
          await scene.gateway.call(tenant.key, path, {
            body: { model, messages: [{ role: "user", content }], max_tokens: 50 },
          });
          const received = receivedSince(before);
          expect(received.length, model).toBeGreaterThan(0);
          for (const text of received) {
            expect(text, model).toMatch(/Write to [^j]/);
            expect(text.replaceAll('"', ""), model).not.toMatch(/jane\.doe|mail\.example\.eu/);
          }
        }
      }
    }
    await setPolicy({ personal: { action: "block" } });
    const { body } = await scene.chat(tenant.key, { messages: [{ role: "user", content }] });
    expect(body.error.message).toContain("at messages[0].content[0].text, offset 9");
  });

  test("CLASS-02 CLASS-04 the first of two members of one name is inspected and redacted", async () => {
    await setPolicy(RULES);
    const messages = `[{"role":"user","content":"to ${EMAIL}","content":"Hi"}]`;
    const text = `{"model":"${MODEL}","messages":${messages},"provider":{"only":["deepinfra"]}}`;
    scene.at("deepinfra").next({ json: chatJson() });
    const before = counts();
    const { headers } = await scene.chat(tenant.key, text);
    expect(headers.get("x-svc-data-classes")).toContain("personal=");
    const [received = ""] = receivedSince(before);
    expect(received).toContain('"content":"to [EMAIL]","content":"Hi"');
    expect(received).not.toContain(EMAIL);
    await setPolicy({ personal: { action: "block" } });
    expect((await scene.chat(tenant.key, text)).body.error.code).toBe("data_class_not_permitted");
    expect(counts()).toEqual(before.map((count, at) => count + (ALL[at] === "deepinfra" ? 1 : 0)));
  });

  test("CLASS-04 no original reaches an endpoint below its rule, wherever it stands, with failures and rules at random", async () => {
    const chance = fc.record({
      path: fc.constantFrom("/v1/chat/completions", "/v1/messages", "/v1/responses"),
      model: fc.constantFrom(...MODELS),
      stream: fc.boolean(),
      action: fc.constantFrom("redact", "pseudonymise"),
      below: fc.constantFrom(undefined, "L3"),
      values: fc.array(fc.constantFrom(...ORIGINALS), { minLength: 1, maxLength: 3 }),
      form: fc.constantFrom("plain", "json", "nested", "escaped", "base64"),
      place: fc.constantFrom("user", "system", "arguments", "result", "tool", "name"),
      failing: fc.boolean(),
    });
    for (const one of fc.sample(chance, { numRuns: 40, seed: 35 })) {
      const { path, model, stream, action, below, failing } = one;
      const rule = { action, ...(below === undefined ? {} : { below }) };
      await setPolicy({ personal: rule, secret: rule });
      for (const provider of ALL)
        if (failing) scene.at(provider).always({ status: 503, json: { error: { message: "busy" } } });
        else scene.at(provider).always({ json: chatJson() });
      const before = counts();
      const body = { ...bodyWith(path, one.place, formed(one.values, one.form)), model, stream };
      await scene.gateway.call(tenant.key, path, { body });
      for (const [index, provider] of ALL.entries()) {
        // At L3: it may read the text.
        if (below !== undefined && provider === "ovhcloud") continue;
        for (const text of decodedTexts(scene.at(provider).requests.slice(before[index])))
          for (const original of one.values) expect(text, JSON.stringify(one)).not.toContain(original);
      }
    }
  });

  test("CLASS-04 a rule that is set while a request waits for its endpoint holds for it", async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    scene.at("deepinfra").next({ status: 503, json: {}, gate });
    const before = counts();
    const arrived = scene.at("deepinfra").arrived(scene.at("deepinfra").requests.length + 1);
    const provider = { order: ["deepinfra", "ovhcloud"] };
    scene.at("ovhcloud").next({ json: chatJson() });
    const asking = scene.chat(tenant.key, { messages: [{ role: "user", content: EMAIL }], provider });
    await arrived;
    await setPolicy(RULES);
    open();
    const served = await asking;
    expect(receivedSince(before).at(-1)).not.toContain(EMAIL);
    expect([served.headers.get("x-svc-data-classes"), served.headers.get("x-svc-data-action")]).toEqual([
      "personal=1",
      "redacted",
    ]);
  });
});
