import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, filesWith, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { chatBody, chunksOf, connectedTo, credentialOf, eventsOf, MODEL, openChat, saidIn } from "../support/scene.ts";
import { type Script, startUpstream, type Upstream } from "../support/upstream.ts";

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const ANSWER = {
  id: "up-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  // Some servers tell what they take themselves.
  usage: { ...USAGE, cost: 0.25, currency: "USD" },
};
const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: "up-1", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
const STREAM = [
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: { content: "lo." }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  chunk({ choices: [], usage: USAGE }),
  "data: [DONE]\n\n",
];
const REFUSED: Script = {
  status: 401,
  json: { error: { message: "Incorrect API key provided", code: "invalid_key" } },
};

/** The key that a request came with, whatever header it is in. */
const keyOf = ({ headers }: { headers: Record<string, unknown> }) =>
  String(headers["authorization"] ?? headers["x-api-key"] ?? headers["x-goog-api-key"]).replace("Bearer ", "");

/** Lets in whoever has one of these keys, and no others. */
function doorOf(upstream: Upstream, keys: Set<string>): void {
  upstream.always((request: Json): Script => {
    if (!keys.has(keyOf(request))) return REFUSED;
    if (request.method === "GET") return { json: { object: "list", data: [] } };
    return request.json?.stream === true ? { frames: STREAM } : { json: ANSWER };
  });
}

const OWN = (name: string) => `own-canary-${name}-81f3b0c2d4e5`;
const QUIET = {
  GATEWAY_ASIDE_FAILURES: "0",
  GATEWAY_RETRY_PERCENT: "100",
  GATEWAY_SANDBOX: "off",
  GATEWAY_RPM_LIVE: "1000000",
  GATEWAY_RPM_IP: "0",
  GATEWAY_DRAIN_TIMEOUT_MS: "1000",
};

type Place = {
  readonly gateway: TestGateway;
  readonly deepinfra: Upstream;
  readonly nebius: Upstream;
  /** Keys that deepinfra lets in; nebius lets in the operator and these as well. */
  readonly letIn: Set<string>;
  tenant(credit?: string): Promise<Tenant>;
  put(tenant: Tenant, provider: string, body: object): Promise<{ status: number; body: Json; text: string }>;
  chat(
    tenant: Tenant,
    more?: Record<string, unknown>,
  ): Promise<{ status: number; headers: Headers; body: Json; text: string }>;
  last(tenant: Tenant): Promise<Json>;
  close(): Promise<void>;
};

