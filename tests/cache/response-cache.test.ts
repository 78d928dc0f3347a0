import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { chunksOf, contentOf, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

let scene: Scene;
/** L0 in the US; L3 in FR. */
const PROVIDERS: readonly Provider[] = ["deepinfra", "ovhcloud", "anthropic"];
const CLAUDE = "anthropic/claude-opus-4-5";
const CACHED = { cache: { ttl: 600 } };

beforeAll(async () => {
  scene = await openScene(PROVIDERS, { GATEWAY_CACHE_REPLY_MAX_BYTES: "20000", GATEWAY_SANDBOX: "on" });
});
afterAll(() => scene.close());

const calls = () => PROVIDERS.reduce((sum, provider) => sum + scene.at(provider).requests.length, 0);
const setPolicy = (tenant: Tenant, rules: object) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, rules);
const cacheOf = ({ headers }: Called) => headers.get("x-svc-cache")?.replace(/age=\d+/, "age=n") ?? null;

let questions = 0;
/** A request unlike all before. */
function question(): Json {
  questions += 1;
  return { messages: [{ role: "user", content: `Question ${questions}` }] };
}

/** The cache headers of the same request, sent again and again. */
async function twice(tenant: Tenant, body: Json, headers: Record<string, string> = {}): Promise<(string | null)[]> {
  const first = await scene.chat(tenant.key, body, headers);
  const second = await scene.chat(tenant.key, body, headers);
  return [cacheOf(first), cacheOf(second)];
}

describe("a cached reply", () => {
  test("CACHE-01 serves an identical request without a provider, free, under an id of its own", async () => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), ...CACHED };
    const first = await scene.chat(tenant.key, body);
    const before = calls();
    const { balance } = await scene.wallet(tenant);
    const second = await scene.chat(tenant.key, body);
    expect(calls()).toBe(before);
    expect([cacheOf(first), cacheOf(second)]).toEqual(["miss", "hit; age=n"]);
    expect(second.body.choices).toEqual(first.body.choices);
    expect(first.body.usage.cost).toBeGreaterThan(0);
    expect(second.body.usage).toEqual({ ...first.body.usage, cost: 0 });
    expect(second.body.id).not.toBe(first.body.id);
    expect(second.headers.get("x-svc-request-id")).toBe(second.body.id);
    expect((await scene.wallet(tenant)).balance).toBe(balance);
    for (const name of ["model", "provider", "sovereignty-level", "compute-countries"])
      expect(second.headers.get(`x-svc-${name}`), name).toBe(first.headers.get(`x-svc-${name}`));
  });

  test("CACHE-01 is in the log with what it saved, who computed it and when", async () => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), ...CACHED };
    const first = await scene.chat(tenant.key, body);
    const second = await scene.chat(tenant.key, body);
    await scene.rowsOnce(tenant, 2);
    const [paid, free] = [await scene.row(first.body.id), await scene.row(second.body.id)];
    expect(free).toMatchObject({ cost: "0.00", status: 200, usage: { input_tokens: null }, attempts: [] });
    for (const name of ["model", "provider", "endpoint", "level", "countries"]) expect(free[name]).toEqual(paid[name]);
    expect(free.detail.cache).toMatchObject({ computed_by: first.body.id, saved: paid.cost, currency: "EUR" });
    expect([paid.detail.cache, free.detail.cache.status]).toEqual([{ status: "miss" }, "hit"]);
    expect(Date.parse(free.detail.cache.computed_at)).toBeGreaterThan(Date.parse(paid.created_at));
  });

  test("CACHE-01 replays a stream as a stream, with cost 0 in its last chunk", async () => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), ...CACHED, stream: true, stream_options: { include_usage: true } };
    const first = await scene.chat(tenant.key, body);
    const before = calls();
    const second = await scene.chat(tenant.key, body);
    expect(calls()).toBe(before);
    expect(second.headers.get("content-type")).toContain("text/event-stream");
    expect([cacheOf(second), contentOf(second.text)]).toEqual(["hit; age=n", contentOf(first.text)]);
    expect(chunksOf(second.text).at(-1).usage.cost).toBe(0);
    expect(second.text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(cacheOf(await scene.chat(tenant.key, { ...body, stream: false, stream_options: null }))).toBe("miss");
  });

  test("CACHE-01 is found whatever the white space and order of members, and only for the same text", async () => {
    const tenant = await scene.gateway.tenant();
    const { messages } = question();
    const text = JSON.stringify({ model: MODEL, temperature: 0, messages, ...CACHED });
    await scene.chat(tenant.key, text);
    const spaced = JSON.stringify({ ...CACHED, messages, model: MODEL, temperature: 0 }, null, 2);
    expect(cacheOf(await scene.chat(tenant.key, spaced))).toBe("hit; age=n");
    expect(cacheOf(await scene.chat(tenant.key, text.replace(`${questions}`, `${questions} `)))).toBe("miss");
    expect(cacheOf(await scene.chat(tenant.key, text.replace('"temperature":0', '"temperature":0.5')))).toBe("miss");
  });

  test("CACHE-01 serves messages, verbatim and translated, and responses that are not stored", async () => {
    const tenant = await scene.gateway.tenant();
    const reply = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", stop_sequence: null };
    const usage = { input_tokens: 9, output_tokens: 3 };
    scene.at("anthropic").always({
      json: { ...reply, content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn", usage },
    });
    const cases: [string, Json][] = [
      ["/v1/messages", { model: CLAUDE, max_tokens: 50, ...question(), ...CACHED }],
      ["/v1/messages", { model: MODEL, max_tokens: 50, ...question(), ...CACHED }],
      ["/v1/responses", { model: MODEL, input: `Question ${questions}`, store: false, ...CACHED }],
    ];
    for (const [where, body] of cases) {
      const first = await scene.gateway.call(tenant.key, where, { body });
      const second = await scene.gateway.call(tenant.key, where, { body });
      expect([first.status, cacheOf(first), cacheOf(second)], where).toEqual([200, "miss", "hit; age=n"]);
      expect(second.body.content ?? second.body.output[0].content).toEqual(
        first.body.content ?? first.body.output[0].content,
      );
      expect([second.body.usage.cost ?? 0, second.body.id === first.body.id]).toEqual([0, false]);
    }
  });

  test("CACHE-01 serves embeddings, also in parts, and rankings", async () => {
    const tenant = await scene.gateway.tenant();
    const cases: [string, Json][] = [
      ["/v1/embeddings", { model: "sandbox/embed", input: ["one", "two"], ...CACHED }],
      ["/v1/rerank", { model: "sandbox/rerank", query: "one", documents: ["two", "one"], ...CACHED }],
    ];
    for (const [where, body] of cases) {
      const first = await scene.gateway.call(tenant.key, where, { body });
      const second = await scene.gateway.call(tenant.key, where, { body });
      expect([first.status, cacheOf(first), cacheOf(second)], where).toEqual([200, "miss", "hit; age=n"]);
      expect(second.body.data ?? second.body.results).toEqual(first.body.data ?? first.body.results);
    }
  });
});

