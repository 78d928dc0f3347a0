import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import type { Called, Json } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { eventsIn } from "../support/responses-native.ts";
import { rounds } from "../support/rounds.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { openResponse } from "../support/streaming-response.ts";
import { type Script, startUpstream, type Upstream } from "../support/upstream.ts";

// Each starts a gateway several times on a shared machine: generous timeouts.
let upstream: Upstream;
let port = 0;
let dataDir = "";
let teams = 0;
let team: string;
let key: string;
let origin: string;
let gateway: GatewayProcess;

/** Each test uses the gateway as the previous one left it, with a separate workspace. */
beforeEach(async () => {
  upstream = await startUpstream(replyingWith("translated", ["Hello", " there"]), port);
  port = upstream.port;
  if (dataDir === "") await restart();
  teams += 1;
  team = `team-${teams}`;
  await manage("POST", "/workspaces", { slug: team });
  await manage("POST", `/workspaces/${team}/wallet/credits`, { amount: "10" });
  key = (await manage("POST", `/workspaces/${team}/keys`, { name: "k", environment: "live" })).key;
});
afterEach(async ({ task }) => {
  await upstream.close();
  if (task.result?.state !== "fail") return;
  gateway.child.kill("SIGKILL");
  dataDir = "";
});
afterAll(cleanUp);

async function restart(): Promise<void> {
  dataDir = temporaryFolder();
  await begin();
}

async function begin(env: Record<string, string> = {}): Promise<void> {
  gateway = spawnGateway({
    ...connectedTo(new Map([["ionos", upstream]])),
    DATA_DIR: dataDir,
    GATEWAY_SANDBOX: "off",
    GATEWAY_RPM_IP: "0",
    LOG_LEVEL: "error",
    ...env,
  });
  origin = await gateway.ready();
}

async function killAndBegin(): Promise<void> {
  gateway.child.kill("SIGKILL");
  await gateway.exited;
  await begin();
}

async function manage(method: string, target: string, body?: unknown): Promise<Json> {
  const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  return (await call(token, `/manage${target}`, { method, ...(body === undefined ? {} : { body }) })).body;
}

async function call(token: string, target: string, init: { method?: string; body?: unknown } = {}): Promise<Called> {
  const answer = await fetch(`${origin}${target}`, {
    method: init.method ?? (init.body === undefined ? "GET" : "POST"),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "x-title": "app" },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
}

const caller = (): Caller => callerWith({ call }, key);

const chargesNow = async (): Promise<string[]> => {
  const { data } = await manage("GET", `/workspaces/${team}/wallet/entries`);
  return data.filter((entry: Json) => entry.kind === "charge").map((entry: Json) => entry.id);
};

const books = async () => {
  const [charges, rows, wallet, doctor] = [
    await chargesNow(),
    (await manage("GET", `/workspaces/${team}/requests`)).data,
    await manage("GET", `/workspaces/${team}/wallet`),
    await manage("GET", "/doctor"),
  ];
  expect([wallet.held, doctor.ok]).toEqual(["0.00", true]);
  return { charges, rows };
};

/** The first token, and the rest once the gate opens. */
function pausing(closed: Promise<void>): Script {
  const frames = framesOf("translated", ["Hello", " there"]);
  return { frames: [...frames.slice(0, 2), { data: frames.slice(2).join(""), afterMs: 0, gate: closed }] };
}

test("RESP-05 killed before the provider answered: run again once under its own id, completed and billed once", async () => {
  const held = gate();
  upstream.next({ gate: held.closed });
  const made = await caller().post({ background: true, input: "Remember me" });
  await upstream.arrived(1);
  await killAndBegin();
  const done = await caller().once(made.body.id, "completed");
  expect(done.output.at(-1).content[0].text).toBe("Hello there");
  expect(done.created_at).toBe(made.body.created_at);
  expect(JSON.stringify(upstream.requests[1]?.json)).toContain("Remember me");
  const { charges, rows } = await books();
  expect(charges).toEqual([`charge:${made.body.id}`]);
  expect(rows).toMatchObject([{ id: made.body.id, status: 200, error_code: null, app: "app", surface: "responses" }]);
  expect(Date.parse(rows[0].created_at) / 1000).toBeCloseTo(made.body.created_at, -1);
  expect(upstream.requests).toHaveLength(2);
  held.open();
}, 180_000);

test("RESP-05 killed twice before the provider answered: no third run, it ends as failed and free", async () => {
  const held = gate();
  upstream.always(() => ({ gate: held.closed }));
  const { id } = (await caller().post({ background: true, stream: false })).body;
  await upstream.arrived(1);
  await killAndBegin();
  await upstream.arrived(2);
  await killAndBegin();
  const failed = await caller().once(id, "failed");
  expect(failed.error).toMatchObject({ code: "interrupted" });
  expect(failed.error.message).toContain("second time");
  expect(upstream.requests).toHaveLength(2);
  expect((await books()).charges).toEqual([]);
  held.open();
}, 180_000);

test("RESP-05 killed during the stream: output had begun, so it ends as failed and free, with its events", async () => {
  const held = gate();
  upstream.next(pausing(held.closed));
  const stream = await openResponse(origin, key, {
    path: "/v1/responses",
    body: { model: MODEL, input: "Hi", background: true, stream: true },
  });
  await stream.until("Hello");
  const { id } = eventsIn(stream.text)[0].response;
  await killAndBegin();
  const failed = await caller().once(id, "failed");
  expect(failed.error).toMatchObject({ code: "interrupted" });
  expect(upstream.requests).toHaveLength(1);
  const { charges, rows } = await books();
  expect(charges).toEqual([]);
  expect(rows).toMatchObject([{ id, error_code: "interrupted", cost: "0.00" }]);
  const again = await openResponse(origin, key, { path: `/v1/responses/${id}?stream=true` });
  expect(await again.over).toBe("whole");
  const events = eventsIn(again.text);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.slice(-2)).toMatchObject([
    { type: "error", code: "interrupted", error: { code: "interrupted", type: "api_error", request_id: id } },
    { type: "response.failed", response: { id, status: "failed" } },
  ]);
  held.open();
}, 180_000);

