import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBooks } from "../support/books.ts";
import { type Called, type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { decimal, holdNanos } from "../support/limits.ts";
import { PAYMENT_ENV, sendPayment } from "../support/payments.ts";
import { costNanos, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const COST = costNanos("deepinfra", { input: 11, output: 7 });
const REQUEST = { max_tokens: 500 };

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra"], PAYMENT_ENV);
}, 60_000);
afterAll(() => scene.close());

const send = (where: string, body: object): Promise<Called> =>
  scene.gateway.call("", `/manage/workspaces/${where}`, {
    body,
    headers: { authorization: `Bearer ${scene.gateway.adminToken}` },
  });
const balanceOf = async (tenant: Tenant) => (await scene.wallet(tenant)).balance;

async function expectBooksInOrder(): Promise<void> {
  const { ok, checks } = await scene.gateway.manage("GET", "/doctor");
  expect([ok, checks.filter((check: Json) => !check.ok)]).toEqual([true, []]);
}

describe("refunds", () => {
  test("BILL-02 refunds of a request sum to at most its charge, and each reference is booked once", async () => {
    const tenant = await scene.gateway.tenant({ credit: "1.00" });
    const { body } = await scene.chat(tenant.key, REQUEST);
    const refund = (reference: string, amount?: bigint, request = body.id) =>
      send(`${tenant.slug}/wallet/refunds`, {
        ...{ request, reference, reason: "it was cut off" },
        ...(amount === undefined ? {} : { amount: decimal(amount) }),
      });
    expect((await refund("a", COST + 1n)).status).toBe(409);
    const half = await refund("b", COST / 2n);
    expect([half.status, half.body.kind, nanosOf(half.body.amount)]).toEqual([201, "refund", COST / 2n]);
    const again = await refund("b", COST / 2n);
    expect([again.status, again.body.repeated, again.body.id]).toEqual([201, true, half.body.id]);
    expect((await refund("b", COST / 2n - 1n)).status).toBe(409);
    expect((await refund("c", COST - COST / 2n + 1n)).body.error.param).toBe("amount");
    const many = await Promise.all(Array.from({ length: 6 }, (_, at) => refund(`rest-${at}`)));
    expect(many.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    expect(nanosOf(await balanceOf(tenant))).toBe(1_000_000_000n);
    expect((await refund("d", 1n)).status).toBe(409);
    const other = await scene.gateway.tenant({ credit: "1.00" });
    const foreign = { request: body.id, reference: "x", reason: "not theirs" };
    expect((await send(`${other.slug}/wallet/refunds`, foreign)).status).toBe(404);
    expect((await refund("e", 1n, "chatcmpl-none")).status).toBe(404);
    const next = await scene.chat(tenant.key, REQUEST);
    expect((await refund("b", COST / 2n, next.body.id)).body.error.param).toBe("reference");
    const audit = await scene.gateway.manage("GET", `/audit?action=wallet.refund&workspace=${tenant.slug}`);
    expect(audit.data).toHaveLength(2);
    expect(audit.data[1].detail).toMatchObject({ reason: "it was cut off", source: `charge:${body.id}` });
    const books = openBooks(scene.gateway.dataDir);
    for (const change of ["delete from ledger_returns", "update ledger_returns set source_id = 'another'"])
      expect(() => books.exec(change)).toThrow("append only");
    books.close();
    await expectBooksInOrder();
  });

  test("BILL-01 a top-up is refunded at most to its unspent rest; promotional credit is never paid out", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const wallet = `${tenant.slug}/wallet`;
    await send(`${wallet}/promotions`, { amount: "5.00", expires_at: "2030-01-01", reference: "welcome" });
    const { body } = await send(`${wallet}/credits`, { amount: "10.00", id: "invoice:1" });
    await send(`${wallet}/credits`, { amount: "3.00", id: "invoice" });
    const back = (reference: string, amount: string, topup = body.id) =>
      send(`${wallet}/refunds`, { topup, amount, reference, reason: "they left" });
    expect((await back("a", "10.01")).status).toBe(409);
    expect((await back("b", "4.00")).body.amount).toBe("-4.00");
    expect((await back("c", "6.01")).status).toBe(409);
    await send(`${wallet}/adjustments`, { direction: "down", amount: "6.00", reference: "s", reason: "as if spent" });
    // The balance is 8: 5 of the 6 spent were promotional, so 8 of the payment are left.
    expect((await back("d", "6.00")).status).toBe(201);
    expect((await back("e", "2.01", `credit:${await idOf(tenant)}:invoice`)).status).toBe(409);
    expect((await back("f", "2.00", `credit:${await idOf(tenant)}:invoice`)).status).toBe(201);
    expect(await balanceOf(tenant)).toBe("0.00");
    expect((await back("g", "1.00", "credit_none")).status).toBe(404);
    const other = await scene.gateway.tenant({ credit: "0" });
    const theirs = await send(`${other.slug}/wallet/credits`, { amount: "1.00" });
    // The new credit was promotional: of the payment one is left.
    const last = await send(`${wallet}/credits`, { amount: "3.00" });
    await send(`${wallet}/adjustments`, { direction: "down", amount: "2.00", reference: "t", reason: "as if spent" });
    await send(`${wallet}/promotions`, { amount: "5.00", expires_at: "2030-01-01", reference: "again" });
    expect((await back("h", "1.00", theirs.body.id)).status).toBe(404);
    expect((await back("i", "1.01", last.body.id)).status).toBe(409);
    expect((await back("j", "1.00", last.body.id)).status).toBe(201);
    expect(await balanceOf(tenant)).toBe("5.00");
    await expectBooksInOrder();
  });

  test("BILL-03 withdraws nothing that running requests hold", async () => {
    const hold = await holdNanos(scene, REQUEST);
    const tenant = await scene.gateway.tenant({ credit: decimal(hold + 5n) });
    const gate = Promise.withResolvers<void>();
    const before = scene.at("deepinfra").requests.length;
    scene.at("deepinfra").next({ json: chatJson(), gate: gate.promise });
    const call = scene.chat(tenant.key, REQUEST);
    await scene.at("deepinfra").arrived(before + 1);
    const down = (reference: string, nanos: bigint) =>
      send(`${tenant.slug}/wallet/adjustments`, {
        ...{ direction: "down", amount: decimal(nanos), reference, reason: "a correction" },
      });
    expect((await down("a", 6n)).status).toBe(409);
    expect((await down("b", 5n)).status).toBe(201);
    expect((await down("b", 5n)).body.repeated).toBe(true);
    expect((await down("c", 1n)).status).toBe(409);
    gate.resolve();
    expect((await call).status).toBe(200);
    expect(nanosOf(await balanceOf(tenant))).toBe(hold - COST);
    await expectBooksInOrder();
  });

  test("BILL-01 a correction and promotional credit need a reason and a future date", async () => {
    const { slug } = await scene.gateway.tenant({ credit: "1.00" });
    const bad: [string, object, string][] = [
      ["adjustments", { direction: "up", amount: "1.00", reference: "a" }, "reason"],
      ["adjustments", { direction: "up", amount: "1.00", reference: "a", reason: " " }, "reason"],
      ["adjustments", { direction: "up", amount: "1.00", reason: "r" }, "reference"],
      ["adjustments", { direction: "sideways", amount: "1.00", reference: "a", reason: "r" }, "direction"],
      ["adjustments", { direction: "up", amount: "-1.00", reference: "a", reason: "r" }, "amount"],
      ["promotions", { amount: "1.00", expires_at: "2020-01-01", reference: "a" }, "expires_at"],
      ["promotions", { amount: "1.00", expires_at: "2026-02-30", reference: "a" }, "expires_at"],
      ["promotions", { amount: "1.00", expires_at: "2126-01-01", reference: "a" }, "expires_at"],
      ["promotions", { amount: "1.00", reference: "a" }, "expires_at"],
      ["refunds", { reference: "a", reason: "r" }, "request"],
      ["refunds", { request: "x", topup: "y", reference: "a", reason: "r" }, "topup"],
    ];
    for (const [where, body, param] of bad) {
      const answer = await send(`${slug}/wallet/${where}`, body);
      expect([where, answer.status, answer.body.error?.param]).toEqual([where, 400, param]);
    }
    const promote = (amount: string, until: string) =>
      send(`${slug}/wallet/promotions`, { amount, expires_at: until, reference: "same" });
    expect((await promote("1.00", "2030-01-01")).status).toBe(201);
    expect((await promote("1.00", "2030-01-01")).body.repeated).toBe(true);
    expect((await promote("2.00", "2030-01-01")).status).toBe(409);
    expect((await promote("1.00", "2031-01-01")).status).toBe(409);
    expect((await scene.gateway.manage("GET", `/workspaces/${slug}/wallet`)).balance).toBe("2.00");
  });
});