describe("asking for the cache", () => {
  test("CACHE-01 nothing is cached or reported unless a workspace, key, router or request asks for it", async () => {
    const tenant = await scene.gateway.tenant();
    expect(await twice(tenant, question())).toEqual([null, null]);
    const manage = (method: string, where: string, body: Json) =>
      scene.gateway.manage(method, `/workspaces/${tenant.slug}${where}`, body);
    await manage("PUT", "/routers/cheap", { models: [MODEL], ...CACHED });
    expect(await twice(tenant, { model: `@${tenant.slug}/cheap`, ...question() })).toEqual(["miss", "hit; age=n"]);
    expect(await twice(tenant, question())).toEqual([null, null]);
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: CACHED });
    expect(await twice(tenant, question())).toEqual(["miss", "hit; age=n"]);
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: null });
    await setPolicy(tenant, CACHED);
    expect(await twice(tenant, question())).toEqual(["miss", "hit; age=n"]);
    expect(await twice(tenant, { ...question(), cache: { ttl: 0 } })).toEqual([null, null]);
    expect((await setPolicy(tenant, { cache: null })).cache).toBeUndefined();
    expect(await twice(tenant, question())).toEqual([null, null]);
  });

  test("CACHE-01 a request is refused by name where it may not ask, and where its wish is not valid", async () => {
    const tenant = await scene.gateway.tenant();
    const refusal = async (cache: Json, more: Json = {}) => {
      const { status, body } = await scene.chat(tenant.key, { ...question(), cache, ...more });
      return [status, body.error?.code, body.error?.param];
    };
    expect(await refusal({ ttl: -1 })).toEqual([400, "invalid_value", "cache.ttl"]);
    expect(await refusal({ ttl: 1.5 })).toEqual([400, "invalid_value", "cache.ttl"]);
    expect((await refusal({ age: 1 }))[0]).toBe(400);
    expect(await refusal({ coalesce: true })).toEqual([400, "invalid_value", "cache.ttl"]);
    expect(await refusal({ ttl: 60 }, { provider: { zdr: true, only: ["ovhcloud"] } })).toEqual([
      400,
      "invalid_value",
      "cache",
    ]);
    await setPolicy(tenant, { cache: { ttl: 600, requests: "forbid" } });
    expect(await refusal({ ttl: 60 })).toEqual([400, "invalid_value", "cache"]);
    expect((await refusal({ ttl: 0 }))[0]).toBe(200);
    expect(await twice(tenant, question())).toEqual(["miss", "hit; age=n"]);
  });

  test("CACHE-01 a reply that is older than the request allows is a miss", async () => {
    const tenant = await scene.gateway.tenant();
    const body = question();
    await scene.chat(tenant.key, { ...body, cache: { ttl: 1 } });
    await expect.poll(async () => cacheOf(await scene.chat(tenant.key, { ...body, cache: { ttl: 1 } }))).toBe("miss");
  });

  test("CACHE-01 Idempotency-Key, and stored responses bypass the cache", async () => {
    const tenant = await scene.gateway.tenant();
    await setPolicy(tenant, CACHED);
    const bypass = (reason: string) => `bypass; reason=${reason}`;
    const keyed = { "idempotency-key": "one" };
    expect(cacheOf(await scene.chat(tenant.key, question(), keyed))).toBe(bypass("idempotency-key"));
    const respond = async (more: Json) =>
      cacheOf(await scene.gateway.call(tenant.key, "/v1/responses", { body: { model: MODEL, input: "Hi", ...more } }));
    expect(await respond({ store: true })).toBe(bypass("store"));
    expect(await respond({ store: false })).toBe("miss");
    expect(await respond({ background: true })).toBeNull();
    const zdr = { provider: { zdr: true, only: ["ovhcloud"] } };
    expect(cacheOf(await scene.chat(tenant.key, { ...question(), ...zdr }))).toBe(bypass("zero-data-retention"));
  });
});

