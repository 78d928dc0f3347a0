import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { inferences, keyOf, OWN, type OwnKeyScene, openOwnKeyScene, STREAM, USAGE } from "../support/own-keys.ts";
import { chatBody, chunksOf, contentOf, credentialOf, eventsOf, MODEL, openChat } from "../support/scene.ts";

let scene: OwnKeyScene;
beforeAll(async () => {
  scene = await openOwnKeyScene();
});
afterAll(() => scene.close());

const walletOf = (tenant: Tenant) => scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);

describe("BILL-08 a workspace's own provider key", () => {
  test("BILL-08 BILL-10 connects a provider the operator lacks: served without a charge, as the log shows", async () => {
    const tenant = await scene.tenant();
    const other = await scene.tenant();
    scene.letIn.add(OWN("a"));
    const put = await scene.put(tenant, "deepinfra", { key: OWN("a") });
    expect(put).toMatchObject({
      status: 200,
      body: {
        provider: "deepinfra",
        kind: "key",
        use: "first",
        hint: "d4e5",
        result: "accepted",
        changed_by: "operator",
      },
    });
    const answer = await scene.chat(tenant);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-svc-provider")).toBe("deepinfra");
    expect(answer.headers.get("x-svc-route-reason")).toContain("own key");
    expect(answer.body.usage).toMatchObject(USAGE);
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(answer.body.usage).not.toHaveProperty("currency");
    expect(keyOf(inferences(scene.deepinfra).at(-1) ?? { headers: {} })).toBe(OWN("a"));
    expect(await scene.last(tenant)).toMatchObject({
      provider: "deepinfra",
      own_key: true,
      cost: null,
      usage: { input_tokens: 9, output_tokens: 4 },
      attempts: [{ provider: "deepinfra", own_key: true, outcome: "served" }],
    });
    const read = await scene.gateway.call(tenant.key, `/v1/requests/${answer.body.id}`);
    expect(read.body).toMatchObject({ provider: "deepinfra", cost: null });
    expect(await walletOf(tenant)).toMatchObject({ balance: "100.00", held: "0.00" });
    const { data } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries`);
    expect(data.map(({ kind }: Json) => kind)).toEqual(["topup"]);
    // Other workspaces are not affected.
    const others = await scene.chat(other);
    expect(others.headers.get("x-svc-provider")).toBe("nebius");
    expect(others.body.usage.cost).toBeGreaterThan(0);
    expect(await scene.last(other)).toMatchObject({ own_key: false, provider: "nebius" });
  });

  test("BILL-08 a rejected key is not stored, unless the test is skipped", async () => {
    const tenant = await scene.tenant();
    const refused = await scene.put(tenant, "deepinfra", { key: OWN("bad") });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "conflict", param: "key" } } });
    expect(refused.text).not.toContain(OWN("bad"));
    expect((await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/providers`)).data).toEqual([]);
    const kept = await scene.put(tenant, "deepinfra", { key: OWN("bad"), skip_test: true });
    expect(kept).toMatchObject({ status: 200, body: { result: "untried", tested_at: null } });
    const tested = await scene.gateway.manage("POST", "/providers/deepinfra/test", { workspace: tenant.slug });
    expect(tested).toMatchObject({ ok: false, result: "refused", status: 401 });
    const shown = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/providers/deepinfra`);
    expect(shown).toMatchObject({ result: "refused" });
    expect(await scene.gateway.manage("POST", "/providers/nebius/test", {})).toMatchObject({ ok: true, status: 200 });
  });

  test("PORTAL-08 a workspace tests its own key and sets its use without sending it again", async () => {
    const tenant = await scene.tenant();
    const own = `/workspaces/${tenant.slug}/providers/nebius`;
    await expect(scene.gateway.manage("POST", `${own}/test`)).rejects.toThrow("not_found");
    await expect(scene.gateway.manage("PATCH", own, { use: "only" })).rejects.toThrow("not_found");
    await scene.put(tenant, "nebius", { key: OWN("tried"), skip_test: true });
    expect(await scene.gateway.manage("POST", `${own}/test`)).toMatchObject({ ok: false, result: "refused" });
    scene.letIn.add(OWN("tried"));
    expect(await scene.gateway.manage("POST", `${own}/test`)).toMatchObject({ ok: true, status: 200 });
    const changed = await scene.gateway.manage("PATCH", own, { use: "fallback" });
    expect(changed).toMatchObject({ use: "fallback", result: "accepted", set_aside: [] });
    expect((await scene.chat(tenant)).body.usage.cost).toBeGreaterThan(0);
    await scene.gateway.manage("PATCH", own, { use: "only" });
    expect((await scene.chat(tenant)).body.usage).not.toHaveProperty("cost");
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=provider.change`);
    expect(data.map(({ detail }: Json) => [detail.before, detail.after])).toEqual([
      ["fallback", "only"],
      ["first", "fallback"],
    ]);
  });

  test("BILL-08 refuses a malformed key with the field name and without quoting it", async () => {
    const tenant = await scene.tenant();
    const account = {
      type: "service_account",
      project_id: "p",
      client_email: "a@b.eu",
      token_uri: "http://127.0.0.1/t",
    };
    for (const [provider, key] of [
      ["deepinfra", "two lines\nof-text-canary"],
      ["deepinfra", '{"access_key_id":"AKIDCANARY","secret_access_key":"pair-canary"}'],
      ["aws-bedrock", '{"access_key_id":"AKIDCANARY"}'],
      ["google-vertex", JSON.stringify({ ...account, private_key: "pem-canary" })],
    ] as const) {
      const refused = await scene.put(tenant, provider, { key });
      expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_value", param: "key" } } });
      expect(refused.text).not.toMatch(/canary/i);
    }
    expect(await scene.put(tenant, "unknown", { key: OWN("a") })).toMatchObject({ status: 404 });
  });

  test("BILL-08 first: the own key before the platform's; when rejected the platform serves, and the log shows it", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("first"));
    await scene.put(tenant, "nebius", { key: OWN("first"), use: "first" });
    expect((await scene.chat(tenant)).body.usage).not.toHaveProperty("cost");
    scene.letIn.delete(OWN("first"));
    const answer = await scene.chat(tenant);
    expect(answer.status).toBe(200);
    expect(answer.body.usage.cost).toBeGreaterThan(0);
    const seen = inferences(scene.nebius).slice(-2).map(keyOf);
    expect(seen).toEqual([OWN("first"), credentialOf("nebius")]);
    expect(await scene.last(tenant)).toMatchObject({
      own_key: false,
      attempts: [
        { own_key: true, outcome: "next", upstream_status: 401, reason: "your key for nebius was rejected (401)" },
        { own_key: false, outcome: "served" },
      ],
    });
    const metrics = await (
      await fetch(`${scene.gateway.url}/metrics`, { headers: { authorization: `Bearer ${scene.gateway.adminToken}` } })
    ).text();
    expect(metrics).not.toMatch(/credential_refused\S* [1-9]/);
  });

  test("BILL-08 only: the platform's credential is never used, and an empty wallet does not matter", async () => {
    const tenant = await scene.tenant("0");
    scene.letIn.add(OWN("only"));
    await scene.put(tenant, "nebius", { key: OWN("only"), use: "only" });
    const before = inferences(scene.nebius).length;
    expect((await scene.chat(tenant)).status).toBe(200);
    scene.letIn.delete(OWN("only"));
    const refused = await scene.chat(tenant);
    expect(refused).toMatchObject({ status: 502, body: { error: { code: "upstream_error" } } });
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.body.error.message).toContain("own key");
    expect(inferences(scene.nebius).slice(before).map(keyOf)).toEqual([OWN("only"), OWN("only")]);
  });

  test("BILL-08 only: a rejected key does not fail over to the platform's other providers", async () => {
    const tenant = await scene.tenant();
    await scene.put(tenant, "deepinfra", { key: OWN("gone"), use: "only", skip_test: true });
    const before = inferences(scene.nebius).length;
    expect((await scene.chat(tenant)).status).toBe(502);
    expect(inferences(scene.nebius).length).toBe(before);
    expect(await scene.last(tenant)).toMatchObject({
      attempts: [
        { own_key: true },
        { provider: "nebius", own_key: false, reason: expect.stringContaining("only your own key") },
      ],
    });
  });

  test("BILL-08 fallback: the platform's first, the own key when that fails", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("late"));
    await scene.put(tenant, "deepinfra", { key: OWN("late"), use: "fallback" });
    expect((await scene.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    scene.nebius.next({ status: 500, json: {} });
    const answer = await scene.chat(tenant);
    expect(answer.headers.get("x-svc-provider")).toBe("deepinfra");
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(await walletOf(tenant)).toMatchObject({ held: "0.00" });
  });

  test("BILL-08 with an empty wallet the own key serves, and when it fails the platform is not called", async () => {
    const tenant = await scene.tenant("0");
    scene.letIn.add(OWN("empty"));
    await scene.put(tenant, "nebius", { key: OWN("empty") });
    expect((await scene.chat(tenant)).status).toBe(200);
    scene.letIn.delete(OWN("empty"));
    const before = inferences(scene.nebius).length;
    expect((await scene.chat(tenant)).status).toBe(502);
    expect(inferences(scene.nebius).slice(before).map(keyOf)).toEqual([OWN("empty")]);
  });

  test("BILL-08 GET /models lists what an own key makes callable, only to that workspace", async () => {
    const lonely = await openOwnKeyScene({ PROVIDER_NEBIUS_API_KEY: "" });
    try {
      const [tenant, other] = [await lonely.tenant(), await lonely.tenant()];
      lonely.letIn.add(OWN("m"));
      const models = async ({ key }: Tenant) =>
        (await lonely.gateway.call(key, "/v1/models")).body.data.map(({ id }: Json) => id);
      expect(await models(tenant)).toEqual([]);
      await lonely.put(tenant, "deepinfra", { key: OWN("m") });
      expect(await models(tenant)).toContain(MODEL);
      expect(await models(other)).toEqual([]);
      expect((await lonely.chat(tenant)).status).toBe(200);
      expect((await lonely.chat(tenant, { model: "auto" })).status).toBe(200);
      expect(await lonely.chat(other)).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
    } finally {
      await lonely.close();
    }
  });

  test("ROUTE-09 a workspace with an own key at a real provider does not get a simulated model by default", async () => {
    const simulated = await openOwnKeyScene({ PROVIDER_NEBIUS_API_KEY: "", GATEWAY_SANDBOX: "on" });
    try {
      const [tenant, other] = [await simulated.tenant(), await simulated.tenant()];
      simulated.letIn.add(OWN("r"));
      await simulated.put(tenant, "deepinfra", { key: OWN("r") });
      const considered = async (who: Tenant) => {
        const { body } = await simulated.chat(who, { model: "auto" });
        const { decision } = await simulated.gateway.manage("GET", `/requests/${body.id}`);
        return new Set(decision.candidates.map(({ model }: Json) => model.startsWith("sandbox/")));
      };
      expect(await considered(tenant)).toEqual(new Set([false]));
      expect(await considered(other)).toEqual(new Set([true]));
    } finally {
      await simulated.close();
    }
  });

  test("BILL-08 policy holds for own keys as for any other", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("policy"));
    await scene.put(tenant, "deepinfra", { key: OWN("policy") });
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["deepinfra"] });
    const before = inferences(scene.deepinfra).length;
    expect((await scene.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    expect(inferences(scene.deepinfra).length).toBe(before);
  });

  test("BILL-08 streams, messages and responses show no cost, in the foreground and background", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("all"));
    await scene.put(tenant, "deepinfra", { key: OWN("all") });
    const { gateway } = scene;
    const stream = await scene.chat(tenant, { stream: true, stream_options: { include_usage: true } });
    expect(contentOf(stream.text)).toBe("Hello.");
    const usage = chunksOf(stream.text).at(-1)?.usage;
    expect(usage).toMatchObject({ prompt_tokens: 9 });
    expect(usage).not.toHaveProperty("cost");
    expect(eventsOf(stream.text).at(-1)).toBe("[DONE]");
    const message = { model: MODEL, max_tokens: 50, messages: [{ role: "user", content: "Hi" }] };
    for (const streaming of [false, true]) {
      const messages = await gateway.call(tenant.key, "/v1/messages", { body: { ...message, stream: streaming } });
      expect(messages.status).toBe(200);
      expect(messages.text).toContain("Hel");
      expect(messages.text).not.toMatch(/"cost"|"currency"/);
      const responses = await gateway.call(tenant.key, "/v1/responses", {
        body: { model: MODEL, input: "Hi", store: false, stream: streaming },
      });
      expect(responses.status).toBe(200);
      expect(responses.text).not.toMatch(/"cost"|"currency"/);
    }
    const begun = await gateway.call(tenant.key, "/v1/responses", {
      body: { model: MODEL, input: "Hi", background: true },
    });
    const done = await eventually(async () => {
      const now = await gateway.call(tenant.key, `/v1/responses/${begun.body.id}`);
      expect(now.body).toMatchObject({ status: "completed", usage: { input_tokens: 9 } });
      return now;
    });
    expect(done.text).not.toMatch(/"cost"|"currency"/);
    const rows = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=100`)).data;
    expect(rows.length).toBe(6);
    for (const row of rows) expect(row).toMatchObject({ own_key: true, cost: null, provider: "deepinfra" });
    expect(await walletOf(tenant)).toMatchObject({ balance: "100.00", held: "0.00" });
  });

  test("BILL-08 a new key replaces the old one immediately; a removed key is not used again", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("old-key")).add(OWN("new-key"));
    await scene.put(tenant, "deepinfra", { key: OWN("old-key"), use: "only" });
    const gate = Promise.withResolvers<void>();
    scene.deepinfra.next({
      frames: [STREAM[0] ?? "", { data: STREAM.slice(1).join(""), afterMs: 0, gate: gate.promise }],
    });
    const running = await openChat(scene.gateway.url, tenant.key, chatBody({ stream: true }));
    await running.until("Hel");
    const changed = await scene.put(tenant, "deepinfra", { key: OWN("new-key") });
    expect(changed.body).toMatchObject({ use: "only", hint: "d4e5" });
    expect((await scene.chat(tenant)).status).toBe(200);
    expect(keyOf(inferences(scene.deepinfra).at(-1) ?? { headers: {} })).toBe(OWN("new-key"));
    await scene.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
    // Running requests finish with it; later ones use the platform's.
    gate.resolve();
    expect(await running.over).toBe("whole");
    expect(running.text).toContain("[DONE]");
    expect((await scene.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    const audit = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}`);
    const actions = audit.data.map(({ action }: Json) => action).filter((one: string) => one.startsWith("provider."));
    expect(actions).toEqual(["provider.disconnect", "provider.replace_key", "provider.connect"]);
  });

  test("BILL-08 a planned request is sent without the key when it is removed before", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("short"));
    await scene.put(tenant, "deepinfra", { key: OWN("short"), use: "only" });
    const gate = Promise.withResolvers<void>();
    scene.deepinfra.next({ status: 503, headers: { "retry-after": "1" }, json: {}, gate: gate.promise });
    const before = scene.deepinfra.requests.length;
    const response = scene.chat(tenant);
    await scene.deepinfra.arrived(before + 1);
    await scene.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
    gate.resolve();
    await response;
    expect(scene.deepinfra.requests.length).toBe(before + 1);
  });

  test("BILL-08 workspaces share neither keys nor connections", async () => {
    const tenants = await Promise.all([scene.tenant(), scene.tenant(), scene.tenant()]);
    for (const [n, tenant] of tenants.entries()) {
      scene.letIn.add(OWN(`mix-${n}`));
      await scene.put(tenant, "deepinfra", { key: OWN(`mix-${n}`), use: "only" });
    }
    const before = scene.deepinfra.requests.length;
    await Promise.all(
      Array.from({ length: 60 }, (_, at) => {
        const tenant = tenants[at % 3];
        if (tenant === undefined) throw new Error("no tenant");
        return scene.chat(tenant, { messages: [{ role: "user", content: `tenant ${at % 3}` }], stream: at % 2 === 0 });
      }),
    );
    const seen = scene.deepinfra.requests.slice(before);
    expect(seen.length).toBe(60);
    const owners = new Map<number, string>();
    for (const received of seen) {
      const content = JSON.parse(received.raw.toString()).messages[0].content;
      expect(keyOf(received)).toBe(OWN(`mix-${content.slice(-1)}`));
      expect(owners.get(received.connection) ?? keyOf(received)).toBe(keyOf(received));
      owners.set(received.connection, keyOf(received));
    }
  });

  test("BILL-08 an own key that keeps failing opens no other circuit", async () => {
    const strict = await openOwnKeyScene({ GATEWAY_ASIDE_FAILURES: "2", GATEWAY_ASIDE_MS: "60000" });
    try {
      const [tenant, other] = [await strict.tenant(), await strict.tenant()];
      await strict.put(tenant, "nebius", { key: OWN("broken"), use: "only", skip_test: true });
      for (let n = 0; n < 6; n += 1) expect((await strict.chat(tenant)).status).toBe(502);
      expect((await strict.chat(other)).status).toBe(200);
      // Nor does its own request go to endpoints with a cost, when only the own key is allowed.
      await strict.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/nebius`);
      await strict.put(tenant, "deepinfra", { key: OWN("broken"), use: "only", skip_test: true });
      for (let n = 0; n < 6; n += 1) expect((await strict.chat(tenant)).status).toBe(502);
      const { checks } = await strict.gateway.manage("GET", "/doctor");
      expect(checks.find(({ name }: Json) => name === "endpoints").detail).toBe("no circuit is open");
    } finally {
      await strict.close();
    }
  });

  test("BILL-08 ERR-06 a key that a provider echoes in an error is redacted", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(OWN("echo"));
    await scene.put(tenant, "deepinfra", { key: OWN("echo") });
    for (const provider of ["deepinfra", "nebius"] as const) {
      scene[provider].next({ status: 400, json: { error: { message: `bad request with ${OWN("echo")}` } } });
      const answer = await scene.chat(tenant, { provider: { only: [provider] } });
      expect(answer.status).toBe(400);
      expect(answer.text).not.toContain(OWN("echo"));
      expect(answer.text).toContain("[redacted]");
    }
  });
});