async function idOf({ slug }: Tenant): Promise<string> {
  return (await scene.gateway.manage("GET", `/workspaces/${slug}`)).id;
}

describe("promotional credit", () => {
  test("BILL-01 expires at its date, also one that passed while the gateway was down, before the first request", async () => {
    const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-promotion-"));
    const gateway = await startGateway({ dataDir });
    const wallet = async (): Promise<string> => (await gateway.manage("GET", "/workspaces/demo/wallet")).balance;
    const promote = (reference: string, amount: string, expires_at: string) =>
      gateway.manage("POST", "/workspaces/demo/wallet/promotions", { amount, expires_at, reference });
    await promote("soon", "3.00", new Date(Date.now() + 6_000).toISOString());
    await promote("later", "4.00", "2030-01-01");
    expect(await wallet()).toBe("17.00");
    await expect.poll(wallet, { timeout: 20_000 }).toBe("14.00");
    const untilMs = Date.now() + 8_000;
    await promote("down", "5.00", new Date(untilMs).toISOString());
    const { data } = await gateway.manage("GET", "/workspaces/demo/wallet/promotions");
    expect(data.map((one: Json) => [one.amount, one.left, one.expired, one.state])).toEqual([
      ["5.00", "5.00", "0.00", "running"],
      ["4.00", "4.00", "0.00", "running"],
      ["3.00", "0.00", "3.00", "ending"],
    ]);
    const audit = await gateway.manage("GET", "/audit?action=wallet.expire");
    expect(audit.data.map(({ actor, detail }: Json) => [actor, detail.amount])).toContainEqual(["gateway", "3.00"]);
    expect((await gateway.manage("GET", "/doctor")).ok).toBe(true);
    expect(await wallet()).toBe("19.00");
    await gateway.close();
    await new Promise((resolve) => setTimeout(resolve, untilMs - Date.now()));
    const again = await startGateway({ dataDir });
    expect((await again.manage("GET", "/workspaces/demo/wallet")).balance).toBe("14.00");
    expect((await again.manage("GET", "/doctor")).ok).toBe(true);
    await again.close();
    await rm(dataDir, { recursive: true });
  }, 60_000);
});

