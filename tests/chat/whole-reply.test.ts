import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { chatBody, costNanos, credentialOf, MODEL, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatJson, UPSTREAM_ID, UPSTREAM_USAGE } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** The last request of the cheapest provider. */
const received = () => scene.at("deepinfra").requests.at(-1);

describe("a whole reply", () => {
  test("CHAT-01 it is the provider's, except for its id and the cost beside its usage", async () => {
    const written = chatJson({
      content: "Grüße, 世界 \u{1F600}",
      provider_extra: { nested: [1, { deep: null }], big: 12345678901234567n.toString() },
    });
    scene.at("deepinfra").next({ json: written });
    const { status, body, headers } = await scene.chat(tenant.key);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    const { cost, currency, ...usage } = body.usage;
    expect(body.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    expect(body).toEqual({ ...written, id: body.id, usage: { ...UPSTREAM_USAGE, cost, currency } });
    expect(usage).toEqual(UPSTREAM_USAGE);
  });

  test("CHAT-01 numbers beyond JavaScript's precision, escapes and spacing survive in the reply", async () => {
    const text = `{ "id" : "x", "object":"chat.completion", "created":1, "model":"m", "big":9007199254740993, "choices":[{"index":0,"message":{"role":"assistant","content":"\\u00fc\\/ok"},"finish_reason":"stop"}] , "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`;
    scene.at("deepinfra").next({ body: text, headers: { "content-type": "application/json" } });
    const answer = await scene.chat(tenant.key);
    expect(answer.text).toContain('"big":9007199254740993');
    expect(answer.text).toContain('"content":"\\u00fc\\/ok"');
    expect(answer.body.id).toBe(answer.headers.get("x-svc-request-id"));
  });

  test("CHAT-07 usage has tokens, details, cost and currency, and the cost equals the ledger's charge", async () => {
    const usage = {
      prompt_tokens: 1200,
      completion_tokens: 345,
      total_tokens: 1545,
      prompt_tokens_details: { cached_tokens: 200 },
      completion_tokens_details: { reasoning_tokens: 45 },
    };
    scene.at("deepinfra").next({ json: chatJson({ usage }) });
    const payer = await scene.gateway.tenant({ credit: "5" });
    const { body } = await scene.chat(payer.key);
    const nanos = costNanos("deepinfra", { input: 1200, cached: 200, output: 345 });
    expect(body.usage).toEqual({ ...usage, cost: Number(nanos) / 1e9, currency: "EUR" });
    expect(await scene.charges(payer)).toEqual([{ id: `charge:${body.id}`, nanos }]);
    expect(nanosOf((await scene.wallet(payer)).balance)).toBe(5_000_000_000n - nanos);
    const row = await scene.row(body.id);
    expect(nanosOf(row.cost)).toBe(nanos);
    expect(row.usage).toMatchObject({
      input_tokens: 1200,
      cached_tokens: 200,
      output_tokens: 345,
      reasoning_tokens: 45,
      estimated: false,
    });
  });

  test("CHAT-07 a provider without usage: the gateway's own count is shown and charged", async () => {
    const { usage: _, ...silent } = chatJson({ content: "x".repeat(400) });
    scene.at("deepinfra").next({ json: silent });
    const payer = await scene.gateway.tenant({ credit: "5" });
    const { body } = await scene.chat(payer.key);
    expect(body.usage).toMatchObject({ completion_tokens: 100, currency: "EUR" });
    expect(body.usage.prompt_tokens).toBeGreaterThan(0);
    expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens + 100);
    const nanos = costNanos("deepinfra", { input: body.usage.prompt_tokens, output: 100 });
    expect(body.usage.cost).toBe(Number(nanos) / 1e9);
    expect(await scene.charges(payer)).toEqual([{ id: `charge:${body.id}`, nanos }]);
    expect((await scene.row(body.id)).usage.estimated).toBe(true);
  });
});