describe("what is never cached", () => {
  const only = { provider: { only: ["deepinfra"] }, ...CACHED };

  test.each([
    ["an error", { status: 400, json: { error: { message: "no", type: "invalid_request_error" } } }],
    ["a filtered reply", { json: chatJson({ choices: [choice("content_filter")] }) }],
    ["a reply cut at its limit", { json: chatJson({ choices: [choice("length")] }) }],
    ["a reply above the limit in bytes", { json: chatJson({ choices: [choice("stop", "x".repeat(30_000))] }) }],
  ])("CACHE-01 %s", async (_, script) => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), ...only };
    scene.at("deepinfra").next(script);
    await scene.chat(tenant.key, body);
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("miss");
  });

  test("CACHE-01 a stream that broke, and one whose client left before its end", async () => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), ...only, stream: true };
    scene.at("deepinfra").next({ frames: chatFrames(["Hel", "lo"]), end: { is: "cut", after: 600 } });
    await scene.chat(tenant.key, body);
    scene.at("deepinfra").next({ frames: chatFrames(["Hel", "lo"]), end: { is: "stall", after: 600 } });
    const open = await scene.open(tenant.key, body);
    await open.until("Hel");
    open.hangUp();
    await scene.rowsOnce(tenant, 2);
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("miss");
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("hit; age=n");
  });

  function choice(finish_reason: string, content = "Hello") {
    return { index: 0, message: { role: "assistant", content }, finish_reason };
  }
});