describe("statements and entries", () => {
  test("BILL-01 a statement's sums are the ledger's, and its charges those of the models", async () => {
    const tenant = await scene.gateway.tenant({ credit: "2.00" });
    const wallet = `/workspaces/${tenant.slug}/wallet`;
    const { body } = await scene.chat(tenant.key, REQUEST);
    await scene.chat(tenant.key, REQUEST);
    await send(`${tenant.slug}/wallet/refunds`, { request: body.id, reference: "r", reason: "gone wrong" });
    const month = new Date().toISOString().slice(0, 7);
    const statement = await scene.gateway.manage("GET", `${wallet}/statement?month=${month}`);
    const { data } = await scene.gateway.manage("GET", `${wallet}/entries?limit=1000`);
    for (const { kind, in: came, out, net, transactions } of statement.kinds) {
      const rows = data.filter((row: Json) => row.kind === kind);
      expect(rows).toHaveLength(transactions);
      const sum = rows.reduce((all: bigint, row: Json) => all + nanosOf(row.amount), 0n);
      expect([kind, nanosOf(net), nanosOf(came) - nanosOf(out)]).toEqual([kind, sum, sum]);
    }
    expect(statement.kinds.map((row: Json) => row.kind)).toEqual(["charge", "refund", "topup"]);
    expect(statement.models.map((row: Json) => [row.requests, nanosOf(row.cost)])).toEqual([[2, 2n * COST]]);
    expect([statement.opening_balance, statement.closing_balance]).toEqual(["0.00", await balanceOf(tenant)]);
    for (const none of ["0000-01", "0042-12", "9999-12", "2026-13"]) {
      const { gateway } = scene;
      const refused = await gateway.call(gateway.adminToken, `/manage${wallet}/statement?month=${none}`);
      expect([refused.status, refused.body.error?.param]).toEqual([400, "month"]);
    }
    const next = await scene.gateway.manage("GET", `${wallet}/statement?month=2099-01`);
    expect([next.opening_balance, next.closing_balance]).toEqual([await balanceOf(tenant), await balanceOf(tenant)]);
    expect(next.kinds).toEqual([]);
    const { json } = await scene.gateway.cli("wallet", "statement", tenant.slug, "--month", month, "--json");
    expect(json).toEqual(statement);
  });

  test("BILL-01 entries are filtered by kind and time, paginated, and exported in full", async () => {
    const tenant = await scene.gateway.tenant({ credit: "2.00" });
    for (let at = 0; at < 3; at += 1) await scene.chat(tenant.key, REQUEST);
    const note = '=cmd|"x", "quoted"';
    await send(`${tenant.slug}/wallet/credits`, { amount: "1.50", note });
    const list = async (query: string): Promise<Json> =>
      scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?${query}`);
    const first = await list("kind=charge&limit=2");
    const second = await list(`kind=charge&limit=2&cursor=${first.next}`);
    expect([first.data.length, second.data.length, second.next]).toEqual([2, 1, null]);
    expect((await list("kind=topup,charge")).data).toHaveLength(5);
    expect((await list("kind=topup&since=2099-01-01")).data).toEqual([]);
    expect((await list("until=2020-01-01")).data).toEqual([]);
    await expect(list("kind=gift")).rejects.toThrow();
    const { stdout } = await scene.gateway.cli("wallet", "export", tenant.slug, "--kind", "topup,charge");
    const lines = stdout.trimEnd().split("\r\n");
    expect(lines[0]).toBe("id,kind,created_at,in,out,currency,note");
    expect(lines).toHaveLength(6);
    expect(lines[1]).toMatch(/^credit_\w+,topup,[^,]+,1\.50,,EUR,"'=cmd\|""x"", ""quoted"""$/);
    expect(lines[2]).toContain(`,charge,`);
    expect(lines[2]?.split(",").slice(3, 6)).toEqual(["", decimal(COST).replace(/0+$/, ""), "EUR"]);
    const { text } = await scene.gateway.call(
      scene.gateway.adminToken,
      `/manage/workspaces/${tenant.slug}/wallet/entries/export?kind=topup`,
    );
    expect(
      text
        .trimEnd()
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(",")[1]),
    ).toEqual(["topup", "topup"]);
    const jsonl = await scene.gateway.cli("wallet", "export", tenant.slug, "--format", "jsonl");
    const rows = jsonl.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const { data } = await list("limit=1000");
    expect(rows).toEqual(data.map(({ balance_after: _, ...row }: Json) => row));
    expect(data[0].balance_after).toBe(await balanceOf(tenant));
    // A charge names its request; filtered entries have no running balance.
    expect(first.data[0]).toMatchObject({ id: `charge:${first.data[0].request}`, balance_after: null });
  });
});

describe("revocation", () => {
  test("BILL-02 revoking a key or removing a member during requests charges each once and creates no money", async () => {
    const hold = await holdNanos(scene, REQUEST);
    const tenant = await scene.gateway.tenant({ credit: decimal(3n * hold) });
    await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/members`, { email: "ada@example.eu" });
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/key-policy`, { personal_keys: true });
    const own = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, {
      ...{ name: "hers", member: "ada@example.eu" },
    });
    const gate = Promise.withResolvers<void>();
    const before = scene.at("deepinfra").requests.length;
    for (let at = 0; at < 2; at += 1) scene.at("deepinfra").next({ json: chatJson(), gate: gate.promise });
    const calls = [scene.chat(tenant.key, REQUEST), scene.chat(own.key, REQUEST)];
    await scene.at("deepinfra").arrived(before + 2);
    await scene.gateway.manage("POST", `/keys/${tenant.keyId}/revoke`);
    await scene.gateway.manage("DELETE", `/workspaces/${tenant.slug}/members/ada@example.eu`);
    const held = await scene.wallet(tenant);
    expect([nanosOf(held.balance), nanosOf(held.held)]).toEqual([3n * hold, 2n * hold]);
    gate.resolve();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await scene.chat(tenant.key, REQUEST)).status).toBe(401);
    expect((await scene.chat(own.key, REQUEST)).status).toBe(401);
    const after = await scene.wallet(tenant);
    expect([nanosOf(after.balance), after.held]).toEqual([3n * hold - 2n * COST, "0.00"]);
    expect((await scene.charges(tenant)).map(({ nanos }) => nanos)).toEqual([COST, COST]);
    await expectBooksInOrder();
  });

  test("BILL-03 revoking keys of a wallet in debt frees nothing: a new key gets 402 as well", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const wallet = `/workspaces/${tenant.slug}/wallet`;
    const order = await scene.gateway.manage("POST", `${wallet}/orders`, {
      ...{ amount: "1.00", currency: "EUR", reference: "o", adapter: "webhook" },
    });
    const payment = { order: order.id, payment: "pay_debt", amount: "1.00", currency: "EUR" };
    await sendPayment(scene.gateway, { ...payment, id: "evt_debt_1", type: "payment.succeeded" });
    await scene.chat(tenant.key, REQUEST);
    await sendPayment(scene.gateway, { ...payment, id: "evt_debt_2", type: "payment.disputed" });
    expect(nanosOf(await balanceOf(tenant))).toBe(-COST);
    await scene.gateway.manage("POST", `/keys/${tenant.keyId}/revoke`);
    const fresh = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "new" });
    expect((await scene.chat(fresh.key, REQUEST)).status).toBe(402);
    expect(nanosOf(await balanceOf(tenant))).toBe(-COST);
    await expectBooksInOrder();
  });
});