/** `deepinfra` and `nebius` serve one model; the operator has connected the second alone. */
async function openPlace(env: Record<string, string> = {}): Promise<Place> {
  const deepinfra = await startUpstream();
  const nebius = await startUpstream();
  const letIn = new Set<string>([credentialOf("deepinfra"), credentialOf("nebius")]);
  doorOf(deepinfra, letIn);
  doorOf(nebius, letIn);
  const { PROVIDER_DEEPINFRA_API_KEY, ...settings } = connectedTo(
    new Map<string, Upstream>([
      ["deepinfra", deepinfra],
      ["nebius", nebius],
    ]),
  );
  const gateway = await startGateway({ env: { ...settings, ...QUIET, ...env } });
  return {
    gateway,
    deepinfra,
    nebius,
    letIn,
    tenant: (credit = "100") => gateway.tenant({ credit }),
    put: (tenant, provider, body) =>
      gateway.call(gateway.adminToken, `/manage/workspaces/${tenant.slug}/providers/${provider}`, {
        method: "PUT",
        body,
      }),
    chat: (tenant, more = {}) => gateway.call(tenant.key, "/v1/chat/completions", { body: chatBody(more) }),
    last: async (tenant) => (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1`)).data[0],
    async close() {
      await gateway.close();
      await Promise.all([deepinfra.close(), nebius.close()]);
    },
  };
}

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place.close());

const inferences = (upstream: Upstream) => upstream.requests.filter(({ method }) => method === "POST");
const walletOf = (tenant: Tenant) => place.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);

describe("BILL-08 a workspace's own provider key", () => {
  test("BILL-08 connects a provider the operator has not: served, not charged, no cost shown, and the log says so", async () => {
    const tenant = await place.tenant();
    const other = await place.tenant();
    place.letIn.add(OWN("a"));
    const put = await place.put(tenant, "deepinfra", { key: OWN("a") });
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
    const answer = await place.chat(tenant);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-svc-provider")).toBe("deepinfra");
    expect(answer.headers.get("x-svc-route-reason")).toContain("own key");
    expect(answer.body.usage).toMatchObject(USAGE);
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(answer.body.usage).not.toHaveProperty("currency");
    expect(keyOf(inferences(place.deepinfra).at(-1) ?? { headers: {} })).toBe(OWN("a"));
    expect(await place.last(tenant)).toMatchObject({
      provider: "deepinfra",
      own_key: true,
      cost: null,
      usage: { input_tokens: 9, output_tokens: 4 },
      attempts: [{ provider: "deepinfra", own_key: true, outcome: "served" }],
    });
    expect(await walletOf(tenant)).toMatchObject({ balance: "100.00", held: "0.00" });
    const { data } = await place.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries`);
    expect(data.map(({ kind }: Json) => kind)).toEqual(["topup"]);
    // Nobody else gains by it.
    const others = await place.chat(other);
    expect(others.headers.get("x-svc-provider")).toBe("nebius");
    expect(others.body.usage.cost).toBeGreaterThan(0);
    expect(await place.last(other)).toMatchObject({ own_key: false, provider: "nebius" });
  });

  test("BILL-08 a key that is refused is not kept, unless nobody is to ask", async () => {
    const tenant = await place.tenant();
    const refused = await place.put(tenant, "deepinfra", { key: OWN("bad") });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "conflict", param: "key" } } });
    expect(refused.text).not.toContain(OWN("bad"));
    expect((await place.gateway.manage("GET", `/workspaces/${tenant.slug}/providers`)).data).toEqual([]);
    const kept = await place.put(tenant, "deepinfra", { key: OWN("bad"), skip_test: true });
    expect(kept).toMatchObject({ status: 200, body: { result: "untried", tested_at: null } });
    const tested = await place.gateway.manage("POST", "/providers/deepinfra/test", { workspace: tenant.slug });
    expect(tested).toMatchObject({ ok: false, result: "refused", status: 401 });
    const shown = await place.gateway.manage("GET", `/workspaces/${tenant.slug}/providers/deepinfra`);
    expect(shown).toMatchObject({ result: "refused" });
    expect(await place.gateway.manage("POST", "/providers/nebius/test", {})).toMatchObject({ ok: true, status: 200 });
  });

  test("BILL-08 what is no key is refused with the name of the field, and nothing of it is said back", async () => {
    const tenant = await place.tenant();
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
      const refused = await place.put(tenant, provider, { key });
      expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_value", param: "key" } } });
      expect(refused.text).not.toMatch(/canary/i);
    }
    expect(await place.put(tenant, "nobody", { key: OWN("a") })).toMatchObject({ status: 404 });
  });

  test("BILL-08 first: the own key before the platform's; when it is refused the platform serves and the log tells the workspace", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("first"));
    await place.put(tenant, "nebius", { key: OWN("first"), use: "first" });
    expect((await place.chat(tenant)).body.usage).not.toHaveProperty("cost");
    place.letIn.delete(OWN("first"));
    const answer = await place.chat(tenant);
    expect(answer.status).toBe(200);
    expect(answer.body.usage.cost).toBeGreaterThan(0);
    const seen = inferences(place.nebius).slice(-2).map(keyOf);
    expect(seen).toEqual([OWN("first"), credentialOf("nebius")]);
    expect(await place.last(tenant)).toMatchObject({
      own_key: false,
      attempts: [
        { own_key: true, outcome: "next", upstream_status: 401, reason: "your key for nebius was refused (401)" },
        { own_key: false, outcome: "served" },
      ],
    });
    const metrics = await (
      await fetch(`${place.gateway.url}/metrics`, { headers: { authorization: `Bearer ${place.gateway.adminToken}` } })
    ).text();
    expect(metrics).not.toMatch(/credential_refused\S* [1-9]/);
  });

  test("BILL-08 only: the platform's credential is never used, refused or not, and an empty wallet does not matter", async () => {
    const tenant = await place.tenant("0");
    place.letIn.add(OWN("only"));
    await place.put(tenant, "nebius", { key: OWN("only"), use: "only" });
    const before = inferences(place.nebius).length;
    expect((await place.chat(tenant)).status).toBe(200);
    place.letIn.delete(OWN("only"));
    const refused = await place.chat(tenant);
    expect(refused).toMatchObject({ status: 502, body: { error: { code: "upstream_error" } } });
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.body.error.message).toContain("own key");
    expect(inferences(place.nebius).slice(before).map(keyOf)).toEqual([OWN("only"), OWN("only")]);
  });

  test("BILL-08 only: a refused key does not move the request on to the platform's other providers", async () => {
    const tenant = await place.tenant();
    await place.put(tenant, "deepinfra", { key: OWN("gone"), use: "only", skip_test: true });
    const before = inferences(place.nebius).length;
    expect((await place.chat(tenant)).status).toBe(502);
    expect(inferences(place.nebius).length).toBe(before);
    expect(await place.last(tenant)).toMatchObject({
      attempts: [
        { own_key: true },
        { provider: "nebius", own_key: false, reason: expect.stringContaining("only your own key") },
      ],
    });
  });

  test("BILL-08 fallback: the platform's first, the own key when that fails", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("late"));
    await place.put(tenant, "deepinfra", { key: OWN("late"), use: "fallback" });
    expect((await place.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    place.nebius.next({ status: 500, json: {} });
    const answer = await place.chat(tenant);
    expect(answer.headers.get("x-svc-provider")).toBe("deepinfra");
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(await walletOf(tenant)).toMatchObject({ held: "0.00" });
  });

  test("BILL-08 an empty wallet leaves the own key, and when that fails the platform is not asked", async () => {
    const tenant = await place.tenant("0");
    place.letIn.add(OWN("empty"));
    await place.put(tenant, "nebius", { key: OWN("empty") });
    expect((await place.chat(tenant)).status).toBe(200);
    place.letIn.delete(OWN("empty"));
    const before = inferences(place.nebius).length;
    expect((await place.chat(tenant)).status).toBe(502);
    expect(inferences(place.nebius).slice(before).map(keyOf)).toEqual([OWN("empty")]);
  });

  test("BILL-08 GET /models lists what becomes callable by an own key, and only to that workspace", async () => {
    const lonely = await openPlace({ PROVIDER_NEBIUS_API_KEY: "" });
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

  test("BILL-08 policy holds for own keys as for any other", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("policy"));
    await place.put(tenant, "deepinfra", { key: OWN("policy") });
    await place.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["deepinfra"] });
    const before = inferences(place.deepinfra).length;
    expect((await place.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    expect(inferences(place.deepinfra).length).toBe(before);
  });

  test("BILL-08 streams, messages and responses show no cost either, in the foreground and in the background", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("all"));
    await place.put(tenant, "deepinfra", { key: OWN("all") });
    const { gateway } = place;
    const stream = await place.chat(tenant, { stream: true, stream_options: { include_usage: true } });
    expect(saidIn(stream.text)).toBe("Hello.");
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
    let done = begun;
    for (let tries = 0; tries < 100 && done.body.status !== "completed"; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      done = await gateway.call(tenant.key, `/v1/responses/${begun.body.id}`);
    }
    expect(done.body).toMatchObject({ status: "completed", usage: { input_tokens: 9 } });
    expect(done.text).not.toMatch(/"cost"|"currency"/);
    const rows = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=100`)).data;
    expect(rows.length).toBe(6);
    for (const row of rows) expect(row).toMatchObject({ own_key: true, cost: null, provider: "deepinfra" });
    expect(await walletOf(tenant)).toMatchObject({ balance: "100.00", held: "0.00" });
  });

  test("BILL-08 a new key takes the place of the old one at once; a key that is taken away is not used again", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("old-key")).add(OWN("new-key"));
    await place.put(tenant, "deepinfra", { key: OWN("old-key"), use: "only" });
    const gate = Promise.withResolvers<void>();
    place.deepinfra.next({ frames: [STREAM[0] ?? "", { data: STREAM.slice(1).join(""), gate: gate.promise }] });
    const running = await openChat(place.gateway.url, tenant.key, chatBody({ stream: true }));
    await running.until("Hel");
    const changed = await place.put(tenant, "deepinfra", { key: OWN("new-key") });
    expect(changed.body).toMatchObject({ use: "only", hint: "d4e5" });
    expect((await place.chat(tenant)).status).toBe(200);
    expect(keyOf(inferences(place.deepinfra).at(-1) ?? { headers: {} })).toBe(OWN("new-key"));
    await place.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
    // What runs with it finishes; what comes after is the platform's.
    gate.resolve();
    expect(await running.over).toBe("whole");
    expect(running.text).toContain("[DONE]");
    expect((await place.chat(tenant)).headers.get("x-svc-provider")).toBe("nebius");
    const audit = await place.gateway.manage("GET", `/audit?workspace=${tenant.slug}`);
    const actions = audit.data.map(({ action }: Json) => action).filter((one: string) => one.startsWith("provider."));
    expect(actions).toEqual(["provider.disconnect", "provider.replace_key", "provider.connect"]);
  });

  test("BILL-08 a request that is planned with a key goes out with none when it is taken away before", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("short"));
    await place.put(tenant, "deepinfra", { key: OWN("short"), use: "only" });
    const gate = Promise.withResolvers<void>();
    place.deepinfra.next({ status: 503, headers: { "retry-after": "1" }, json: {}, gate: gate.promise });
    const before = place.deepinfra.requests.length;
    const asked = place.chat(tenant);
    await place.deepinfra.arrived(before + 1);
    await place.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
    gate.resolve();
    await asked;
    expect(place.deepinfra.requests.length).toBe(before + 1);
  });

  test("BILL-08 workspaces never meet: not their keys, not their connections", async () => {
    const tenants = await Promise.all([place.tenant(), place.tenant(), place.tenant()]);
    for (const [n, tenant] of tenants.entries()) {
      place.letIn.add(OWN(`mix-${n}`));
      await place.put(tenant, "deepinfra", { key: OWN(`mix-${n}`), use: "only" });
    }
    const before = place.deepinfra.requests.length;
    await Promise.all(
      Array.from({ length: 60 }, (_, at) => {
        const tenant = tenants[at % 3];
        if (tenant === undefined) throw new Error("no tenant");
        return place.chat(tenant, { messages: [{ role: "user", content: `tenant ${at % 3}` }], stream: at % 2 === 0 });
      }),
    );
    const seen = place.deepinfra.requests.slice(before);
    expect(seen.length).toBe(60);
    const owners = new Map<number, string>();
    for (const received of seen) {
      const said = JSON.parse(received.raw.toString()).messages[0].content;
      expect(keyOf(received)).toBe(OWN(`mix-${said.slice(-1)}`));
      expect(owners.get(received.connection) ?? keyOf(received)).toBe(keyOf(received));
      owners.set(received.connection, keyOf(received));
    }
  });

  test("BILL-08 an own key that fails again and again sets nobody else's endpoint aside", async () => {
    const strict = await openPlace({ GATEWAY_ASIDE_FAILURES: "2", GATEWAY_ASIDE_MS: "60000" });
    try {
      const [tenant, other] = [await strict.tenant(), await strict.tenant()];
      await strict.put(tenant, "nebius", { key: OWN("broken"), use: "only", skip_test: true });
      for (let n = 0; n < 6; n += 1) expect((await strict.chat(tenant)).status).toBe(502);
      expect((await strict.chat(other)).status).toBe(200);
      const { checks } = await strict.gateway.manage("GET", "/doctor");
      expect(checks.find(({ name }: Json) => name === "endpoints").detail).toBe("none is set aside");
    } finally {
      await strict.close();
    }
  });

  test("BILL-08 a provider that repeats the key in its refusal is not passed on", async () => {
    const tenant = await place.tenant();
    place.letIn.add(OWN("echo"));
    await place.put(tenant, "deepinfra", { key: OWN("echo") });
    place.deepinfra.next({ status: 400, json: { error: { message: `bad request with ${OWN("echo")}` } } });
    const answer = await place.chat(tenant);
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(OWN("echo"));
    expect(answer.text).toContain("[redacted]");
  });

  test("BILL-08 Bedrock: a key pair signs, and nothing of the secret half is kept in the clear", async () => {
    const upstream = await startUpstream({ status: 400, json: { message: "empty" } });
    const gateway = await startGateway({ env: { ...QUIET, PROVIDER_AWS_BEDROCK_BASE_URL: upstream.url } });
    try {
      const tenant = await gateway.tenant({ credit: "0" });
      const key = JSON.stringify({ AccessKeyId: "AKIDOWNCANARY0042", SecretAccessKey: "own/secret+canary" });
      const put = await gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/aws-bedrock`, { key });
      expect(put).toMatchObject({ kind: "aws", hint: "0042", result: "accepted" });
      expect(upstream.requests[0]?.headers.authorization).toContain("Credential=AKIDOWNCANARY0042/");
      const reply = {
        output: { message: { role: "assistant", content: [{ text: "Hello." }] } },
        stopReason: "end_turn",
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      };
      upstream.always({ json: reply });
      const answer = await gateway.call(tenant.key, "/v1/chat/completions", {
        body: { model: "amazon/nova-2-lite", messages: [{ role: "user", content: "Hi" }] },
      });
      expect(answer.status).toBe(200);
      expect(answer.body.usage).not.toHaveProperty("cost");
      expect(upstream.requests.at(-1)?.headers.authorization).toContain("Credential=AKIDOWNCANARY0042/");
      expect(filesWith(gateway.dataDir, ["own/secret+canary"])).toEqual([]);
    } finally {
      await gateway.close();
      await upstream.close();
    }
  });
});