test("RESP-05 killed after settlement: a stored result stays, an unstored one ends as failed, billed once and not rerun", async () => {
  const [stored, lost] = [
    (await caller().post({ background: true })).body.id,
    (await caller().post({ background: true })).body.id,
  ];
  for (const id of [stored, lost]) await caller().once(id, "completed");
  gateway.child.kill("SIGKILL");
  await gateway.exited;
  // The process ended between journal and store: the store has no reply yet, and only the
  // record shows that there was one.
  const db = openBooks(dataDir);
  db.prepare("update stored_responses set status = 'in_progress', answering = 0, ending = 0 where id = ?").run(lost);
  db.close();
  await begin();
  expect((await caller().get(stored)).body.status).toBe("completed");
  expect((await caller().get(lost)).body).toMatchObject({ status: "failed", error: { code: "interrupted" } });
  expect((await caller().get(lost)).body.error.message).toContain("the request log shows whether anything was charged");
  expect((await books()).charges.toSorted()).toEqual([`charge:${stored}`, `charge:${lost}`].toSorted());
  expect(upstream.requests).toHaveLength(2);
}, 180_000);

test("RESP-05 BILL-07 killed between charge and stored result: the paid reply exists after the restart", async () => {
  const db = openBooks(dataDir);
  // From here on no result is stored: the process stays between the two writes until it is killed.
  db.exec(`create trigger no_end before update of status on stored_responses when new.status = 'completed'
    begin select raise(abort, 'not now'); end`);
  const polled = (await caller().post({ background: true })).body.id;
  const stream = await openResponse(origin, key, {
    path: "/v1/responses",
    body: { model: MODEL, input: "Hi", background: true, stream: true },
  });
  await stream.until("there");
  const ids = [polled, eventsIn(stream.text)[0].response.id];
  const charges = ids.map((id) => `charge:${id}`).toSorted();
  await eventually(async () => expect((await chargesNow()).toSorted()).toEqual(charges), { timeout: 60_000 });
  for (const id of ids) expect((await caller().get(id)).body).toMatchObject({ status: "in_progress", output: [] });
  gateway.child.kill("SIGKILL");
  await gateway.exited;
  db.exec("drop trigger no_end");
  db.close();
  await begin();
  for (const id of ids) {
    const { headers, body } = await caller().get(id);
    expect(body).toMatchObject({ id, status: "completed", error: null });
    expect(body.output.at(-1).content[0].text).toBe("Hello there");
    expect(headers.get("x-svc-provider")).toBe("ionos");
  }
  const again = await openResponse(origin, key, { path: `/v1/responses/${ids[1]}?stream=true` });
  expect(await again.over).toBe("whole");
  const events = eventsIn(again.text);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.map((event) => event.delta ?? "").join("")).toBe("Hello there");
  expect(events.slice(-2)).toMatchObject([
    { type: "response.output_item.done", output_index: 0, item: { content: [{ text: "Hello there" }] } },
    { type: "response.completed", response: { id: ids[1], status: "completed" } },
  ]);
  expect((await books()).charges.toSorted()).toEqual(charges);
  expect(upstream.requests).toHaveLength(2);
}, 180_000);

