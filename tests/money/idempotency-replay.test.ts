import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SETTINGS } from "../../src/settings/config.ts";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import { type Called, type Json, startGateway } from "../support/gateway.ts";
import { callerWith, gate } from "../support/response-callers.ts";
import { chatBody, connectedTo, MODEL } from "../support/scene.ts";
import { chatFrames, startUpstream, type Upstream } from "../support/upstream.ts";

let upstream: Upstream;
let port = 0;
beforeEach(async () => {
  upstream = await startUpstream(undefined, port);
  port = upstream.port;
});
afterEach(() => upstream.close());
afterAll(cleanUp);

const settings = () => ({
  ...connectedTo(new Map([["deepinfra", upstream]])),
  GATEWAY_SANDBOX: "off",
  GATEWAY_RPM_IP: "0",
});

/** The response headers about provider, level and countries. */
function serversOf({ headers }: Called): string[] {
  const served = ["model", "provider", "sovereignty-level", "compute-countries"].map((name) =>
    headers.get(`x-svc-${name}`),
  );
  expect(served).not.toContain(null);
  return served.map(String);
}

/** A gateway that is killed and restarted: each test continues with it, in its own workspace. */
describe("a gateway that exits", () => {
  let dataDir: string;
  let gateway: GatewayProcess | undefined;
  let origin: string;
  let teams = 0;
  let team = "";
  let key = "";

  beforeAll(() => {
    dataDir = temporaryFolder();
  });
  beforeEach(async () => {
    if (gateway === undefined) await begin();
    teams += 1;
    team = `team-${teams}`;
    await manage("POST", "/workspaces", { slug: team });
    await manage("POST", `/workspaces/${team}/wallet/credits`, { amount: "10" });
    key = (await manage("POST", `/workspaces/${team}/keys`, { name: "k", environment: "live" })).key;
  });

  async function begin(): Promise<void> {
    gateway = spawnGateway({ ...settings(), DATA_DIR: dataDir, LOG_LEVEL: "error" });
    origin = await gateway.ready();
  }

  async function kill(): Promise<void> {
    gateway?.child.kill("SIGKILL");
    await gateway?.exited;
    gateway = undefined;
  }

  async function call(token: string, target: string, init: { method?: string; body?: unknown } = {}): Promise<Called> {
    const answer = await fetch(`${origin}${target}`, {
      method: init.method ?? (init.body === undefined ? "GET" : "POST"),
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": "order-66" },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: text.startsWith("{") ? JSON.parse(text) : {} };
  }

  async function manage(method: string, target: string, body?: unknown): Promise<Json> {
    const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
    return (await call(token, `/manage${target}`, { method, ...(body === undefined ? {} : { body }) })).body;
  }

  const chat = (more: Record<string, unknown> = {}) => call(key, "/v1/chat/completions", { body: chatBody(more) });

  async function charges(): Promise<string[]> {
    const { data } = await manage("GET", `/workspaces/${team}/wallet/entries`);
    expect((await manage("GET", "/doctor")).ok).toBe(true);
    return data.filter((entry: Json) => entry.kind === "charge").map((entry: Json) => entry.id);
  }

  test("BILL-09 kill -9 between response and SQL: the journal keeps the key, and the call is not repeated or charged again", async () => {
    // SQL cannot be written, so only the journal has the charge.
    const database = openBooks(dataDir);
    database.exec("begin immediate");
    const rows = () => database.prepare("select count(*) as rows from idempotency_keys").get();
    const before = rows();
    const first = await chat();
    expect(first.status, first.text).toBe(200);
    await kill();
    expect(rows()).toEqual(before);
    database.exec("rollback");
    database.close();
    await begin();
    const again = await chat();
    expect([again.status, again.headers.get("idempotent-replayed"), again.body.id]).toEqual([
      200,
      "true",
      first.body.id,
    ]);
    expect((await chat({ temperature: 0.5 })).status).toBe(422);
    expect(upstream.requests).toHaveLength(1);
    expect(await charges()).toEqual([`charge:${first.body.id}`]);
  });

  test("BILL-09 HDR-02 a graceful restart keeps keys and who served", async () => {
    const first = await chat();
    await gateway?.stop();
    gateway = undefined;
    await begin();
    const again = await chat();
    expect([again.headers.get("idempotent-replayed"), again.body.id]).toEqual(["true", first.body.id]);
    expect(serversOf(again)).toEqual(serversOf(first));
    expect(upstream.requests).toHaveLength(1);
    expect(await charges()).toEqual([`charge:${first.body.id}`]);
  });

  test("BILL-09 kill -9 during a call: nothing was charged, so its key is free", async () => {
    const held = gate();
    upstream.next({ gate: held.closed });
    const lost = chat().catch(() => "cut");
    await upstream.arrived(1);
    await kill();
    expect(await lost).toBe("cut");
    await begin();
    const second = await chat();
    expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(await charges()).toEqual([`charge:${second.body.id}`]);
    held.open();
  });

  test("BILL-09 resumed background work keeps its key and does not conflict with itself", async () => {
    const held = gate();
    upstream.always(() => ({ gate: held.closed, frames: chatFrames(["Hello"], { usage: "asked" }) }));
    const ask = () => call(key, "/v1/responses", { body: { model: MODEL, input: "Hi", background: true } });
    const made = await ask();
    await upstream.arrived(1);
    await kill();
    await begin();
    await upstream.arrived(2);
    expect((await ask()).body.error).toMatchObject({ code: "idempotency_key_in_use" });
    held.open();
    await callerWith({ call }, key).once(made.body.id, "completed");
    const again = await ask();
    expect([again.headers.get("idempotent-replayed"), again.body.id, again.body.status]).toEqual([
      "true",
      made.body.id,
      "completed",
    ]);
    expect(upstream.requests).toHaveLength(2);
    expect(await charges()).toEqual([`charge:${made.body.id}`]);
  });
});

/** A gateway in this process, and its calls with one key after the other. */
async function gatewayWith(env: Record<string, string>) {
  const gateway = await startGateway({ env: { ...settings(), ...env } });
  onTestFinished(() => gateway.close());
  const tenant = await gateway.tenant();
  return (name: string, more: Record<string, unknown> = {}) =>
    gateway.call(tenant.key, "/v1/chat/completions", { body: chatBody(more), headers: { "idempotency-key": name } });
}

test("BILL-09 HDR-02 older keys than memory holds are found in SQL, and who served them in the log", async () => {
  const send = await gatewayWith({ GATEWAY_IDEMPOTENCY_KEYS_MAX: "2" });
  const first = await send("a");
  for (const name of ["b", "c", "d"]) expect((await send(name)).status).toBe(200);
  const again = await send("a");
  expect([again.headers.get("idempotent-replayed"), again.body.id]).toEqual(["true", first.body.id]);
  expect(serversOf(again)).toEqual(serversOf(first));
  expect((await send("a", { temperature: 0.5 })).status).toBe(422);
  expect((await send("d")).headers.get("idempotent-replayed")).toBe("true");
  expect((await send("e")).headers.get("idempotent-replayed")).toBeNull();
  expect(upstream.requests).toHaveLength(5);
});

test("BILL-09 an expired key is free, and the next call is stored again", async () => {
  expect(SETTINGS.GATEWAY_IDEMPOTENCY_TTL.fallback).toBe("24h");
  const send = await gatewayWith({ GATEWAY_IDEMPOTENCY_TTL: "1s" });
  const first = await send("a");
  await eventually(
    async () => {
      const fresh = await send("a", { temperature: 0.5 });
      expect([fresh.status, fresh.headers.get("idempotent-replayed")]).toEqual([200, null]);
      expect(fresh.body.id).not.toBe(first.body.id);
    },
    { timeout: 15_000, interval: 50 },
  );
  expect(upstream.requests).toHaveLength(2);
});
