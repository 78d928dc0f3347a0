import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, TestGateway } from "../support/gateway.ts";
import { ANSWER, inferences, keyOf, OWN, requireKey, STREAM } from "../support/own-keys.ts";
import { Browser, PASSWORD, tokenOf } from "../support/people.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { gate } from "../support/response-callers.ts";
import { connectedTo, credentialOf, MODEL } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }], max_tokens: 10 };
/** Less than the interval at which a change is announced again. */
const MOMENT_MS = 4000;

/** Each change is made on one instance, and the very next call on another one follows it. */
describe.skipIf(!hasPostgres || !hasRedis)("a change on one instance applies to the next request on another", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  let a: TestGateway;
  let b: TestGateway;
  const own = OWN("fleet");

  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([startFleet(), startUpstream()]);
    requireKey(upstream, new Set([credentialOf("deepinfra"), own]));
    const env = {
      ...connectedTo(new Map([["deepinfra", upstream]])),
      PROVIDER_NEBIUS_BASE_URL: upstream.baseUrl,
      GATEWAY_ALERTS_EVERY_MS: "20",
      GATEWAY_WEBHOOK_PRIVATE: "on",
    };
    a = await fleet.add(env);
    b = await fleet.add(env);
  }, 60_000);
  afterAll(async () => {
    await fleet?.close();
    await upstream?.close();
  });

  const chat = (gateway: TestGateway, key: string, more: object = {}) =>
    gateway.call(key, "/v1/chat/completions", { body: { ...CHAT, ...more } });
  const endOf = async (answer: ReturnType<typeof chat>) => {
    const { status, body } = await answer;
    return status === 200 ? 200 : [status, body.error.code];
  };

  test("KEY-04 a key that is created, narrowed, restricted to an address or revoked", async () => {
    const { slug, key, keyId } = await a.tenant();
    expect(await endOf(chat(b, key))).toBe(200);
    await a.manage("PATCH", `/keys/${keyId}`, { scopes: ["inference:embeddings"] });
    expect(await endOf(chat(b, key))).toEqual([403, "insufficient_scope"]);
    await a.manage("PATCH", `/keys/${keyId}`, { scopes: null, ip_allowlist: ["203.0.113.0/24"] });
    expect(await endOf(chat(b, key))).toEqual([403, "ip_not_allowed"]);
    await a.manage("PATCH", `/keys/${keyId}`, { ip_allowlist: null });
    expect(await endOf(chat(b, key))).toBe(200);
    const { key: next } = await b.manage("POST", `/keys/${keyId}/rotate`, { grace: "1h" });
    expect(await endOf(chat(a, next))).toBe(200);
    // Also without messages, which are only an optimization.
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await b.manage("POST", `/keys/${keyId}/revoke`);
    expect(await endOf(chat(a, key))).toEqual([401, "invalid_api_key"]);
    const { data } = await b.manage("GET", `/workspaces/${slug}/keys`);
    expect(data).toHaveLength(2);
    // Also on routes that are not rate limited.
    const read = () => endOf(a.call(next, "/v1/models"));
    expect(await read()).toBe(200);
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await b.manage("POST", `/keys/${data.find(({ id }: Json) => id !== keyId).id}/revoke`);
    expect(await read()).toEqual([401, "invalid_api_key"]);
  });

  test("LOG-01 KEY-04 the log has at most a key's limit of calls after its revocation, over all instances", async () => {
    const { slug, key, keyId } = await a.tenant({ key: { rpm: 2 } });
    await a.manage("POST", `/keys/${keyId}/revoke`);
    // Both instances know it by then.
    expect((await b.manage("GET", `/workspaces/${slug}/keys`)).data).toMatchObject([{ state: "revoked" }]);
    const ends = await Promise.all(Array.from({ length: 8 }, (_, n) => endOf(chat(n % 2 === 0 ? a : b, key))));
    expect(ends).toEqual(ends.map(() => [401, "invalid_api_key"]));
    await eventually(async () =>
      expect((await a.manage("GET", `/workspaces/${slug}/requests`)).data.length).toBeGreaterThanOrEqual(2),
    );
    expect((await a.manage("GET", `/workspaces/${slug}/requests`)).data).toHaveLength(2);
  });

  test("RATE-08 a key's limit holds over all instances, also while it changes", async () => {
    const { key, keyId } = await a.tenant({ key: { rpm: 5 } });
    const ends = await Promise.all(Array.from({ length: 12 }, (_, n) => endOf(chat(n % 2 === 0 ? a : b, key))));
    expect(ends.filter((end) => end === 200)).toHaveLength(5);
    await a.manage("PATCH", `/keys/${keyId}`, { rpm: 7 });
    const more = await Promise.all(Array.from({ length: 8 }, (_, n) => endOf(chat(n % 2 === 0 ? b : a, key))));
    expect(more.filter((end) => end === 200)).toHaveLength(2);
  });

  test("RATE-08 a limit lowered on one instance holds for a call that another admitted by the old limit", async () => {
    const { key, keyId } = await a.tenant({ key: { rpm: 9 } });
    const limitedTo = (rpm: number) => a.manage("PATCH", `/keys/${keyId}`, { rpm });
    for (const _ of [1, 2]) expect(await endOf(chat(b, key))).toBe(200);
    await limitedTo(3);
    expect(await endOf(chat(b, key))).toBe(200);
    await limitedTo(9);
    expect(await endOf(chat(b, key))).toBe(200);
    await limitedTo(4);
    const { status, headers } = await chat(b, key);
    expect([status, headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-remaining")]).toEqual([429, "4", "0"]);
  });

  test("POL-01 a policy, a router and a spend limit", async () => {
    const { slug, key } = await a.tenant();
    expect(await endOf(chat(b, key))).toBe(200);
    await a.manage("PATCH", `/workspaces/${slug}/policy`, { countries: ["SE"] });
    expect(await endOf(chat(b, key))).not.toBe(200);
    await b.manage("PATCH", `/workspaces/${slug}/policy`, { countries: null });
    expect(await endOf(chat(a, key))).toBe(200);
    await a.manage("PUT", `/workspaces/${slug}/routers/mine`, { models: ["sandbox/chat"] });
    expect(await endOf(chat(b, key, { model: `@${slug}/mine` }))).toBe(200);
    await b.manage("DELETE", `/workspaces/${slug}/routers/mine`);
    expect(await endOf(chat(a, key, { model: `@${slug}/mine` }))).not.toBe(200);
    await b.manage("PUT", `/workspaces/${slug}/limits`, { day: "0.000001" });
    expect(await endOf(chat(a, key))).toEqual([402, "spend_limit_reached"]);
  });

  test("KEY-08 a workspace's own provider key, connected and removed", async () => {
    const { slug, key } = await a.tenant();
    const send = async (gateway: TestGateway) => {
      await chat(gateway, key, { model: MODEL });
      const last = inferences(upstream).at(-1);
      return last === undefined ? undefined : keyOf(last);
    };
    expect(await send(b)).toBe(credentialOf("deepinfra"));
    await a.manage("PUT", `/workspaces/${slug}/providers/deepinfra`, { key: own, use: "first" });
    expect(await send(b)).toBe(own);
    await b.manage("DELETE", `/workspaces/${slug}/providers/deepinfra`);
    expect(await send(a)).toBe(credentialOf("deepinfra"));
  });

  test("PORTAL-10 the platform's own provider credential, connected, replaced and removed", async () => {
    const { key } = await a.tenant();
    const send = async (gateway: TestGateway) => {
      const end = await endOf(chat(gateway, key, { model: MODEL, provider: { only: ["nebius"] } }));
      const last = inferences(upstream).at(-1);
      return end === 200 && last !== undefined ? keyOf(last) : "not connected";
    };
    expect(await send(b)).toBe("not connected");
    // Also without messages.
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await a.manage("PUT", "/providers/nebius", { key: own });
    expect(await send(b)).toBe(own);
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await b.manage("PUT", "/providers/nebius", { key: credentialOf("deepinfra") });
    expect(await send(a)).toBe(credentialOf("deepinfra"));
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await b.manage("DELETE", "/providers/nebius");
    expect(await send(a)).toBe("not connected");
  });

  test("SAFE-04 an address that sent unsolicited bytes to one instance, isolated on every instance", async () => {
    const keys = [(await a.tenant()).key, (await a.tenant()).key];
    const connectionsOn = async (gateway: TestGateway) => {
      for (const key of keys) expect(await endOf(chat(gateway, key, { model: MODEL }))).toBe(200);
      return new Set(
        inferences(upstream)
          .slice(-keys.length)
          .map(({ connection }) => connection),
      );
    };
    expect((await connectionsOn(b)).size).toBe(1);
    upstream.next({ json: ANSWER, idleBytes: "!" });
    await connectionsOn(a);
    await eventually(async () => expect((await connectionsOn(b)).size).toBe(2));
  });

  test("KEY-04 SCALE-02 reloads a change whose announcement has already been dropped", async () => {
    const [revoked, other] = [await a.tenant(), await a.tenant()];
    await a.manage("PUT", "/providers/nebius", { key: own });
    const ends = async () => [
      await endOf(chat(b, revoked.key)),
      await endOf(chat(b, other.key, { model: MODEL, provider: { only: ["nebius"] } })),
    ];
    expect(await ends()).toEqual([200, 200]);
    // As after a day without any message.
    const books = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await books.connect();
    await books.query("update api_keys set state = 'revoked' where id = $1", [revoked.keyId]);
    await books.query("delete from platform_credentials");
    await books.query("select nextval(pg_get_serial_sequence('changes', 'seq'))");
    await books.end();
    await a.tenant();
    await expect.poll(ends).toEqual([
      [401, "invalid_api_key"],
      [403, "no_eligible_endpoint"],
    ]);
  });

  test("BILL-05 the margin of a workspace, set and lifted", async () => {
    const { slug, key } = await a.tenant();
    const margin = async (gateway: TestGateway) =>
      (await gateway.call(key, `/v1/models/${encodeURIComponent(MODEL)}`)).body.pricing.margin;
    expect(await margin(b)).toBeUndefined();
    await a.manage("PUT", `/workspaces/${slug}/margin`, { margin: "0.5" });
    expect(await margin(b)).toBe("0.5");
    await b.manage("PUT", `/workspaces/${slug}/margin`, { margin: null });
    expect(await margin(a)).toBeUndefined();
  });

  test("BILL-10 a workspace's alert rules", async () => {
    const { slug, key } = await a.tenant({ credit: "10" });
    const hook = await startUpstream({ status: 204 });
    onTestFinished(() => hook.close());
    await a.manage("PUT", `/workspaces/${slug}/alerts`, { webhook_url: `${hook.url}/hook`, low_balance: "10" });
    expect(await endOf(chat(b, key, { model: MODEL }))).toBe(200);
    await hook.arrived(1);
  });

  test("LOG-05 a capture window, opened and closed", async () => {
    const { slug, key } = await a.tenant();
    const captured = async (gateway: TestGateway, reads: number) => {
      const { headers } = await chat(gateway, key);
      const id = headers.get("x-svc-request-id") ?? "";
      // Captured content is written after the response.
      for (let n = 0; n < reads; n += 1) {
        const found = await gateway.manage("GET", `/requests/${id}`);
        if ((found.captured ?? null) !== null) return true;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      return false;
    };
    expect(await captured(b, 20)).toBe(false);
    const window = await a.manage("POST", `/workspaces/${slug}/capture-windows`, { minutes: 5, reason: "why" });
    expect(await captured(b, 400)).toBe(true);
    await b.manage("POST", `/capture-windows/${window.id}/close`, {});
    expect(await captured(a, 20)).toBe(false);
  });

  test("SCALE-02 a workspace, its members and a management token appear and disappear immediately", async () => {
    const { slug } = await a.tenant({ credit: "0" });
    await a.manage("POST", `/workspaces/${slug}/members`, { email: "ann@example.eu", role: "admin" });
    const members = async (gateway: TestGateway) => (await gateway.manage("GET", `/workspaces/${slug}/members`)).data;
    expect((await members(b)).map(({ email, role }: Json) => [email, role])).toEqual([["ann@example.eu", "admin"]]);
    const { token, id } = await a.manage("POST", `/workspaces/${slug}/tokens`, { name: "ci", access: "read" });
    const read = (gateway: TestGateway) => gateway.call(token, `/manage/workspaces/${slug}`);
    expect((await read(b)).status).toBe(200);
    await b.manage("DELETE", `/workspaces/${slug}/tokens/${id}`);
    expect((await read(a)).status).toBe(401);
    await b.manage("PATCH", `/workspaces/${slug}/members/ann@example.eu`, { role: "member" });
    expect((await members(a))[0].role).toBe("member");
  });

  test("KEY-04 PORTAL-11 a person who is erased", async () => {
    const { slug } = await a.tenant();
    const [at, email] = [`/workspaces/${slug}`, "clara@example.eu"];
    await a.manage("PATCH", `${at}/key-policy`, { personal_keys: true });
    const { link } = await a.manage("POST", `${at}/invitations`, { email, role: "owner" });
    const account = { name: "Clara", password: PASSWORD };
    await new Browser(a.url).post(`/manage/invitations/${tokenOf(link)}/accept`, account);
    const browser = new Browser(b.url);
    const signIn = () => browser.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
    expect((await signIn()).status).toBe(200);
    const { key } = (await browser.post(`/manage${at}/keys`, { member: email, environment: "live" })).body;
    const { token } = (await browser.post(`/manage${at}/tokens`, { name: "program", access: "read" })).body;
    await browser.post(`/manage${at}/nodes`, { name: "rack", country: "DE" });
    await browser.ask("PUT", `/manage${at}/providers/deepinfra`, { key: own, skip_test: true });
    const shown = async () => [
      ...(await b.manage("GET", `${at}/nodes`)).data.map((node: Json) => node.created_by),
      ...(await b.manage("GET", `${at}/providers`)).data.map((one: Json) => one.changed_by),
    ];
    expect([await endOf(chat(b, key)), await shown()]).toEqual([200, [email, email]]);
    const { id } = (await a.manage("GET", "/people")).data.find((one: Json) => one.email === email);
    // Also without messages.
    await fleet.redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await a.manage("POST", `/people/${id}/erase`);
    expect(await endOf(chat(b, key))).toEqual([401, "invalid_api_key"]);
    expect((await b.call(token, `/manage${at}`)).status).toBe(401);
    expect((await browser.get(`/manage${at}/keys`)).status).toBe(401);
    expect((await signIn()).status).toBe(401);
    const erasedEmail = `erased-${id}@erased.invalid`;
    expect(await shown()).toEqual([erasedEmail, erasedEmail]);
    expect((await b.manage("GET", `${at}/members`)).data).toEqual([]);
  });

  test("RESP-04 background work of one instance is followed and cancelled through another", async () => {
    const { key } = await a.tenant();
    const held = gate();
    const begin = async () => {
      upstream.next({ frames: STREAM, gate: held.closed });
      const body = { model: MODEL, input: "Hi", background: true, stream: true };
      const made = await fetch(`${a.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const id = made.headers.get("x-svc-request-id") ?? "";
      await made.body?.cancel();
      return id;
    };
    const ended = await begin();
    const cancelled = await b.call(key, `/v1/responses/${ended}/cancel`, { method: "POST" });
    expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
    const followed = await begin();
    const text = b.call(key, `/v1/responses/${followed}?stream=true`).then((answer) => answer.text);
    held.open();
    expect(await text).toMatch(/event: response\.completed\ndata: [^\n]*\n\n$/);
  });

  test("SCALE-02 a change saved while Redis is briefly unavailable is announced later and reported as made", async () => {
    const { slug, key } = await a.tenant();
    const hasty = await fleet.add({ GATEWAY_REDIS_TIMEOUT_MS: "500" });
    const guard = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await guard.connect();
    const found = async (what: string) => (await guard.query(`select from ${what}`)).rows.length;
    /** Redis stops responding just before the commit, for longer than a step's timeout. */
    const madeInSilence = async (name: string) => {
      // SQL waits for this lock.
      await guard.query("begin; lock table api_keys in share row exclusive mode");
      const made = hasty.call(hasty.adminToken, `/manage/workspaces/${slug}/keys`, {
        body: { name, environment: "live" },
      });
      await expect.poll(() => found("pg_locks where not granted")).toBe(1);
      fleet.redis.pause();
      const since = performance.now();
      await guard.query("commit");
      await expect.poll(() => found(`api_keys where name = '${name}'`)).toBe(1);
      await sleep(700);
      fleet.redis.resume();
      return { ...(await made), tookMs: performance.now() - since };
    };
    let made = await madeInSilence("fresh 0");
    // On a stalled machine it took longer.
    for (let round = 1; made.tookMs > MOMENT_MS; round += 1) made = await madeInSilence(`fresh ${round}`);
    await guard.end();
    const { status, body } = made;
    expect([status, body.error]).toEqual([201, undefined]);
    expect(await endOf(chat(b, body.key))).toBe(200);
    expect(await endOf(chat(a, key))).toBe(200);
  });

  test("SCALE-02 two instances that create the same workspace concurrently create one", async () => {
    const made = await Promise.all(
      [a, b].map((gateway) =>
        gateway.call(gateway.adminToken, "/manage/workspaces", { body: { slug: "twins", currency: "EUR" } }),
      ),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });
});
