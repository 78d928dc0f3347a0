import { afterEach, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import { eventually } from "../support/eventually.ts";
import type { Called, Tenant } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { chatBody, openScene, type Scene, startChat } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
afterEach(() => scene.close());

async function open(env: Record<string, string> = {}): Promise<void> {
  scene = await openScene(["deepinfra"], {
    GATEWAY_QUEUE_CONCURRENCY: "1",
    GATEWAY_QUEUE_WAIT_MS: "60000",
    ...env,
  });
  tenant = await scene.gateway.tenant();
}

/** A provider that answers one request at a time, on demand, and counts concurrent requests. */
function slowly() {
  const held: (() => void)[] = [];
  const order: string[] = [];
  const seen = { now: 0, most: 0 };
  scene.at("deepinfra").always(({ json, over }) => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    void over.then(() => {
      seen.now -= 1;
    });
    order.push(isJsonObject(json) ? String(json["user"]) : "");
    const { promise, resolve } = Promise.withResolvers<void>();
    held.push(resolve);
    return { gate: promise, json: chatJson({ content: "at last" }) };
  });
  const answerNext = async () => {
    await eventually(() => expect(held.length).toBeGreaterThan(0));
    held.shift()?.();
  };
  return { answerNext, order, seen };
}

const waiting = (count: number) =>
  eventually(async () => expect(await metricSum(scene, "gateway_queue_waiting")).toBe(count), { interval: 5 });

const ask = (caller: Tenant, user: string): Promise<Called> => scene.chat(caller.key, { user });

