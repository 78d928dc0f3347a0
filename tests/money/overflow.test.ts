import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { type Cluster, hasPostgres, startCluster } from "../support/postgres.ts";

let cluster: Cluster | undefined;
beforeAll(async () => {
  cluster = hasPostgres ? await startCluster() : undefined;
}, 60_000);
afterAll(() => cluster?.close());

const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};

describe.each(["SQLite", ...(hasPostgres ? ["PostgreSQL"] : [])])("an amount overflow, on %s", (engine) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const database = engine === "SQLite" ? undefined : await cluster?.database("empty");
    const env = database === undefined ? {} : { ...SECRETS, DATABASE_URL: database.url };
    gateway = await startGateway({ env: { ...env, GATEWAY_RPM_IP: "0" } });
  }, 60_000);
  afterAll(() => gateway.close());

  test("BILL-01 refuses a credit beyond a wallet's range by name and posts nothing, in SQL and memory", async () => {
    const { slug } = await gateway.tenant({ credit: "0" });
    const credit = (id: string) =>
      gateway.call(gateway.adminToken, `/manage/workspaces/${slug}/wallet/credits`, {
        body: { amount: "1000000000", id },
      });
    const statuses = [];
    for (let n = 0; n < 12; n += 1) statuses.push((await credit(`c${n}`)).status);
    const booked = statuses.filter((status) => status === 201).length;
    expect(booked).toBeGreaterThan(3);
    expect(booked).toBeLessThan(10);
    expect(statuses.slice(booked).every((status) => status === 409)).toBe(true);
    expect((await credit("c99")).body.error).toMatchObject({ code: "conflict", param: "amount" });
    // A repeated posting is confirmed, whatever fits now.
    expect(await credit("c0")).toMatchObject({ status: 201, body: { repeated: true } });
    const { balance } = await gateway.manage("GET", `/workspaces/${slug}/wallet`);
    expect(balance).toBe(`${booked}000000000.00`);
    expect(await gateway.manage("GET", "/doctor")).toMatchObject({ ok: true });
  });
});
