import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { Browser, PASSWORD, tokenOf } from "../support/people.ts";
import { nanosOf } from "../support/scene.ts";
import { totpOf } from "../support/totp.ts";
import { chatJson } from "../support/upstream.ts";
import { chat, send, waitForLog, workersForFile } from "./scene.ts";

const WORKERS = 3;

const { upstream, cluster } = workersForFile(WORKERS);

const countOf = (sent: readonly { status: number }[], status: number) =>
  sent.filter((one) => one.status === status).length;

test("SCALE-04 RATE-01 all workers together admit exactly a key's limit per minute", async () => {
  upstream().always({ json: chatJson() });
  const { key } = await cluster().tenant("counted", "10", { rpm: 40 });
  const sent = await Promise.all(Array.from({ length: 90 }, () => chat(cluster().origin, key)));
  expect([countOf(sent, 200), countOf(sent, 429)]).toEqual([40, 50]);
  // All workers served some of them.
  const journals = path.join(cluster().gateway.dataDir, "workers");
  const sizes = readdirSync(journals).map((slot) =>
    readdirSync(path.join(journals, slot, "journal")).reduce(
      (sum, file) => sum + statSync(path.join(journals, slot, "journal", file)).size,
      0,
    ),
  );
  expect(sizes.filter((bytes) => bytes > 0)).toHaveLength(WORKERS);
});

test("SCALE-04 BILL-03 all workers together spend a wallet to its end and never below zero", async () => {
  upstream().always({ json: chatJson() });
  const credit = "0.0002";
  const { key } = await cluster().tenant("spent", credit);
  let paid = 0n;
  let refused = 0;
  // Until too little is left for another hold.
  for (let round = 0; round < 60 && refused < 30; round += 1) {
    const sent = await Promise.all(Array.from({ length: 15 }, () => chat(cluster().origin, key)));
    for (const { status, text } of sent) {
      if (status === 200) paid += BigInt(Math.round(JSON.parse(text).usage.cost * 1e9));
      else refused += status === 402 ? 1 : Number.NaN;
    }
  }
  expect(refused).toBeGreaterThan(0);
  expect(paid).toBeGreaterThan(0n);
  await eventually(
    async () => {
      const wallet = await cluster().manage("GET", "/workspaces/spent/wallet");
      expect([nanosOf(wallet.balance), wallet.held]).toEqual([nanosOf(credit) - paid, "0.00"]);
      const entries: Json = await cluster().manage("GET", "/workspaces/spent/wallet/entries?limit=1000");
      const charges: Json[] = entries.data.filter(({ kind }: Json) => kind === "charge");
      expect(charges.reduce((sum, { amount }) => sum - nanosOf(amount), 0n)).toBe(paid);
    },
    { timeout: 10_000, interval: 50 },
  );
  expect(paid).toBeLessThanOrEqual(nanosOf(credit));
});

test("SCALE-04 KEY-04 every worker refuses a revoked key at its next call and accepts a new one", async () => {
  upstream().always({ json: chatJson() });
  const { key, id } = await cluster().tenant("changed", "10");
  const before = await Promise.all(Array.from({ length: 9 }, () => chat(cluster().origin, key)));
  expect(countOf(before, 200)).toBe(9);
  await cluster().manage("POST", `/keys/${id}/revoke`);
  const after = await Promise.all(Array.from({ length: 9 }, () => chat(cluster().origin, key)));
  expect(countOf(after, 401)).toBe(9);
});