function expectQueueTimeout({ status, body, headers }: Called): void {
  expect([status, body.error.type, body.error.code]).toEqual([429, "rate_limit_error", "rate_limit_exceeded"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  // The limit was not the key's: its headers would make the client wait for the wrong limit.
  expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
}

test("RATE-06 limits concurrent requests and grants slots to workspaces round-robin", async () => {
  await open();
  const quiet = await scene.gateway.tenant();
  const { answerNext, order, seen } = slowly();
  const answers: Promise<Called>[] = [];
  for (const [caller, user] of [
    [tenant, "crowd 1"],
    [tenant, "crowd 2"],
    [tenant, "crowd 3"],
    [quiet, "quiet 1"],
  ] as const) {
    answers.push(ask(caller, user));
    await (answers.length === 1 ? scene.at("deepinfra").arrived(1) : waiting(answers.length - 1));
  }
  expect(await metricSum(scene, "gateway_queue_taken")).toBe(1);
  for (let at = 0; at < answers.length; at += 1) await answerNext();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(order).toEqual(["crowd 1", "crowd 2", "quiet 1", "crowd 3"]);
  expect(seen.most).toBe(1);
  await eventually(async () => expect(await metricSum(scene, "gateway_queue_taken")).toBe(0));
});

test("RATE-06 RATE-04 a wait without a slot ends with 429, releases the hold and is logged", async () => {
  await open({ GATEWAY_QUEUE_WAIT_MS: "30" });
  const { answerNext } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const late = await scene.gateway.tenant();
  for (const stream of [false, true]) {
    const answer = await scene.chat(late.key, { stream });
    expectQueueTimeout(answer);
    expect(answer.body.error.message).toMatch(/no slot became free within \d+ ms/);
    // Waits as long as this setting says, not the default.
    expect(answer.headers.get("retry-after")).toBe("1");
    const row = await scene.row(answer.body.error.request_id);
    expect(row).toMatchObject({ status: 429, error_code: "rate_limit_exceeded", cost: "0.00", attempts: [] });
  }
  expect(await scene.wallet(late)).toEqual({ balance: "100.00", held: "0.00", currency: "EUR" });
  expect(scene.at("deepinfra").requests).toHaveLength(1);
  expect(await metricSum(scene, "gateway_queue_refusals_total", 'why="too_long"')).toBe(2);
  await answerNext();
  expect((await first).status).toBe(200);
});

test("RATE-06 counting tokens takes a slot like every other request", async () => {
  await open({ GATEWAY_QUEUE_LENGTH: "0" });
  const { answerNext } = slowly();
  const first = ask(tenant, "first");
  await eventually(() => expect(scene.at("deepinfra").requests).toHaveLength(1));
  const count = () =>
    scene.gateway.call(tenant.key, "/v1/messages/count_tokens", { body: { ...chatBody(), max_tokens: 5 } });
  expectQueueTimeout(await count());
  await answerNext();
  expect((await first).status).toBe(200);
  await eventually(async () => expect((await count()).status).toBe(200));
  await eventually(async () => expect(await metricSum(scene, "gateway_queue_taken")).toBe(0));
});

test("RATE-06 a full queue refuses immediately", async () => {
  await open({ GATEWAY_QUEUE_LENGTH: "1" });
  const { answerNext } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const second = ask(tenant, "second");
  await waiting(1);
  const third = await ask(tenant, "third");
  expectQueueTimeout(third);
  expect(third.body.error.message).toContain("queue is full");
  await answerNext();
  await answerNext();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
});

test("RATE-06 CHAT-09 a client that disconnects while queued leaves the queue, is logged and not charged", async () => {
  await open({ GATEWAY_QUEUE_LENGTH: "1" });
  const { answerNext, order } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const leaver = await scene.gateway.tenant();
  const request = startChat(scene.gateway.url, leaver.key, chatBody({ user: "leaver" }));
  await waiting(1);
  expect((await scene.wallet(leaver)).held).not.toBe("0.00");
  request.destroy();
  await waiting(0);
  const [row] = await scene.rowsOnce(leaver, 1);
  expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", cost: "0.00", attempts: [] });
  expect(await scene.wallet(leaver)).toEqual({ balance: "100.00", held: "0.00", currency: "EUR" });
  const second = ask(tenant, "second");
  await waiting(1);
  await answerNext();
  await answerNext();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  expect(order).toEqual(["first", "second"]);
});

test("ERR-10 RATE-06 a request without funds or for an unknown model is refused without queueing", async () => {
  await open({ GATEWAY_QUEUE_LENGTH: "0" });
  const { answerNext } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const poor = await scene.gateway.tenant({ credit: "0" });
  expect((await ask(poor, "poor")).status).toBe(402);
  expect((await scene.chat(tenant.key, { model: "no/such" })).status).toBe(404);
  expect((await scene.chat(tenant.key, { temperature: 99 })).status).toBe(400);
  expectQueueTimeout(await ask(tenant, "rich"));
  await answerNext();
  expect((await first).status).toBe(200);
});

test("RATE-06 a key revoked while its request is queued is not served", async () => {
  await open();
  const { answerNext, order } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const other = await scene.gateway.tenant();
  const revoked = ask(other, "revoked");
  await waiting(1);
  await scene.gateway.manage("POST", `/keys/${other.keyId}/revoke`);
  await answerNext();
  expect((await first).status).toBe(200);
  expect((await revoked).status).toBe(401);
  expect(order).toEqual(["first"]);
  expect(await scene.wallet(other)).toMatchObject({ held: "0.00" });
  await eventually(async () => expect(await metricSum(scene, "gateway_queue_taken")).toBe(0));
});

test("RATE-06 KEY-05 a key that expires while its request is queued is not served", async () => {
  await open();
  const { answerNext, order } = slowly();
  const first = ask(tenant, "first");
  await scene.at("deepinfra").arrived(1);
  const other = await scene.gateway.tenant();
  const expiresAtMs = Date.now() + 2000;
  const expires_at = new Date(expiresAtMs).toISOString();
  await scene.gateway.manage("PATCH", `/keys/${other.keyId}`, { expires_at });
  // It is not served in either case, whether or not it was queued before the key expired.
  const late = ask(other, "late");
  await eventually(() => expect(Date.now()).toBeGreaterThan(expiresAtMs), { timeout: 10_000 });
  await answerNext();
  expect((await first).status).toBe(200);
  const { status, body } = await late;
  expect([status, body.error.code]).toEqual([401, "expired_api_key"]);
  expect(order).toEqual(["first"]);
  expect(await scene.wallet(other)).toMatchObject({ held: "0.00" });
});

test("RATE-06 without a limit no request queues", async () => {
  await open({ GATEWAY_QUEUE_CONCURRENCY: "0", GATEWAY_QUEUE_LENGTH: "0" });
  const { answerNext, seen } = slowly();
  const answers = Array.from({ length: 6 }, (_, at) => ask(tenant, String(at)));
  await scene.at("deepinfra").arrived(6);
  expect(seen.most).toBe(6);
  for (let at = 0; at < 6; at += 1) await answerNext();
  for (const answer of answers) expect((await answer).status).toBe(200);
});
