import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, filesWith, spawnGateway } from "../edge/child.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { chatBody, connectedTo, MODEL, openChat, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script, sse, startUpstream, type Upstream } from "../support/upstream.ts";

const HELLO = [{ role: "user", content: "hello" }];

describe("a row of the log", () => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(["deepinfra", "ovhcloud"]);
    tenant = await scene.gateway.tenant({ key: { name: "billing robot" } });
  });
  afterAll(() => scene.close());

  test.each<[string, string, string, Record<string, unknown>]>([
    ["an unknown field", "/v1/chat/completions", "sandbox/chat", { messages: HELLO, foo: 1 }],
    ["a value out of range", "/v1/chat/completions", "sandbox/chat", { messages: HELLO, temperature: 9 }],
    ["no messages", "/v1/chat/completions", "sandbox/chat", {}],
    ["a missing output limit", "/v1/messages", "sandbox/chat", { messages: HELLO }],
    ["nothing to count", "/v1/messages/count_tokens", "sandbox/chat", {}],
    ["a value out of range", "/v1/responses", "sandbox/chat", { input: "hello", temperature: 9 }],
    ["a stream of an unstreamable request", "/v1/decisions", "auto", { state: "x", questions: {} }],
    ["an unknown field", "/v1/audio/speech", "sandbox/speech", { input: "hello", voice: "v", foo: 1 }],
  ])("LOG-01 %s at %s is refused, and the row has the requested model", async (_, path, model, body) => {
    const answer = await scene.gateway.call(tenant.key, path, { body: { model, ...body, stream: true } });
    expect(answer.status).toBe(400);
    const row = await scene.row(String(answer.headers.get("x-svc-request-id")));
    expect(row).toMatchObject({ model_requested: model, streaming: true, status: 400 });
  });

  test("LOG-01 RATE-01 rate-limited calls of a key have rows; calls without a model have none, refused or not", async () => {
    const slow = await scene.gateway.tenant({ key: { rpm: 1 } });
    const other = await scene.gateway.tenant();
    for (const where of ["/v1/models", "/v1/models/missing/model", "/v1/auth/validate", "/v1/responses/resp_none"])
      await scene.gateway.call(other.key, where);
    await scene.gateway.call(slow.key, "/v1/models");
    expect((await scene.chat(slow.key)).status).toBe(429);
    expect((await scene.gateway.call(slow.key, "/v1/models")).status).toBe(429);
    expect((await scene.rows(slow)).map(({ surface, status }) => [surface, status])).toEqual([["chat", 429]]);
    expect(await scene.rows(other)).toEqual([]);
  });

  test("LOG-01 invalid JSON or a missing model leaves the model empty in its row", async () => {
    for (const body of ['{"model":"sandbox/chat","stream":true', '{"model":7,"foo":1}']) {
      const answer = await scene.chat(tenant.key, body);
      expect(answer.status).toBe(400);
      const row = await scene.row(String(answer.headers.get("x-svc-request-id")));
      expect(row).toMatchObject({ model_requested: null, streaming: false });
    }
  });

  test("LOG-01 every field of a streamed success, in the list and by its id", async () => {
    const before = Date.now();
    scene.at("deepinfra").next({ status: 503, json: {} });
    const { headers } = await scene.chat(
      tenant.key,
      { stream: true },
      { "x-title": "Support\u00ad desk", "x-client-request-id": "theirs-1" },
    );
    const id = headers.get("x-svc-request-id");
    const row = await scene.row(String(id));
    expect(row).toEqual({
      id,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      key_id: tenant.keyId,
      key_name: "billing robot",
      member: null,
      environment: "live",
      app: "Support desk",
      surface: "chat",
      model_requested: MODEL,
      model: MODEL,
      provider: "ovhcloud",
      endpoint: expect.stringMatching(/^ovhcloud:/),
      level: "L3",
      countries: ["FR", "US"],
      router: null,
      streaming: true,
      status: 200,
      error_code: null,
      usage: {
        input_tokens: 11,
        cached_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 7,
        reasoning_tokens: 0,
        characters: null,
        seconds: null,
        images: null,
        search_units: null,
        estimated: false,
      },
      cost: expect.stringMatching(/^0\.0000\d+$/),
      own_key: false,
      node_id: null,
      level_attested: false,
      omitted: [],
      detail: null,
      currency: "EUR",
      ttfb_ms: expect.any(Number),
      total_ms: expect.any(Number),
      overhead_ms: expect.any(Number),
      attempts: [
        {
          endpoint: expect.stringMatching(/^deepinfra:/),
          provider: "deepinfra",
          started_at: expect.stringMatching(/Z$/),
          duration_ms: expect.any(Number),
          outcome: "next",
          upstream_status: 503,
          reason: "provider failed (503)",
          maybe_accepted: false,
          own_key: false,
        },
        expect.objectContaining({ provider: "ovhcloud", outcome: "served", upstream_status: 200 }),
      ],
      decision: {
        candidates: expect.any(Array),
        order: expect.any(Array),
        reason: expect.any(String),
        demand: expect.any(Object),
      },
      charge: {
        margin: null,
        price: { currency: "USD", input_per_1m_tokens: "0.09", output_per_1m_tokens: "0.47" },
        rate: { from: "USD", per_eur_from: expect.any(String), per_eur_to: "1", to: "EUR" },
      },
      policies: [{ subject: "workspace", version: 1, policy: expect.objectContaining({ floor: null }) }],
      error: null,
      workspace: tenant.slug,
      client_request_id: "theirs-1",
      upstream_id: "chatcmpl-upstream1",
      captured_in: null,
    });
    expect(Date.parse(row.created_at)).toBeGreaterThanOrEqual(before - 1);
    expect(Date.parse(row.created_at)).toBeLessThanOrEqual(Date.now());
    expect(row.ttfb_ms).toBeLessThanOrEqual(row.total_ms);
    expect(row.overhead_ms).toBeLessThanOrEqual(row.total_ms);
    const [listed] = await scene.rows(tenant);
    expect(row).toMatchObject(listed);
    // Only expensive fields are left to the detail.
    expect(Object.keys(row).filter((name) => !(name in listed))).toEqual(
      expect.arrayContaining(["decision", "detail", "charge", "policies"]),
    );
  });

  test("HDR-07 the app label is bounded and has no control characters; it is optional", async () => {
    const titled = await scene.chat(tenant.key, {}, { "x-title": `\t${"long \u0085".repeat(100)}` });
    const { app } = await scene.row(titled.body.id);
    expect(app.startsWith("long long")).toBe(true);
    expect(app.length).toBeLessThanOrEqual(128);
    expect(app).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const bare = await scene.chat(tenant.key, {});
    expect((await scene.row(bare.body.id)).app).toBe(null);
  });

  test("HDR-07 a label in UTF-8 or Latin-1 is decoded as such and never cut inside a character", async () => {
    const labelled = async (bytes: Buffer) => {
      const { body } = await scene.chat(tenant.key, {}, { "x-title": bytes.toString("latin1") });
      return (await scene.row(body.id)).app;
    };
    expect(await labelled(Buffer.from("Büro für Öffentlichkeit 東京 🌧"))).toBe("Büro für Öffentlichkeit 東京 🌧");
    expect(await labelled(Buffer.from("Büro", "latin1"))).toBe("Büro");
    expect(await labelled(Buffer.from("one\u2028 \u202eline\u200b"))).toBe("one line");
    const cut = await labelled(Buffer.from(`a${"🌧".repeat(100)}`));
    expect(cut).toBe(`a${"🌧".repeat(63)}`);
  });

  test("LOG-01 a router's choice is logged with the requested and the serving model", async () => {
    const { headers } = await scene.chat(tenant.key, { model: "auto" });
    const row = await scene.row(String(headers.get("x-svc-request-id")));
    expect(row).toMatchObject({ model_requested: "auto", router: "auto", model: headers.get("x-svc-model") });
    expect(row.decision.candidates[0].scores).toEqual(expect.any(Object));
  });

  test("LOG-01 every call has a row, refused ones too, with status and code", async () => {
    const caller = await scene.gateway.tenant({ credit: "0" });
    const calls: [Record<string, unknown> | string, number, string][] = [
      [{ temperature: 9 }, 400, "invalid_value"],
      [{ not_a_field: 1 }, 400, "unsupported_parameter"],
      ["{", 400, "invalid_json"],
      [{ model: "no/such-model" }, 404, "model_not_found"],
      [{ model: "@missing/none" }, 404, "router_not_found"],
      [{ top_k: 5 }, 400, "unsupported_parameter"],
      [{}, 402, "insufficient_credits"],
    ];
    for (const [body, status, code] of calls) {
      const answer = await scene.chat(caller.key, body);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    }
    const rows = await scene.rows(caller);
    // In any order: two of them may have the same millisecond.
    expect(rows.map((row: Json) => [row.status, row.error_code]).toSorted()).toEqual(
      calls.map(([, status, code]) => [status, code]).toSorted(),
    );
    for (const row of rows) {
      expect(row).toMatchObject({ key_id: caller.keyId, surface: "chat", cost: "0.00", attempts: [], provider: null });
      expect(row.usage).toMatchObject({ input_tokens: null, output_tokens: null });
    }
  });
});

