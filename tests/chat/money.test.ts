import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { costNanos, nanosOf, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "nebius"];

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const setPolicy = (of: Tenant, policy: object) =>
  scene.gateway.manage("PATCH", `/workspaces/${of.slug}/policy`, policy);
/** All providers but one are blocked. */
const only = (of: Tenant, provider: Provider) =>
  setPolicy(of, { blocked_providers: ALL.filter((other) => other !== provider) });
const decimal = (nanos: bigint) => `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, "0")}`;

/** Replies that wait until the test releases them. */
function gated(script: Script = { json: chatJson() }) {
  const gate = Promise.withResolvers<void>();
  return { script: { ...script, gate: gate.promise }, open: () => gate.resolve() };
}

describe("holds", () => {
  test("BILL-03 during a request the wallet shows its hold, the most expensive planned attempt, until it ends", async () => {
    const { script, open } = gated();
    const count = scene.at("deepinfra").requests.length;
    scene.at("deepinfra").next(script);
    const running = scene.chat(tenant.key, { max_tokens: 1000 });
    await scene.at("deepinfra").arrived(count + 1);
    const during = await scene.wallet(tenant);
    expect(nanosOf(during.balance)).toBe(10_000_000_000n);
    // The cheapest is tried first; the hold covers the most expensive as well.
    const dearest = costNanos("scaleway", { input: 0, output: 1000 });
    expect(nanosOf(during.held)).toBeGreaterThan(dearest);
    expect(nanosOf(during.held)).toBeLessThan(dearest + costNanos("scaleway", { input: 200, output: 0 }));
    open();
    const { body } = await running;
    const after = await scene.wallet(tenant);
    expect(after.held).toBe("0.00");
    expect(nanosOf(after.balance)).toBe(10_000_000_000n - costNanos("deepinfra", { input: 11, output: 7 }));
    expect(body.usage.cost).toBe(Number(costNanos("deepinfra", { input: 11, output: 7 })) / 1e9);
  });

  test("BILL-03 without a limit the configured default is reserved, and a longer prompt reserves more", async () => {
    const held: bigint[] = [];
    for (const content of ["short", "word ".repeat(4000), "слово".repeat(1200)]) {
      const { script, open } = gated();
      const count = scene.at("deepinfra").requests.length;
      scene.at("deepinfra").next(script);
      const running = scene.chat(tenant.key, { messages: [{ role: "user", content }] });
      await scene.at("deepinfra").arrived(count + 1);
      held.push(nanosOf((await scene.wallet(tenant)).held));
      open();
      expect((await running).status).toBe(200);
    }
    const setting = costNanos("scaleway", { input: 0, output: 4096 });
    // Four characters per token plus a margin of thirty percent.
    expect(held[0]).toBeGreaterThan(setting + costNanos("scaleway", { input: 64, output: 0 }));
    expect(held[1]).toBeGreaterThan(setting + costNanos("scaleway", { input: 6500, output: 0 }));
    // Some tokenizers take two tokens for three letters of other scripts.
    expect(held[2]).toBeGreaterThan(setting + costNanos("scaleway", { input: 5000, output: 0 }));
  });

  test("BILL-03 ERR-05 a wallet below the hold: 402 with amounts, not retryable, and no provider is called", async () => {
    const poor = await scene.gateway.tenant({ credit: "0.000001" });
    const before = ALL.map((provider) => scene.at(provider).requests.length);
    for (const stream of [false, true]) {
      const { status, body, headers } = await scene.chat(poor.key, { stream });
      expect([status, body.error.type, body.error.code]).toEqual([402, "billing_error", "insufficient_credits"]);
      expect(headers.get("x-should-retry")).toBe("false");
      expect(body.error.message).toContain("0.000001 EUR available");
      expect(nanosOf(/hold of ([\d.]+) EUR/.exec(body.error.message)?.[1] ?? "0")).toBeGreaterThan(1000n);
    }
    expect(ALL.map((provider) => scene.at(provider).requests.length)).toEqual(before);
    expect(await scene.wallet(poor)).toEqual({ balance: "0.000001", held: "0.00", currency: "EUR" });
    expect((await scene.rows(poor)).map((row) => [row.status, row.error_code])).toEqual([
      [402, "insufficient_credits"],
      [402, "insufficient_credits"],
    ]);
  });

  test("BILL-03 forty requests on a balance for ten holds: ten are served, the others get 402, no overdraft", async () => {
    const refused = await scene.chat((await scene.gateway.tenant({ credit: "0" })).key, { max_tokens: 500 });
    const hold = nanosOf(/hold of ([\d.]+)/.exec(refused.body.error.message)?.[1] ?? "0");
    expect(hold).toBeGreaterThan(0n);
    const many = await scene.gateway.tenant({ credit: decimal(10n * hold + hold / 2n) });
    const { script, open } = gated();
    const count = scene.at("deepinfra").requests.length;
    for (let at = 0; at < 10; at += 1) scene.at("deepinfra").next(script);
    let done = 0;
    const calls = Array.from({ length: 40 }, async () => {
      const { status } = await scene.chat(many.key, { max_tokens: 500 });
      done += 1;
      return status;
    });
    await eventually(() => expect(done).toBe(30));
    await scene.at("deepinfra").arrived(count + 10);
    const during = await scene.wallet(many);
    expect(nanosOf(during.held)).toBe(10n * hold);
    open();
    const statuses = await Promise.all(calls);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(30);
    expect(scene.at("deepinfra").requests.length).toBe(count + 10);
    const used = 10n * costNanos("deepinfra", { input: 11, output: 7 });
    const after = await scene.wallet(many);
    expect(after.held).toBe("0.00");
    expect(nanosOf(after.balance)).toBe(10n * hold + hold / 2n - used);
  });

  test("BILL-03 usage above the hold is charged, and the next request gets 402", async () => {
    const small = await scene.gateway.tenant({ credit: "0.001" });
    scene
      .at("deepinfra")
      .next({ json: chatJson({ usage: { prompt_tokens: 9, completion_tokens: 20_000, total_tokens: 20_009 } }) });
    expect((await scene.chat(small.key, { max_tokens: 5 })).status).toBe(200);
    const { balance } = await scene.wallet(small);
    expect(nanosOf(balance)).toBe(1_000_000n - costNanos("deepinfra", { input: 9, output: 20_000 }));
    expect(nanosOf(balance)).toBeLessThan(0n);
    expect((await scene.chat(small.key, { max_tokens: 5 })).status).toBe(402);
  });
});