test("BILL-08 keys survive a restart, and stand nowhere in the clear: not in files, logs, answers or metrics", async () => {
  const upstream = await startUpstream();
  const letIn = new Set([OWN("kept")]);
  doorOf(upstream, letIn);
  const dataDir = temporaryFolder();
  const env = { ...QUIET, DATA_DIR: dataDir, LOG_LEVEL: "trace", PROVIDER_DEEPINFRA_BASE_URL: upstream.baseUrl };
  const said: string[] = [];
  const asking = async (origin: string) => {
    const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
    return async (method: string, where: string, body?: unknown, key = token): Promise<Json> => {
      const answer = await fetch(`${origin}${where}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      said.push(text);
      return { status: answer.status, text };
    };
  };
  try {
    const first = spawnGateway(env);
    let ask = await asking(await first.ready());
    await ask("POST", "/manage/workspaces", { slug: "own" });
    const { key } = JSON.parse((await ask("POST", "/manage/workspaces/own/keys", { environment: "live" })).text);
    const own = { key: OWN("kept"), use: "only" };
    expect((await ask("PUT", "/manage/workspaces/own/providers/deepinfra", own)).status).toBe(200);
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(200);
    letIn.delete(OWN("kept"));
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(502);
    expect((await ask("PUT", "/manage/workspaces/own/providers/deepinfra", own)).status).toBe(409);
    await first.stop();

    letIn.add(OWN("kept"));
    const second = spawnGateway(env);
    ask = await asking(await second.ready());
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(200);
    expect(keyOf(inferences(upstream).at(-1) ?? { headers: {} })).toBe(OWN("kept"));
    for (const where of ["/audit", "/workspaces/own/providers", "/providers?workspace=own", "/doctor"])
      await ask("GET", `/manage${where}`);
    const rows = JSON.parse((await ask("GET", "/manage/workspaces/own/requests")).text).data;
    expect(rows.length).toBe(3);
    for (const { id } of rows) await ask("GET", `/manage/requests/${id}`);
    await ask("GET", "/metrics");
    await second.stop();
    expect(said.join("\n")).toContain('"own_key":"only"');
    expect(said.join("\n")).not.toContain(OWN("kept"));
    expect(first.stderr() + first.stdout() + second.stderr() + second.stdout()).not.toContain(OWN("kept"));
    // A key of a workspace's own is no alarm of the operator's.
    expect(first.stderr()).not.toMatch(/"level":[45]0.*deepinfra/);
    expect(filesWith(dataDir, [OWN("kept")])).toEqual([]);
  } finally {
    await cleanUp();
    await upstream.close();
  }
});
