import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Called, Json, Tenant, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { nanosOf } from "../support/scene.ts";

const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }], max_tokens: 10 };
const ENV = { GATEWAY_RPM_LIVE: "100000", GATEWAY_RPM_IP: "0" };

describe.skipIf(!hasPostgres || !hasRedis)("one gateway of several instances", () => {
  let fleet: TestFleet;
  let a: TestGateway;
  let b: TestGateway;

  beforeAll(async () => {
    fleet = await startFleet();
    a = await fleet.add(ENV);
    b = await fleet.add(ENV);
  }, 60_000);
  afterAll(() => fleet?.close());

  const chat = (gateway: TestGateway, { key }: Tenant) => gateway.call(key, "/v1/chat/completions", { body: CHAT });
  /** Of served requests; each is read on another instance than the one that served it. */
  const costOf = async (called: readonly Called[], key: string, from: TestGateway) => {
    const costs = await Promise.all(
      called.map(async ({ body }) => nanosOf((await from.call(key, `/v1/requests/${body.id}`)).body.cost)),
    );
    return costs.reduce((sum, cost) => sum + cost, 0n);
  };
  const wallet = async (gateway: TestGateway, { slug }: Tenant) => {
    const { balance, held } = await gateway.manage("GET", `/workspaces/${slug}/wallet`);
    return { balance: nanosOf(balance), held: nanosOf(held) };
  };
  const charged = async (gateway: TestGateway, { slug }: Tenant) => {
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/wallet/entries?kind=charge&limit=1000`);
    return data.reduce((sum: bigint, { amount }: Json) => sum - nanosOf(amount), 0n);
  };
  /** Credits equal charges plus balance: in the ledger, and live on every instance. */
  const expectExact = async (tenant: Tenant, creditNanos: bigint, costNanos: bigint) => {
    const expected = { balance: creditNanos - costNanos, held: 0n };
    expect([await charged(a, tenant), await charged(b, tenant)]).toEqual([costNanos, costNanos]);
    expect([await wallet(a, tenant), await wallet(b, tenant)]).toEqual([expected, expected]);
  };

  test("SCALE-01 all instances spend one wallet, never below zero and exactly", async () => {
    const tenant = await a.tenant({ credit: "1" });
    const cost = await costOf([await chat(a, tenant)], tenant.key, b);
    const poor = await b.tenant({ credit: "0" });
    // Enough for some of them: a hold is more than its charge.
    const credit = cost * 25n;
    const amount = `0.${credit.toString().padStart(9, "0")}`;
    await b.manage("POST", `/workspaces/${poor.slug}/wallet/credits`, { amount });
    const responses: Called[] = [];
    for (let round = 0; round < 8; round += 1)
      responses.push(...(await Promise.all(Array.from({ length: 6 }, (_, n) => chat(n % 2 === 0 ? a : b, poor)))));
    const served = responses.filter(({ status }) => status === 200);
    expect(responses.filter(({ status }) => status !== 200 && status !== 402)).toEqual([]);
    expect(served.length).toBeGreaterThan(1);
    expect(served.length).toBeLessThan(responses.length);
    await expectExact(poor, credit, await costOf(served, poor.key, a));
  });

  test("SCALE-01 what one stores another reads, and new credit is available", async () => {
    const tenant = await a.tenant({ credit: "5" });
    const made = await a.call(tenant.key, "/v1/responses", { body: { model: "sandbox/chat", input: "Hello!" } });
    const read = await b.call(tenant.key, `/v1/responses/${made.body.id}`);
    expect([read.status, read.body.output]).toEqual([200, made.body.output]);
    const next = { model: "sandbox/chat", input: "And?", previous_response_id: made.body.id };
    expect((await b.call(tenant.key, "/v1/responses", { body: next })).status).toBe(200);
    await b.manage("POST", `/workspaces/${tenant.slug}/wallet/promotions`, {
      amount: "2",
      reference: "welcome",
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const spent = await charged(a, tenant);
    expect(await wallet(a, tenant)).toEqual({ balance: 7_000_000_000n - spent, held: 0n });
  });

  test("SCALE-01 Redis loses all data under traffic: refused briefly, then served, and the money is exact", async () => {
    const tenant = await a.tenant({ credit: "3" });
    const responses: Called[] = [];
    let isOver = false;
    const traffic = [a, b].map(async (gateway) => {
      while (!isOver) {
        responses.push(await chat(gateway, tenant));
        await sleep(5);
      }
    });
    await sleep(300);
    await fleet.redis.ask("FLUSHALL");
    const lostAt = responses.length;
    const isServed = () => responses.slice(lostAt).filter(({ status }) => status === 200).length > 20;
    await vi
      .waitFor(() => expect(isServed()).toBe(true), { timeout: 40_000 })
      .finally(() => {
        isOver = true;
      });
    await Promise.all(traffic);
    const statuses = new Set(responses.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    const refused = responses.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ headers }) => headers.get("retry-after") !== null)).toBe(true);
    const served = responses.filter(({ status }) => status === 200);
    await expectExact(tenant, 3_000_000_000n, await costOf(served, tenant.key, b));
  });

  test.each([
    ["a stream", true],
    ["a whole answer", false],
  ])("CHAT-09 BILL-02 a client that disconnects during a Redis call, before %s, is not charged", async (_, stream) => {
    const tenant = await a.tenant({ credit: "1" });
    const left = async () => {
      const text = await (await fetch(`${a.url}/metrics`)).text();
      return Number(/_http_requests_total\{route="createChatCompletion",status="499"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    const before = await left();
    fleet.redis.pause();
    try {
      const body = JSON.stringify({ ...CHAT, stream });
      const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${tenant.key}\r\n`;
      const socket = connect(Number(new URL(a.url).port), "127.0.0.1");
      await once(socket, "connect");
      socket.end(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      await expect.poll(left).toBe(before + 1);
    } finally {
      fleet.redis.resume();
    }
    const rows = async () => (await a.manage("GET", `/workspaces/${tenant.slug}/requests`)).data;
    await expect.poll(rows, { timeout: 10_000 }).toMatchObject([{ status: 499, cost: "0.00" }]);
    await expectExact(tenant, 1_000_000_000n, 0n);
  });

  test("SCALE-02 one instance leads, and another one after its exit", async () => {
    const tenant = await a.tenant({ credit: "1" });
    const c = await fleet.add(ENV);
    expect((await chat(c, tenant)).status).toBe(200);
    const leaders = async (...gateways: TestGateway[]) => {
      const checks = await Promise.all(gateways.map((gateway) => gateway.manage("GET", "/doctor")));
      const details = checks.map(({ checks: all }) => all.find(({ name }: Json) => name === "instances").detail);
      return gateways.filter((_, index) => details[index].includes(", the leader"));
    };
    await expect.poll(() => leaders(a, b, c), { timeout: 40_000 }).toHaveLength(1);
    const [leader] = await leaders(a, b, c);
    await leader?.close();
    const left = [a, b, c].filter((gateway) => gateway !== leader);
    await expect.poll(() => leaders(...left), { timeout: 40_000 }).toHaveLength(1);
  });
});