describe("calls that a key may not make", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene(["deepinfra"]);
  });
  afterAll(() => scene.close());

  test("LOG-01 SCOPE-03 AUTH-07 one outside its scopes or from a disallowed address has a row like any other", async () => {
    const tenant = await scene.gateway.tenant();
    const keyOf = async (settings: Record<string, unknown>) =>
      String((await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, settings))["key"]);
    const narrow = await keyOf({ name: "narrow", scopes: ["inference:models"], rpm: 4 });
    const disallowedAddress = await keyOf({ name: "elsewhere", ip_allowlist: ["192.0.2.0/24"], rpm: 4 });
    const called = [];
    for (const key of [narrow, disallowedAddress])
      for (const where of ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses"]) {
        const { status, headers, body } = await scene.gateway.call(key, where, { body: chatBody() });
        called.push([headers.get("x-svc-request-id"), status, body.error.code]);
        // A caller at a disallowed address does not use the key's rate limit.
        expect(headers.get("x-ratelimit-limit")).toBe(key === narrow ? "4" : null);
      }
    expect(called.map(([, , code]) => code)).toEqual([
      ...Array.from({ length: 4 }, () => "insufficient_scope"),
      ...Array.from({ length: 4 }, () => "ip_not_allowed"),
    ]);
    const rows = await scene.rowsOnce(tenant, 8);
    // In any order: two of them may have the same millisecond.
    const logged = rows.map((row: Json) => [row.id, row.status, row.error_code]);
    expect(logged.toSorted()).toEqual(called.toSorted());
    expect(rows.every((row: Json) => row.cost === "0.00" && row.model_requested === null)).toBe(true);
    // The fifth exceeds the limit, and is still refused for its scope.
    const fifth = await scene.chat(narrow, {});
    expect([fifth.status, fifth.body.error.code]).toEqual([403, "insufficient_scope"]);
  });
});

