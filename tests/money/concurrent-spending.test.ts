import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { awayFromMidnight, booksOf, decimal, holdNanos, limitsOf, setLimits } from "../support/limits.ts";
import { costNanos, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const CLIENTS = 40;
const PAID = 10;
const CREDIT = 5_000_000_000n;
const REQUEST = { max_tokens: 500 };
const COST = costNanos("deepinfra", { input: 11, output: 7 });

let scene: Scene;
let hold: bigint;
beforeAll(async () => {
  await awayFromMidnight();
  scene = await openScene(["deepinfra"], { GATEWAY_RPM_TEST: "1000000" });
  hold = await holdNanos(scene, REQUEST);
}, 60_000);
afterAll(() => scene.close());

/** Replies wait until all admissible requests are admitted, so that they are really concurrent. */
async function rush(keys: readonly string[]): Promise<{ status: number; code: string | undefined }[]> {
  const gate = Promise.withResolvers<void>();
  const before = scene.at("deepinfra").requests.length;
  for (let at = 0; at < PAID; at += 1) scene.at("deepinfra").next({ json: chatJson(), gate: gate.promise });
  let refused = 0;
  const calls = Array.from({ length: CLIENTS }, async (_, at) => {
    const { status, body } = await scene.chat(keys[at % keys.length] ?? "", REQUEST);
    if (status === 402) refused += 1;
    return { status, code: body.error?.code };
  });
  await eventually(() => expect(refused).toBe(CLIENTS - PAID));
  await scene.at("deepinfra").arrived(before + PAID);
  gate.resolve();
  const answers = await Promise.all(calls);
  expect(scene.at("deepinfra").requests.length).toBe(before + PAID);
  return answers;
}

const keyOf = (slug: string, body: Record<string, unknown>): Promise<{ id: string; key: string }> =>
  scene.gateway.manage("POST", `/workspaces/${slug}/keys`, body);

test("BILL-03 forty clients on a wallet for ten: ten are served, thirty get 402, and the ledger adds up", async () => {
  const credit = PAID * Number(hold);
  const tenant = await scene.gateway.tenant({ credit: decimal(BigInt(credit) + hold - 1n) });
  const tested = await keyOf(tenant.slug, { name: "tests", environment: "test" });
  const answers = await rush([tenant.key, tested.key]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(PAID);
  expect(answers.filter(({ code }) => code === "insufficient_credits")).toHaveLength(CLIENTS - PAID);
  const { charged, balance } = await booksOf(scene, tenant);
  expect(charged).toBe(BigInt(PAID) * COST);
  expect(balance).toBe(BigInt(credit) + hold - 1n - charged);
  expect(balance).toBeGreaterThan(0n);
});

test.each(["workspace", "member", "key"] as const)(
  "BILL-04 forty clients on a limit of the %s for ten: ten are served, thirty get 402, and all adds up",
  async (of) => {
    const tenant = await scene.gateway.tenant({ credit: decimal(CREDIT) });
    await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/members`, { email: "ada@example.eu" });
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/key-policy`, { personal_keys: true });
    const own = async (environment: string) =>
      (await keyOf(tenant.slug, { name: environment, environment, member: "ada@example.eu" })).key;
    const keys = {
      workspace: async () => [tenant.key, (await keyOf(tenant.slug, { name: "t", environment: "test" })).key],
      member: async () => [await own("live"), await own("test")],
      key: async () => [tenant.key],
    };
    const named = { workspace: {}, member: { member: "ada@example.eu" }, key: { key: tenant.keyId } };
    const limit = BigInt(PAID) * hold + hold - 1n;
    await setLimits(scene, tenant.slug, { ...named[of], day: decimal(limit), month: "100" });
    const answers = await rush(await keys[of]());
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(PAID);
    expect(answers.filter(({ code }) => code === "spend_limit_reached")).toHaveLength(CLIENTS - PAID);
    const { charged, balance } = await booksOf(scene, tenant);
    expect(charged).toBe(BigInt(PAID) * COST);
    expect(balance).toBe(CREDIT - charged);
    const query = of === "workspace" ? "" : of === "key" ? `?key=${tenant.keyId}` : "?member=ada@example.eu";
    const { day, month } = await limitsOf(scene, tenant.slug, query);
    expect([nanosOf(day.spent), nanosOf(month.spent), nanosOf(day.remaining)]).toEqual([
      charged,
      charged,
      limit - charged,
    ]);
    const doctor = await scene.gateway.manage("GET", "/doctor");
    expect(doctor.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([]);
  },
);

test("BILL-04 concurrent replies, streams and failures never exceed a limit, to a thousandth of a cent", async () => {
  const tenant = await scene.gateway.tenant({ credit: decimal(CREDIT) });
  const limit = 3n * hold;
  await setLimits(scene, tenant.slug, { day: decimal(limit) });
  const indexes = Array.from({ length: 120 }, (_, at) => at);
  for (const at of indexes) if (at % 3 === 0) scene.at("deepinfra").next({ status: 400, json: {} });
  let most = 0n;
  const watch = setInterval(async () => {
    const { day } = await limitsOf(scene, tenant.slug);
    const taken = nanosOf(day.spent) + nanosOf(day.held);
    if (taken > most) most = taken;
  }, 5);
  await Promise.all(indexes.map((at) => scene.chat(tenant.key, { ...REQUEST, stream: at % 2 === 0 })));
  clearInterval(watch);
  expect(most).toBeLessThanOrEqual(limit);
  await booksOf(scene, tenant);
});
