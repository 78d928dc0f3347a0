import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Scan } from "../../src/domain/data-classes/scan.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud"];
const EMAIL = "jane.doe@mail.example.eu";
const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (path: string) => `/workspaces/${tenant.slug}${path}`;
const setPolicy = (rules: object | null) => scene.gateway.manage("PATCH", at("/policy"), { data_classes: rules });
const setKey = (rules: object) =>
  scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: { data_classes: rules } });
const ask = (content: string, more: object = {}) =>
  scene.chat(tenant.key, { messages: [{ role: "user", content }], ...more });
/** Everything that a provider received. */
const receivedBy = (provider: Provider) => JSON.stringify(scene.at(provider).requests);

describe("rules of data classes", () => {
  test("CLASS-02 a floor holds for requests with data of the class, and for no others", async () => {
    await setPolicy({ personal: { floor: "L3" } });
    const plain = await ask("What is the capital of France?");
    expect([plain.headers.get("x-svc-provider"), plain.headers.get("x-svc-data-classes")]).toEqual([
      "deepinfra",
      "none",
    ]);
    const personal = await ask(`Write to ${EMAIL}`);
    expect([personal.headers.get("x-svc-provider"), personal.headers.get("x-svc-data-classes")]).toEqual([
      "ovhcloud",
      "personal=1",
    ]);
    expect(receivedBy("deepinfra")).not.toContain(EMAIL);
    const { detail } = await scene.row(personal.body.id);
    expect(detail).toMatchObject({ data_classes: { personal: 1 } });
  });

  test("CLASS-02 every string counts: system prompts, tools, their results, names of fields", async () => {
    await setPolicy({ personal: { floor: "L4" } });
    const tool = { type: "function", function: { name: "f", parameters: { type: "object", description: EMAIL } } };
    for (const more of [
      {
        messages: [
          { role: "system", content: EMAIL },
          { role: "user", content: "Hi" },
        ],
      },
      { tools: [tool] },
      { user: EMAIL },
      { stop: [EMAIL] },
    ]) {
      const refused = await ask("Hi", more);
      expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    }
  });

  test.each([
    ["a token after a line break", JSON.stringify({ t: `a\n${TOKEN}` }), "secret"],
    ["a key id after a tab", JSON.stringify({ t: "a\tAKIAQ4T7ZP2MXW6LKD3B" }), "secret"],
    ["an account number after a line break", JSON.stringify({ t: "a\nDE89370400440532013000" }), "personal"],
    ["an escaped @", '{"t": "jane.doe\\u0040mail.example.eu"}', "personal"],
    ["JSON in JSON", JSON.stringify({ t: JSON.stringify({ t: `a\n${TOKEN}` }) }), "secret"],
  ])(
    "CLASS-02 arguments and results of tools are inspected as JSON, in chat and responses: %s",
    async (_, json, name) => {
      await setPolicy({ [name]: { action: "block" } });
      const call = (text: string) => ({ id: "c1", type: "function", function: { name: "f", arguments: text } });
      const chat = async (text: string, result: string) =>
        ask("Hi", {
          messages: [
            { role: "user", content: "Hi" },
            { role: "assistant", tool_calls: [call(text)] },
            { role: "tool", tool_call_id: "c1", content: result },
          ],
        });
      const responses = (text: string, output: string) => {
        const input = [
          { role: "user", content: "Hi" },
          { type: "function_call", call_id: "c1", name: "f", arguments: text },
          { type: "function_call_output", call_id: "c1", output },
        ];
        return scene.gateway.call(tenant.key, "/v1/responses", { body: { model: MODEL, input, store: false } });
      };
      for (const refused of [
        await chat(json, "ok"),
        await chat("{}", json),
        await responses(json, "ok"),
        await responses("{}", json),
      ]) {
        expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
        expect(refused.body.error.param).toMatch(/(arguments|content|output)\.\*$/);
      }
    },
  );

  test("CLASS-02 what is blocked is refused with its place and never its text, and reaches no provider", async () => {
    await setPolicy({ secret: { action: "block" } });
    const refused = await ask(`The token is ${TOKEN}.`);
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      403,
      "data_class_not_permitted",
      "messages[0].content",
    ]);
    expect(refused.body.error.message).toContain('"secret" (secret.github) at messages[0].content, offset 13');
    expect(JSON.stringify(refused.body)).not.toContain(TOKEN.slice(4));
    expect(receivedBy("deepinfra") + receivedBy("ovhcloud")).not.toContain(TOKEN);
  });

  test("CLASS-02 the place of a finding names no member that could be data itself", async () => {
    await setPolicy({ secret: { action: "block" } });
    const parameters = { type: "object", properties: { [EMAIL]: { description: TOKEN } } };
    const refused = await ask("Hi", { tools: [{ type: "function", function: { name: "f", parameters } }] });
    expect(refused.body.error.param).toBe("tools[0].function.parameters.properties.*.description");
  });

  test("CLASS-02 a key only tightens, and a block below a level leaves the endpoints above it", async () => {
    await setPolicy({ personal: { floor: "L3" } });
    await setKey({ personal: { floor: "L0" }, secret: { action: "block", below: "L3" } });
    expect((await ask(`Write to ${EMAIL}`)).headers.get("x-svc-provider")).toBe("ovhcloud");
    expect((await ask(`Use ${TOKEN}`)).headers.get("x-svc-provider")).toBe("ovhcloud");
    await setPolicy(null);
    expect((await ask(`Write to ${EMAIL}`)).headers.get("x-svc-provider")).toBe("deepinfra");
  });

  test("CLASS-02 explain and refusals name the class, the layer that added its rule, and why an endpoint is out", async () => {
    const body = { model: MODEL, messages: [{ role: "user", content: `Write to ${EMAIL}` }] };
    const reasonOf = async (request: object) => {
      const explained = await scene.gateway.manage("POST", at("/routing/explain"), {
        request: { ...body, ...request },
        key: tenant.keyId,
      });
      const low = explained.candidates.find(({ provider }: Json) => provider === "deepinfra");
      return { reason: low?.reason, refusal: explained.refusal };
    };
    await setPolicy({ personal: { below: "L3", action: "pseudonymise" } });
    expect((await reasonOf({})).reason).toBe("rank 1");
    expect((await reasonOf({ top_logprobs: 2, logprobs: true })).reason).toContain(
      "below the floor L3 of the rule data_classes.personal of the workspace, below which the reply would have stand-ins that cannot be restored",
    );
    await setKey({ personal: { floor: "L4" } });
    expect((await reasonOf({})).reason).toContain(
      "below the floor L4 that the rule data_classes.personal of the key sets",
    );
    const refused = await ask(`Write to ${EMAIL}`);
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    expect(refused.body.error.message).toContain("data_classes.personal of the key");
    const block = { data_classes: { personal: { action: "block" } } };
    expect((await reasonOf(block)).refusal.message).toContain("the rule data_classes.personal of the request blocks");
    // What the caller can change comes first: a preference that leaves none of the endpoints above the floor.
    await setKey({});
    const preferred = { logprobs: true, provider: { only: ["deepinfra"] } };
    const only = await ask(`Write to ${EMAIL}`, preferred);
    expect([only.status, only.body.error.code, only.body.error.param]).toEqual([
      403,
      "no_eligible_endpoint",
      "provider.only",
    ]);
    expect(only.body.error.message).toContain("data_classes.personal of the workspace");
  });

  test("CLASS-02 token counts and failover keep to the rules as well", async () => {
    await setPolicy({ personal: { action: "block" } });
    const body = { model: MODEL, messages: [{ role: "user", content: EMAIL }] };
    const refused = await scene.gateway.call(tenant.key, "/v1/messages/count_tokens", { body });
    expect([refused.status, refused.body.error.type]).toEqual([403, "permission_error"]);
    const before = scene.at("deepinfra").requests.length;
    await setPolicy({ personal: { floor: "L3" } });
    scene.at("ovhcloud").next({ status: 503, json: { error: { message: "busy" } } });
    expect((await ask(`Write to ${EMAIL}`)).status).toBeGreaterThanOrEqual(500);
    expect(scene.at("deepinfra").requests.length).toBe(before);
  });

  test("CLASS-02 gateway data-class set replaces the rules from a file, and refuses a level without a block", async () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), "gateway-rules-")), "rules.json");
    writeFileSync(file, '{"secret": {"action": "block"}}');
    const { code } = await scene.gateway.cli("data-class", "set", tenant.slug, "--file", file);
    expect(code).toBe(0);
    expect((await ask(`Use ${TOKEN}`)).body.error.code).toBe("data_class_not_permitted");
    writeFileSync(file, '{"secret": {"below": "L3"}}');
    const refused = await scene.gateway.cli("data-class", "set", tenant.slug, "--file", file);
    expect([refused.code, refused.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining("data_classes.secret.below"),
    ]);
    expect(refused.code).not.toBe(0);
  });

  test("CLASS-02 images, audio and files that no detector reads can be refused; a file of text is read instead", async () => {
    await setPolicy({ uninspected: { action: "block" } });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" } };
    const text = { type: "text", text: "What is this?" };
    const refused = await ask("", { messages: [{ role: "user", content: [text, image] }] });
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      403,
      "data_class_not_permitted",
      "messages[0].content[1]",
    ]);
    const data = `data:text/plain;base64,${Buffer.from("A plain text, nothing else in it").toString("base64")}`;
    const file = { type: "file", file: { filename: "a.txt", file_data: data } };
    const read = await ask("", { messages: [{ role: "user", content: [text, file] }] });
    expect(read.body.error?.code).not.toBe("data_class_not_permitted");
    await expect(setPolicy({ uninspected: { action: "redact" } })).rejects.toThrow("data_classes.uninspected.action");
  });

  const QUESTIONS = { spam: { type: "noul", instructions: "Is it spam?" } };
  test.each([
    ["/v1/embeddings", { model: "sandbox/embed", input: EMAIL }],
    ["/v1/rerank", { model: "sandbox/rerank", query: EMAIL, documents: ["one", "two"] }],
    ["/v1/moderations", { model: "sandbox/moderate", input: EMAIL }],
    ["/v1/audio/speech", { model: "sandbox/speak", voice: "alloy", input: EMAIL }],
    ["/v1/decisions", { model: "sandbox/decide", state: EMAIL, questions: QUESTIONS }],
  ])("CLASS-02 a rule of the request itself holds on %s, without one of the workspace", async (where, body) => {
    const send = (action: string) =>
      scene.gateway.call(tenant.key, where, { body: { ...body, data_classes: { personal: { action } } } });
    const blocked = await send("block");
    expect([blocked.status, blocked.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect((await send("report")).body.error?.code).not.toBe("data_class_not_permitted");
  });

  test("CLASS-02 a rule in the form of a transcription holds for its prompt", async () => {
    const form = new FormData();
    const fields = { model: "sandbox/listen", prompt: EMAIL, data_classes: '{"personal":{"action":"block"}}' };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("file", new Blob([Buffer.alloc(2_000)], { type: "audio/mpeg" }), "a.mp3");
    const headers = { authorization: `Bearer ${tenant.key}` };
    const url = `${scene.gateway.url}/v1/audio/transcriptions`;
    const refused = await fetch(url, { method: "POST", headers, body: form });
    expect(await refused.json()).toMatchObject({ error: { code: "data_class_not_permitted" } });
  });

  test("CLASS-06 without a rule no text of a request is read, and its record has no classes", async () => {
    const scans = vi.spyOn(Scan.prototype, "next");
    onTestFinished(() => scans.mockRestore());
    const free = await ask(`Write to ${EMAIL}`);
    const { detail } = await scene.row(free.body.id);
    expect([scans.mock.calls.length, free.headers.get("x-svc-data-classes")]).toEqual([0, null]);
    expect(JSON.stringify(detail ?? {})).not.toContain("data_");
    await setPolicy({ personal: { action: "report" } });
    await ask(`Write to ${EMAIL}`);
    expect(scans.mock.calls.length).toBeGreaterThan(0);
  });

  test("CLASS-02 rules are versioned and read back; without them nothing is inspected", async () => {
    const rules = { personal: { floor: "L2" }, secret: { action: "block", below: "L4" } };
    expect((await setPolicy(rules)).data_classes).toEqual(rules);
    expect((await scene.gateway.manage("GET", at("/policy"))).data_classes).toEqual(rules);
    const { data } = await scene.gateway.manage("GET", at("/policy/versions"));
    expect(data[0].policy.data_classes).toEqual(rules);
    expect((await setPolicy({})).data_classes).toBeUndefined();
    expect((await ask(EMAIL)).headers.get("x-svc-data-classes")).toBeNull();
  });
});