describe("the provider's request", () => {
  test("CHAT-01 the client's bytes except for the model: spacing, escapes, order and unknown fields inside messages", async () => {
    const body = `{ "messages" : [ {"role":"user", "content":"\\u0041\\/b ü \\ud83d\\ude00","x_own":{"b":1,"a":[9007199254740993, 1.10, -0.0, 1e+2]}} ,\n\t{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{ \\"a\\": 1 }"},"x_own":{"signature":"c2ln"}}],"reasoning_content":"hm"},{"role":"tool","tool_call_id":"call_1","content":"42","x_mark":{"type":"ephemeral"}} ],\r\n "model":"${MODEL}", "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"constructor":{"type":"string"}},"additionalProperties":false}}}],"temperature" :0.70 }\n`;
    const { status } = await scene.chat(tenant.key, body);
    expect(status).toBe(200);
    // deepinfra has the same name for this model, so nothing differs.
    expect(received()?.raw.toString()).toBe(body);
  });

  test("CHAT-01 the model has the provider's own name", async () => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: "L3" });
    const body = JSON.stringify(chatBody({ seed: 7 }));
    const { status } = await scene.chat(tenant.key, body);
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: null });
    expect(status).toBe(200);
    const raw = scene.at("ovhcloud").requests.at(-1)?.raw.toString();
    expect(raw).toBe(body.replace(JSON.stringify(MODEL), '"gpt-oss-120b"'));
  });

  test("CHAT-01 routing hints are removed at any position", async () => {
    const messages = [{ role: "user", content: "session_id cost_tier" }];
    const { status } = await scene.chat(
      tenant.key,
      JSON.stringify({ session_id: "s1", model: MODEL, cost_tier: "low", messages, seed: 3, remaining_turns: 2 }),
    );
    expect(status).toBe(200);
    expect(received()?.raw.toString()).toBe(JSON.stringify({ model: MODEL, messages, seed: 3 }));
  });

  test("CHAT-11 max_completion_tokens and max_tokens limit alike, with the same hold", async () => {
    const holds: string[] = [];
    for (const field of ["max_tokens", "max_completion_tokens"]) {
      const { status } = await scene.chat(tenant.key, { [field]: 77 });
      expect(status).toBe(200);
      expect(received()?.json).toMatchObject({ [field]: 77 });
      const poor = await scene.gateway.tenant({ credit: "0.000000001" });
      const refused = await scene.chat(poor.key, { [field]: 77 });
      expect(refused.status).toBe(402);
      holds.push(/hold of ([\d.]+)/.exec(refused.body.error.message)?.[1] ?? "");
      // Either field can exceed the output limit of every endpoint.
      const { status: tooMuch, body } = await scene.chat(tenant.key, { [field]: 9_999_999 });
      expect([tooMuch, body.error.code]).toEqual([400, "invalid_value"]);
    }
    expect(holds[0]).toMatch(/^0\.\d+$/);
    expect(holds[1]).toBe(holds[0]);
  });

  test("CHAT-11 n is accepted as 1 and refused as anything else, before any provider is called", async () => {
    expect((await scene.chat(tenant.key, { n: 1 })).status).toBe(200);
    const before = scene.at("deepinfra").requests.length;
    for (const n of [0, 2, 1.5, "1", [1]]) {
      const { status, body } = await scene.chat(tenant.key, { n });
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "n"]);
    }
    expect(scene.at("deepinfra").requests.length).toBe(before);
  });

  test("CHAT-01 it has the operator's credential and none of the caller's headers", async () => {
    const { status } = await scene.chat(
      tenant.key,
      {},
      {
        cookie: "session=secret-cookie",
        "x-title": "marked-app",
        "x-forwarded-for": "203.0.113.9",
        "x-client-request-id": "marked-client-id",
        "openai-organization": "org-marked",
      },
    );
    expect(status).toBe(200);
    const { headers, path, method } = received() ?? { headers: {} };
    expect([method, path]).toEqual(["POST", "/v1/chat/completions"]);
    expect(headers["authorization"]).toBe(`Bearer ${credentialOf("deepinfra")}`);
    expect(headers["content-type"]).toBe("application/json");
    const all = JSON.stringify(headers);
    for (const mark of ["secret-cookie", "marked-app", "203.0.113.9", "marked-client-id", "org-marked", tenant.key])
      expect(all).not.toContain(mark);
  });

  test("CHAT-01 a body of many megabytes with images reaches a vision model, byte for byte", async () => {
    const picture = `data:image/png;base64,${"iVBORw0KGgo".repeat(800_000)}`;
    const body = JSON.stringify({
      model: "mistral/mistral-small-2506",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: picture, detail: "low" } },
            { type: "image_url", image_url: { url: "https://pictures.example/one.png" } },
          ],
        },
      ],
    });
    const { status } = await scene.chat(tenant.key, body);
    expect(status).toBe(200);
    const raw = scene.at("ovhcloud").requests.at(-1)?.raw.toString() ?? "";
    const sent = body.replace("mistral/mistral-small-2506", "mistral-small-3.2-24b-instruct-2506");
    expect(raw.length).toBe(sent.length);
    expect(raw === sent).toBe(true);
  });

  test("CHAT-01 the upstream's id is in no response", async () => {
    const { text } = await scene.chat(tenant.key);
    const streamed = await scene.chat(tenant.key, { stream: true });
    expect(text + streamed.text).not.toContain(UPSTREAM_ID);
  });
});