describe("charges", () => {
  test("BILL-02 with mixed outcomes every success is billed once, every failure is free, and the ledger balances", async () => {
    const outcomes: Script[] = [
      { json: chatJson() },
      { status: 400, json: {} },
      { status: 503, json: {} },
      { body: "<html>" },
      { status: 422, json: {} },
      { end: { is: "cut", after: "before_headers" } },
    ];
    for (let at = 0; at < 60; at += 1) scene.at("deepinfra").next(outcomes[at % outcomes.length] ?? {});
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => scene.chat(tenant.key, {}).then(({ status, body }) => ({ status, body }))),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBe(40);
    const rows = await scene.rows(tenant);
    expect(rows).toHaveLength(60);
    const charges = await scene.charges(tenant);
    expect(charges.map(({ id }) => id).sort()).toEqual(good.map(({ body }) => `charge:${body.id}`).sort());
    let sum = 0n;
    for (const { id, nanos } of charges) {
      const row = rows.find((one) => `charge:${one.id}` === id);
      expect(nanosOf(row.cost)).toBe(nanos);
      expect(nanos).toBe(costNanos(row.provider, { input: 11, output: 7 }));
      sum += nanos;
    }
    expect(rows.filter((row) => row.status !== 200).every((row) => row.cost === "0.00")).toBe(true);
    const wallet = await scene.wallet(tenant);
    expect([nanosOf(wallet.balance), wallet.held]).toEqual([10_000_000_000n - sum, "0.00"]);
    const doctor = await scene.gateway.manage("GET", "/doctor");
    expect(doctor.ok).toBe(true);
  });

  test("BILL-02 personal keys and test keys pay the same price from the same wallet", async () => {
    const { slug } = tenant;
    await scene.gateway.manage("POST", `/workspaces/${slug}/members`, { email: "ada@example.eu", role: "member" });
    await scene.gateway.manage("PATCH", `/workspaces/${slug}/key-policy`, { personal_keys: true });
    for (const key of [
      { name: "t", environment: "test" },
      { name: "p", environment: "live", member: "ada@example.eu" },
    ]) {
      const made = await scene.gateway.manage("POST", `/workspaces/${slug}/keys`, key);
      expect((await scene.chat(made.key, {})).status).toBe(200);
    }
    const nanos = costNanos("deepinfra", { input: 11, output: 7 });
    expect((await scene.charges(tenant)).map((charge) => charge.nanos)).toEqual([nanos, nanos]);
    expect((await scene.rows(tenant)).map((row) => [row.environment, row.member])).toEqual([
      ["live", "ada@example.eu"],
      ["test", null],
    ]);
  });

  test.each([
    [
      "cached-read and cache-write prices where the endpoint has them",
      "nebius",
      { input: 10_000, cached: 6000, written: 3000, output: 200 },
    ],
    [
      "the plain price for cached tokens where it has none",
      "ovhcloud",
      { input: 10_000, cached: 6000, written: 0, output: 200 },
    ],
  ] as const)("BILL-05 %s", async (_, provider, used) => {
    await only(tenant, provider);
    scene.at(provider).next({
      json: chatJson({
        usage: {
          prompt_tokens: used.input,
          completion_tokens: used.output,
          total_tokens: used.input + used.output,
          prompt_tokens_details: { cached_tokens: used.cached, cache_write_tokens: used.written },
        },
      }),
    });
    const { body } = await scene.chat(tenant.key, {});
    const nanos = costNanos(provider, used);
    expect(await scene.charges(tenant)).toEqual([{ id: `charge:${body.id}`, nanos }]);
    const plain = costNanos(provider, { input: used.input, output: used.output });
    if (provider === "nebius") expect(nanos).toBeLessThan(plain);
    else expect(nanos).toBe(plain);
    expect((await scene.row(body.id)).usage).toMatchObject({
      cached_tokens: used.cached,
      cache_write_tokens: used.written,
    });
  });

  test.each([
    ["EUR", "deepinfra", "USD"],
    ["EUR", "scaleway", "EUR"],
    ["USD", "deepinfra", "USD"],
    ["USD", "scaleway", "EUR"],
    ["CHF", "scaleway", "EUR"],
    ["CHF", "deepinfra", "USD"],
  ] as const)(
    "BILL-06 a wallet in %s pays %s, priced in %s, at the recorded rate, written with the entry",
    async (currency, provider, expectedCurrency) => {
      const payer = await scene.gateway.tenant({ currency });
      await only(payer, provider);
      const used = { input: 123_457, output: 7919 };
      scene.at(provider).next({
        json: chatJson({
          usage: { prompt_tokens: used.input, completion_tokens: used.output, total_tokens: used.input + used.output },
        }),
      });
      const { body } = await scene.chat(payer.key, {});
      const nanos = costNanos(provider, used, currency);
      expect(body.usage).toMatchObject({ cost: Number(nanos) / 1e9, currency });
      expect(await scene.charges(payer)).toEqual([{ id: `charge:${body.id}`, nanos }]);
      expect(await scene.row(body.id)).toMatchObject({ currency });
      expect(await scene.wallet(payer)).toMatchObject({ currency });
      const { price, rate } = bookedDetail(scene, body.id);
      expect(price.currency).toBe(expectedCurrency);
      if (expectedCurrency === currency) expect(rate).toBe(null);
      else
        expect(rate).toMatchObject({
          from: expectedCurrency,
          to: currency,
          perEurFrom: expect.any(String),
          perEurTo: expect.any(String),
        });
    },
  );
});

/** What the store has beside a charge; the embedded database is readable while the gateway runs. */
function bookedDetail({ gateway }: Scene, requestId: string): Json {
  const database = new DatabaseSync(path.join(gateway.dataDir, "gateway.sqlite"), { readOnly: true });
  try {
    const row = database.prepare("select detail from ledger_transactions where id = ?").get(`charge:${requestId}`);
    return JSON.parse(String(row?.["detail"]));
  } finally {
    database.close();
  }
}