test("RESP-03 a reply that cannot be stored is still sent, and the log records it; background runs are refused", async () => {
  expect(await gateway.stop()).toBe(0);
  await begin({ LOG_LEVEL: "warn" });
  const db = openBooks(dataDir);
  db.exec("drop table stored_responses");
  db.close();
  for (const stream of [false, true]) {
    const path = "/v1/responses";
    const made = await openResponse(origin, key, { path, body: { model: MODEL, input: "Hi", stream } });
    expect([made.status, await made.over]).toEqual([200, "whole"]);
    expect(made.text).toContain("Hello there");
  }
  await eventually(() => expect(gateway.stderr().match(/responses: store failed/g)).toHaveLength(2));
  const refused = await caller().post({ background: true });
  expect([refused.status, refused.body.error.code]).toEqual([503, "service_unavailable"]);
  expect(upstream.requests).toHaveLength(2);
  expect((await books()).charges).toHaveLength(2);
  gateway.child.kill("SIGKILL");
  dataDir = "";
}, 180_000);

test(
  "RESP-05 killed at any time around its end: completed and billed once, or failed and free",
  async () => {
    const ids: string[] = [];
    for (let round = 0; round < rounds(2); round += 1) {
      for (let count = 0; count < 4; count += 1) ids.push((await caller().post({ background: true })).body.id);
      await upstream.arrived(1);
      await new Promise((resolve) => setTimeout(resolve, (round % 4) * 12));
      await killAndBegin();
    }
    for (const id of ids) await caller().once(id, "completed", "failed");
    const { charges, rows } = await books();
    expect(new Set(charges).size).toBe(charges.length);
    expect(new Set(rows.map((row: Json) => row.id)).size).toBe(rows.length);
    for (const id of ids) {
      const { status } = (await caller().get(id)).body;
      expect(charges.includes(`charge:${id}`), id).toBe(status === "completed");
    }
  },
  rounds(180_000),
);

test("RESP-05 after a restart the current key and policy apply", async () => {
  const held = gate();
  upstream.always(() => ({ gate: held.closed }));
  const first = (await caller().post({ background: true })).body.id;
  await upstream.arrived(1);
  await manage("PATCH", `/workspaces/${team}/policy`, { zero_data_retention: true });
  await killAndBegin();
  const refused = await caller().once(first, "failed");
  expect(refused.error.message).toContain("zero data retention");
  await manage("PATCH", `/workspaces/${team}/policy`, { zero_data_retention: false });
  const second = (await caller().post({ background: true })).body.id;
  await upstream.arrived(2);
  const other = (await manage("POST", `/workspaces/${team}/keys`, { name: "other", environment: "live" })).key;
  const [old] = (await manage("GET", `/workspaces/${team}/keys`)).data.filter((one: Json) => one.name === "k");
  await manage("POST", `/keys/${old.id}/revoke`);
  await killAndBegin();
  key = other;
  expect((await caller().once(second, "failed")).error.message).toContain("key");
  expect(upstream.requests).toHaveLength(2);
  expect((await books()).charges).toEqual([]);
  held.open();
}, 180_000);

test("RESP-05 a shutdown waits for background runs; one that outlasts it runs again at the next start", async () => {
  const held = gate();
  upstream.next({ gate: held.closed, ...scriptOf() });
  const first = (await caller().post({ background: true })).body.id;
  await upstream.arrived(1);
  const stopping = gateway.stop();
  held.open();
  expect(await stopping).toBe(0);
  await begin({ GATEWAY_DRAIN_TIMEOUT_MS: "100" });
  expect((await caller().get(first)).body.status).toBe("completed");
  const never = gate();
  upstream.next({ gate: never.closed });
  const stream = await openResponse(origin, key, {
    path: "/v1/responses",
    body: { model: MODEL, input: "Hi", background: true, stream: true },
  });
  await upstream.arrived(2);
  await stream.until("response.queued");
  const second = eventsIn(stream.text)[0].response.id;
  expect(await gateway.stop()).toBe(0);
  expect(await stream.over).toBe("whole");
  expect(eventsIn(stream.text).at(-1)).toMatchObject({
    type: "error",
    code: "service_unavailable",
    error: { code: "service_unavailable", request_id: second },
  });
  await begin();
  await caller().once(second, "completed");
  const again = await openResponse(origin, key, { path: `/v1/responses/${second}?stream=true` });
  expect(await again.over).toBe("whole");
  const events = eventsIn(again.text);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.at(-1).type).toBe("response.completed");
  expect((await books()).charges.toSorted()).toEqual([`charge:${first}`, `charge:${second}`].toSorted());
  never.open();
}, 180_000);

function scriptOf(): Script {
  return { frames: framesOf("translated", ["Hello", " there"]) };
}