describe("content and the log", () => {
  let upstream: Upstream;
  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterAll(async () => {
    await cleanUp();
    await upstream.close();
  });

  test("LOG-03 no prompt, reply, tool argument or provider error is in any file or log line", {
    timeout: 60_000,
  }, async () => {
    const gateway = spawnGateway({
      ...connectedTo(new Map([["deepinfra", upstream]])),
      GATEWAY_SANDBOX: "off",
      LOG_LEVEL: "trace",
      GATEWAY_REQUEST_TIMEOUT_MS: "2000",
    });
    const origin = await gateway.ready();
    const key = /^Key {6}(\S+)$/m.exec(gateway.stdout())?.[1] ?? "";
    const marks: string[] = [];
    const mark = (where: string) => {
      const text = `PLANTED-${where}-${marks.length}-c0ffee`;
      marks.push(text);
      return text;
    };
    const body = (more: Record<string, unknown> = {}) =>
      chatBody({
        messages: [
          { role: "system", content: mark("system") },
          { role: "user", content: [{ type: "text", text: mark("user") }] },
          {
            role: "assistant",
            content: null,
            reasoning_content: mark("thoughts"),
            tool_calls: [
              { id: "call_1", type: "function", function: { name: "f", arguments: `{"a":"${mark("args")}"}` } },
            ],
          },
          { role: "tool", tool_call_id: "call_1", content: mark("result"), extra: mark("unknown-field") },
        ],
        tools: [
          { type: "function", function: { name: "f", description: mark("tool"), parameters: { type: "object" } } },
        ],
        user: mark("end-user"),
        stop: [mark("stop")],
        session_id: mark("session"),
        ...more,
      });
    const answer = () => ({
      role: "assistant",
      content: mark("answer"),
      reasoning_content: mark("answer-thoughts"),
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: mark("answer-args") } }],
    });
    const pieces = () => [
      { content: mark("piece") },
      { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: mark("piece-args") } }] },
    ];
    const fault = (where: string) => ({
      error: { message: mark(where), code: mark(`${where}-code`), type: mark(`${where}-type`) },
    });
    const partialFrames = () => chatFrames([mark("cut")]).slice(0, 2);
    const scripts: [Script, Record<string, unknown>?][] = [
      [{ json: chatJson({ message: answer() }) }],
      [{ frames: chatFrames(pieces(), { usage: "asked" }) }, { stream: true }],
      [{ status: 400, json: fault("refused") }],
      [{ status: 500, json: fault("failed") }],
      [{ status: 401, body: mark("html-error") }],
      [{ body: mark("not-json") }],
      [{ json: { odd: mark("odd-json") } }],
      [{ frames: [...partialFrames(), sse(fault("in-stream"))] }, { stream: true }],
      [{ frames: [...partialFrames(), sse(`{${mark("garbage-frame")}`)] }, { stream: true }],
      [{ frames: partialFrames(), end: { is: "cut", after: 10_000, how: "rst" } }, { stream: true }],
      [{ end: { is: "cut", after: "before_headers", how: "rst" } }],
    ];
    for (const [script, more] of scripts) {
      upstream.next(script);
      await post(origin, key, body(more));
    }
    const whole = partialFrames();
    upstream.next({ frames: whole, end: { is: "stall", after: Buffer.byteLength(whole.join("")) } });
    const open = await openChat(origin, key, body({ stream: true }));
    open.hangUp();
    // Refused before any provider: the caller's text is content too.
    await post(origin, key, `{"messages": "${mark("bad-json")}`);
    await post(origin, key, body({ temperature: mark("bad-value") }));
    await post(origin, key, body({ messages: [{ role: mark("bad-role"), content: mark("bad-content") }] }));
    await post(origin, key, body({ [mark("bad-field")]: 1 }));
    expect(upstream.requests.length).toBe(scripts.length + 1);

    // While it runs there is a journal; after it has stopped everything is in the store.
    expect(filesWith(gateway.dataDir, ["PLANTED"])).toEqual([]);
    const token = readFileSync(path.join(gateway.dataDir, "admin-token"), "utf8").trim();
    const listed = await fetch(`${origin}/manage/workspaces/demo/requests?limit=1000`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await listed.text();
    expect(JSON.parse(text).data.length).toBeGreaterThanOrEqual(scripts.length + 4);
    expect(text).not.toContain("PLANTED");
    expect(await gateway.stop()).toBe(0);
    expect(filesWith(gateway.dataDir, ["PLANTED"])).toEqual([]);
    expect(gateway.stderr() + gateway.stdout()).not.toContain("PLANTED");
    // The search finds what is there.
    expect(filesWith(gateway.dataDir, [MODEL])).not.toEqual([]);
    expect(marks.length).toBeGreaterThan(100);
  });
});

async function post(origin: string, key: string, body: unknown): Promise<void> {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-title": "an app" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  await answer.text();
}