test("SCALE-04 PORTAL-11 a one-time code signs in once, whichever worker gets it", async () => {
  await cluster().manage("POST", "/workspaces", { slug: "coded" });
  const email = "coded@example.eu";
  const { link } = await cluster().manage("POST", "/workspaces/coded/invitations", { email });
  const joined = new Browser(cluster().origin);
  const account = { name: "Coded", password: PASSWORD };
  expect((await joined.post(`/manage/invitations/${tokenOf(link)}/accept`, account)).status).toBe(200);
  const { totpURI } = (await joined.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
  // The codes of this and the next half minute: both stay valid until the one after, however slow the machine is.
  const on = await joined.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
  expect(on.status).toBe(200);
  const code = totpOf(totpURI, 1);
  const half: Browser[] = [];
  for (let round = 0; round < 4 * WORKERS; round += 1) {
    const browser = new Browser(cluster().origin);
    await browser.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
    half.push(browser);
  }
  const responses = await Promise.all(
    half.map((browser) => browser.post("/manage/auth/two-factor/verify-totp", { code })),
  );
  expect(countOf(responses, 200)).toBe(1);
  const standing = await Promise.all(half.map((browser) => browser.get("/manage/me")));
  expect(standing.filter(({ body }) => body.person !== null)).toHaveLength(1);
});

test("SCALE-04 PORTAL-10 every worker knows a newly connected provider at its next call, and forgets a removed one", async () => {
  const { key } = await cluster().tenant("connected", "10");
  const served = async () => {
    const lists = Array.from({ length: 9 }, () =>
      send(cluster().origin, "/v1/models?provider=mistral", key, { method: "GET" }),
    );
    return new Set((await Promise.all(lists)).map(({ text }) => JSON.parse(text).data.length > 0));
  };
  expect(await served()).toEqual(new Set([false]));
  await cluster().manage("PUT", "/providers/mistral", { key: "a-key-that-nobody-asks", skip_test: true });
  expect(await served()).toEqual(new Set([true]));
  await cluster().manage("DELETE", "/providers/mistral");
  expect(await served()).toEqual(new Set([false]));
});

test("SCALE-04 NODE-02 a node at its capacity is busy at every worker, and its circuit stays closed", async () => {
  const { key } = await cluster().tenant("racked", "10");
  const local = await localForTest({ held: true });
  const { token } = await createNode(cluster(), "racked", "rack");
  agentForTest(cluster().origin, token, local.url, { capacity: 1 });
  // Every worker knows the node.
  for (let worker = 0; worker < 3 * WORKERS; worker += 1)
    await waitForNodeState(cluster(), "racked", "rack", "connected");
  const body = { model: "node/rack/tiny", messages: [{ role: "user", content: "hi" }] };
  const ask = () => send(cluster().origin, "/v1/chat/completions", key, { body });
  const first = ask();
  await eventually(() => expect(local.received).toHaveLength(1));
  // At each worker more often than would open its circuit.
  for (let round = 0; round < 8; round += 1) {
    const busy = await Promise.all(Array.from({ length: WORKERS }, ask));
    for (const { status, text, headers } of busy)
      expect([status, JSON.parse(text).error.code, headers["retry-after"]]).toEqual([429, "rate_limit_exceeded", "1"]);
  }
  for (let worker = 0; worker < 3 * WORKERS; worker += 1)
    expect(await waitForNodeState(cluster(), "racked", "rack", "connected")).toMatchObject({
      last_error: null,
      set_aside: null,
    });
  local.release();
  expect((await first).status).toBe(200);
});

test("SCALE-04 metrics cover all workers, whichever one replies", async () => {
  const metrics = async () => (await send(cluster().origin, "/metrics", "", { method: "GET" })).text;
  const count = (text: string) =>
    Number(/^gateway_http_requests_total\{route="createChatCompletion",status="200"\} (\d+)$/m.exec(text)?.[1]);
  const before = count(await metrics());
  const { key } = await cluster().tenant("measured", "10");
  for (let call = 0; call < WORKERS; call += 1) await chat(cluster().origin, key);
  for (let worker = 0; worker < WORKERS; worker += 1) expect(count(await metrics())).toBe(before + WORKERS);
});

test("SCALE-04 a killed worker is replaced; no money is lost or created, and the others keep serving", async () => {
  upstream().always({ json: chatJson() });
  const credit = "10.00";
  const { key } = await cluster().tenant("killed", credit);
  const before = cluster().workers();
  let over = false;
  let broken = 0;
  let refused = 0;
  const answered = new Set<string>();
  const callers = Array.from({ length: 8 }, async () => {
    while (!over) {
      const sent = await chat(cluster().origin, key).catch(() => undefined);
      if (sent === undefined) broken += 1;
      else if (sent.status === 200) answered.add(JSON.parse(sent.text).id);
      else refused += 1;
    }
  });
  await cluster().manage("POST", "/workspaces", { slug: "topped" });
  // The killed worker may be in the middle of a settlement: the live balance must match the ledger in the end.
  const topUp = () => cluster().manage("POST", "/workspaces/topped/wallet/credits", { amount: "0.01" });
  callers.push(
    (async () => {
      while (!over) await topUp().catch(() => undefined);
    })(),
  );
  await eventually(() => expect(answered.size).toBeGreaterThan(40), { timeout: 20_000 });
  process.kill(before[0] ?? 0, "SIGKILL");
  await waitForLog(cluster().gateway, "workers: exited unexpectedly");
  await eventually(() => expect(cluster().workers()).toHaveLength(WORKERS), { timeout: 20_000, interval: 25 });
  const soFar = answered.size;
  await eventually(() => expect(answered.size).toBeGreaterThan(soFar + 40), { timeout: 20_000 });
  over = true;
  await Promise.all(callers);
  // Only requests of the killed worker failed.
  expect(broken).toBeLessThanOrEqual(8);
  expect(refused).toBe(0);
  expect(cluster().workers()).not.toContain(before[0]);

  await eventually(
    async () => {
      const wallet = await cluster().manage("GET", "/workspaces/killed/wallet");
      expect(wallet.held).toBe("0.00");
      const rows: Json[] = (await cluster().manage("GET", "/workspaces/killed/requests?limit=1000")).data;
      const charges: Json[] = (
        await cluster().manage("GET", "/workspaces/killed/wallet/entries?limit=1000")
      ).data.filter(({ kind }: Json) => kind === "charge");
      const ids = new Set(rows.map(({ id }) => id));
      expect([...answered].filter((id) => !ids.has(id))).toEqual([]);
      const charged = new Set(charges.map(({ id }) => id.replace("charge:", "")));
      expect([...answered].filter((id) => !charged.has(id))).toEqual([]);
      const sum = charges.reduce((all, { amount }) => all - nanosOf(amount), 0n);
      expect(nanosOf(wallet.balance)).toBe(nanosOf(credit) - sum);
    },
    { timeout: 10_000, interval: 50 },
  );
  expect(await cluster().manage("GET", "/doctor")).toMatchObject({ ok: true });
}, 60_000);