describe("what separates replies", () => {
  test("CACHE-02 a reply serves no other workspace", async () => {
    const [one, other] = [await scene.gateway.tenant(), await scene.gateway.tenant()];
    const body = { ...question(), ...CACHED };
    await scene.chat(one.key, body);
    expect(cacheOf(await scene.chat(other.key, body))).toBe("miss");
  });

  test("CACHE-02 a reply serves other keys of its workspace only under the same policy and rules of data classes", async () => {
    const tenant = await scene.gateway.tenant();
    const keyWith = async (policy: Json) => {
      const made = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "k", policy });
      return { ...tenant, key: made.key };
    };
    const body = { ...question(), provider: { only: ["ovhcloud"] }, ...CACHED };
    await scene.chat(tenant.key, body);
    expect(cacheOf(await scene.chat((await keyWith(null)).key, body))).toBe("hit; age=n");
    for (const policy of [
      { floor: "L3" },
      { no_training: true },
      { blocked_providers: ["deepinfra"] },
      { data_classes: { personal: { action: "report" } } },
    ])
      expect(await twice(await keyWith(policy), body), JSON.stringify(policy)).toEqual(["miss", "hit; age=n"]);
  });

  test("CACHE-02 a reply of an endpoint that policy excludes now is a miss, and the next endpoint serves", async () => {
    const tenant = await scene.gateway.tenant();
    const body = { ...question(), provider: { order: ["deepinfra", "ovhcloud"] }, ...CACHED };
    expect((await scene.chat(tenant.key, body)).headers.get("x-svc-provider")).toBe("deepinfra");
    await setPolicy(tenant, { floor: "L3" });
    const next = await scene.chat(tenant.key, body);
    expect([cacheOf(next), next.headers.get("x-svc-provider")]).toEqual(["miss", "ovhcloud"]);
    await setPolicy(tenant, { floor: "none" });
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("hit; age=n");
  });

  test("CACHE-02 stand-ins are restored for each request, and originals are not in the cached reply", async () => {
    const tenant = await scene.gateway.tenant();
    await setPolicy(tenant, { data_classes: { personal: { action: "pseudonymise" } }, ...CACHED });
    scene.at("ovhcloud").next(({ json }) => ({
      json: chatJson({
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: (json as Json).messages[0].content },
            finish_reason: "stop",
          },
        ],
      }),
    }));
    const content = "Write to jane.doe@mail.example.eu";
    const body = { messages: [{ role: "user", content }], provider: { only: ["ovhcloud"] } };
    const replies = [await scene.chat(tenant.key, body), await scene.chat(tenant.key, body)];
    expect(replies.map(cacheOf)).toEqual(["miss", "hit; age=n"]);
    for (const { body } of replies) expect(body.choices[0].message.content).toBe(content);
    expect(replies[1]?.headers.get("x-svc-data-action")).toBe("pseudonymised");
  });
});

describe("the store", () => {
  test("CACHE-01 replies are sealed at rest, counted, and gone after a purge", async () => {
    const tenant = await scene.gateway.tenant();
    const secret = "the-quick-canary-8f2c";
    scene.at("deepinfra").next({
      json: chatJson({
        choices: [{ index: 0, message: { role: "assistant", content: secret }, finish_reason: "stop" }],
      }),
    });
    const body = { ...question(), provider: { only: ["deepinfra"] }, ...CACHED };
    expect((await scene.chat(tenant.key, body)).text).toContain(secret);
    const where = `/workspaces/${tenant.slug}/cache`;
    await expect.poll(async () => (await scene.gateway.manage("GET", where)).replies).toBe(1);
    const shown = await scene.gateway.cli("cache", "show", tenant.slug, "--json");
    expect(shown.json).toMatchObject({ replies: 1, ttl_max: 604_800 });
    const { dataDir } = scene.gateway;
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(1);
    for (const file of files)
      expect(readFileSync(path.join(file.parentPath, file.name)).includes(secret), file.name).toBe(false);
    expect((await scene.gateway.cli("cache", "purge", tenant.slug, "--json")).json).toEqual({
      workspace: tenant.slug,
      deleted: 1,
    });
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("miss");
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}`);
    expect(data.map(({ action }: Json) => action)).toContain("cache.purge");
  });

  test("CACHE-01 zero data retention removes what a workspace has cached", async () => {
    const tenant = await scene.gateway.tenant();
    await setPolicy(tenant, CACHED);
    const body = { ...question(), provider: { only: ["ovhcloud"] } };
    await scene.chat(tenant.key, body);
    await setPolicy(tenant, { zero_data_retention: true });
    expect((await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/cache`)).replies).toBe(0);
    await setPolicy(tenant, { zero_data_retention: false });
    expect(cacheOf(await scene.chat(tenant.key, body))).toBe("miss");
  });
});
