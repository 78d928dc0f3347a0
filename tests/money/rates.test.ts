import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, nanosOf, openScene, type Scene } from "../support/scene.ts";

const USAGE = { prompt_tokens: 100_000, completion_tokens: 50_000, total_tokens: 150_000 };
const ANSWER = {
  id: "up-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: USAGE,
};
const TODAY = new Date().toISOString().slice(0, 10);

/** The cost of one request of a fixed size, and its log row. */
async function send(scene: Scene, tenant: Tenant): Promise<Json> {
  scene.at("deepinfra").next({ json: ANSWER });
  const { status, headers } = await scene.chat(tenant.key, {});
  expect(status).toBe(200);
  return scene.row(String(headers.get("x-svc-request-id")));
}

const rateOf = async (scene: Scene, code: string): Promise<Json> =>
  (await scene.gateway.manage("GET", "/rates")).data.find(({ currency }: Json) => currency === code);

describe("exchange rates of a running gateway", () => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(["deepinfra"]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());
  const post = (body: Json) => scene.gateway.call(scene.gateway.adminToken, "/manage/rates", { body });

  test("BILL-06 the catalogue's rates apply, and are stored with date and source", async () => {
    const usd = await rateOf(scene, "USD");
    expect(usd).toMatchObject({ date: expect.stringMatching(/^\d{4}-/), recorded_at: expect.any(String) });
    const { data } = await scene.gateway.manage("GET", "/rates/history?currency=USD");
    expect(data).toMatchObject([{ currency: "USD", per_eur: usd.per_eur, source: usd.source, date: usd.date }]);
    const books = openBooks(scene.gateway.dataDir);
    for (const change of ["delete from exchange_rates", "update exchange_rates set source = 'another'"])
      expect(() => books.exec(change)).toThrow("append only");
    books.close();
  });

  test("BILL-06 a new rate holds from the next request, and existing charges do not change", async () => {
    const before = await send(scene, tenant);
    const old = await rateOf(scene, "USD");
    const next = (Number(old.per_eur) * 1.2).toFixed(6);
    expect((await post({ rates: { USD: next }, source: "a test" })).body).toEqual({
      date: TODAY,
      source: "a test",
      taken: [{ currency: "USD", per_eur: next }],
      known: [],
      refused: [],
    });
    const after = await send(scene, tenant);
    const exact = (Number(nanosOf(before.cost)) * Number(old.per_eur)) / Number(next);
    expect(Math.abs(Number(nanosOf(after.cost)) - exact)).toBeLessThanOrEqual(1.5);
    expect(await scene.row(before.id)).toEqual(before);
    expect(await rateOf(scene, "USD")).toMatchObject({ per_eur: next, date: TODAY, source: "a test", stale: false });
    const shown = await scene.gateway.call(tenant.key, "/v1/public/currencies?q=USD");
    expect(shown.body.data[0]).toMatchObject({ per_eur: next });
    const { data } = await scene.gateway.manage("GET", "/audit?limit=1");
    expect(data[0]).toMatchObject({ action: "rates.change", detail: { rates: { USD: next }, source: "a test" } });
  });

  test("BILL-06 an implausible rate is refused and reported, others are accepted; it can be confirmed", async () => {
    const { per_eur: was } = await rateOf(scene, "USD");
    const alone = await post({ rates: { USD: "113.6" } });
    expect([alone.status, alone.body.error.param]).toEqual([400, "rates.USD"]);
    expect(alone.body.error.message).toContain("factor of 1.25");
    const chf = (Number((await rateOf(scene, "CHF")).per_eur) * 1.01).toFixed(6);
    const { body } = await post({ rates: { USD: "113.6", CHF: chf } });
    expect(body).toMatchObject({ taken: [{ currency: "CHF" }], refused: [{ currency: "USD" }] });
    expect((await rateOf(scene, "USD")).per_eur).toBe(was);
    await post({ rates: { CHF: (Number(chf) * 2).toFixed(6) }, accept_jumps: true });
    expect((await rateOf(scene, "CHF")).per_eur).toBe((Number(chf) * 2).toFixed(6));
    const { data } = await scene.gateway.manage("GET", "/audit?action=rates.change");
    const vouched = data.filter(({ detail }: Json) => detail.accept_jumps === true);
    expect(vouched.map(({ detail }: Json) => Object.keys(detail.rates))).toEqual([["CHF"]]);
  });

  test("BILL-06 small steps add up to a jump; a confirmed rate is the new base", async () => {
    const { per_eur: was } = await rateOf(scene, "SEK");
    const times = (factor: number) => (Number(was) * factor).toFixed(6);
    expect((await post({ rates: { SEK: times(1.2) } })).status).toBe(200);
    const second = await post({ rates: { SEK: times(1.44) } });
    expect([second.status, second.body.error?.param]).toEqual([400, "rates.SEK"]);
    expect((await post({ rates: { SEK: times(1.1) } })).status).toBe(200);
    expect((await post({ rates: { SEK: times(3) }, accept_jumps: true })).status).toBe(200);
    expect((await post({ rates: { SEK: times(3.1) } })).status).toBe(200);
    expect((await rateOf(scene, "SEK")).per_eur).toBe(times(3.1).replace(/\.?0+$/, ""));
  });

  test.each([
    ["nothing", {}],
    ["both forms", { rates: { USD: "1.1" }, document: "x" }],
    ["is not a decimal", { rates: { USD: "many" } }],
    ["a number", { rates: { USD: 1.1 } }],
    ["is not a currency", { rates: { dollar: "1.1" } }],
    ["the euro", { rates: { EUR: "1.1" } }],
    ["a rate of nothing", { rates: { USD: "0" } }],
    ["a day to come", { rates: { USD: "1.1" }, date: "2999-01-01" }],
    ["a day before", { rates: { USD: "1.1" }, date: "2001-01-01" }],
    ["no file of rates", { document: "<html></html>" }],
    ["an unknown field", { rates: { USD: "1.1" }, force: true }],
  ])("BILL-06 %s is refused with a hint", async (_what, body) => {
    const { status } = await post(body);
    expect(status).toBe(400);
  });

  test("BILL-06 fetches nothing unless the operator configures a URL", async () => {
    const { status, body } = await scene.gateway.call(scene.gateway.adminToken, "/manage/rates/fetch", {
      method: "POST",
    });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("GATEWAY_RATES_URL")]);
  });

  test("BILL-06 the command line lists, sets and imports them", async () => {
    const usd = (Number((await rateOf(scene, "USD")).per_eur) * 1.01).toFixed(5);
    expect((await scene.gateway.cli("rates", "set", `USD=${usd}`)).code).toBe(0);
    expect((await scene.gateway.cli("rates", "list")).stdout).toContain(usd);
    const file = path.join(mkdtempSync(path.join(tmpdir(), "gateway-rates-")), "rates.json");
    const later = (Number(usd) * 1.01).toFixed(5);
    writeFileSync(file, JSON.stringify({ date: TODAY, source: "a file", rates: { USD: later } }));
    const { code, stderr } = await scene.gateway.cli("rates", "import", file);
    expect([code, stderr]).toEqual([0, ""]);
    expect(await rateOf(scene, "USD")).toMatchObject({ per_eur: later, source: "a file" });
    expect((await scene.gateway.cli("rates", "set", "USD:1")).code).toBe(2);
  });
});

describe("fetched rates", () => {
  let server: Server;
  let scene: Scene;
  let answers: { status: number; body: string };
  let asks = 0;
  const ecb = (usd: string) =>
    `<?xml version="1.0"?><gesmes:Envelope xmlns:gesmes="g" xmlns="e"><Cube><Cube time='${TODAY}'><Cube currency='USD' rate='${usd}'/><Cube currency='THB' rate='39.3'/></Cube></Cube></gesmes:Envelope>`;

  beforeAll(async () => {
    answers = { status: 200, body: ecb("1.2001") };
    server = createServer((_request, response) => {
      asks += 1;
      response.writeHead(answers.status, { "content-type": "application/xml" }).end(answers.body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    scene = await openScene(["deepinfra"], {
      GATEWAY_RATES_URL: `http://127.0.0.1:${port}/eurofxref-daily.xml`,
      GATEWAY_RATES_EVERY: "1s",
    });
  });
  afterAll(async () => {
    await scene.close();
    await new Promise((resolve) => server.close(resolve));
  });

  test("BILL-06 apply soon after the start and are refreshed; currencies missing in the catalogue are ignored", async () => {
    await eventually(async () => expect((await rateOf(scene, "USD")).per_eur).toBe("1.2001"));
    expect(await rateOf(scene, "THB")).toBeUndefined();
    const fetched = await scene.gateway.manage("POST", "/rates/fetch");
    expect(fetched).toMatchObject({ taken: [], known: [{ currency: "USD" }], refused: [] });
    // An equal rate is no change.
    expect((await scene.gateway.manage("GET", "/audit?action=rates.change")).data).toHaveLength(1);
    const before = asks;
    await eventually(() => expect(asks).toBeGreaterThan(before));
    expect((await scene.gateway.manage("GET", "/rates/history?currency=USD")).data).toHaveLength(2);
  });

  test("BILL-06 a source that fails or sends nonsense or a jump changes nothing and is reported", async () => {
    for (const bad of [
      { status: 500, body: "busy" },
      { status: 302, body: "" },
      { status: 200, body: "<html>maintenance</html>" },
      { status: 200, body: ecb("-1") },
      { status: 200, body: " ".repeat(1_100_000) },
    ]) {
      answers = bad;
      const { status } = await scene.gateway.call(scene.gateway.adminToken, "/manage/rates/fetch", { method: "POST" });
      expect(status, bad.body.slice(0, 20)).toBe(502);
    }
    answers = { status: 200, body: ecb("12.001") };
    const { code, stderr } = await scene.gateway.cli("rates", "fetch");
    expect([code, stderr]).toEqual([1, expect.stringContaining("factor of 1.25")]);
    expect((await rateOf(scene, "USD")).per_eur).toBe("1.2001");
  });
});

describe("margins", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene(["deepinfra"], { GATEWAY_MARGIN: "0.1" });
  });
  afterAll(() => scene.close());
  const put = (tenant: Tenant, margin: unknown) =>
    scene.gateway.call(scene.gateway.adminToken, `/manage/workspaces/${tenant.slug}/margin`, {
      method: "PUT",
      body: { margin },
    });
  const price = async (tenant: Tenant) =>
    (await scene.gateway.call(tenant.key, `/v1/models/${encodeURIComponent(MODEL)}`)).body.pricing;

  test("BILL-05 the default margin is in shown prices and charges; a workspace can have its own", async () => {
    const usual = await scene.gateway.tenant();
    const own = await scene.gateway.tenant();
    const free = await scene.gateway.tenant();
    expect((await put(own, "0.5")).body).toEqual({ workspace: own.slug, margin: "0.5", own: "0.5", usual: "0.1" });
    await put(free, "0");
    const rows = [await send(scene, free), await send(scene, usual), await send(scene, own)];
    const [base, tenth, half] = rows.map(({ cost }) => nanosOf(cost));
    expect(rows.map(({ charge }) => charge.margin)).toEqual([null, "0.1", "0.5"]);
    expect(Number(tenth)).toBe(Math.round(Number(base) * 1.1));
    expect(Math.abs(Number(half) - Number(base) * 1.5)).toBeLessThanOrEqual(1);
    const expected = async (tenant: Tenant): Promise<number> => {
      const { body } = await scene.chat(tenant.key, { max_tokens: 10 });
      return (await scene.row(body.id)).decision.candidates[0].scores.expected_cost_nanos;
    };
    expect((await expected(own)) / (await expected(free))).toBeCloseTo(1.5, 2);
    const [plain, shown] = [await price(free), await price(own)];
    expect(plain).not.toHaveProperty("margin");
    expect(shown.margin).toBe("0.5");
    expect(Math.abs(Number(shown.input_per_1m_tokens) - 1.5 * Number(plain.input_per_1m_tokens))).toBeLessThan(1e-8);
    const listed = await scene.gateway.call(usual.key, `/v1/public/models/${encodeURIComponent(MODEL)}`);
    expect(listed.body.lowest_price.margin).toBe("0.1");
    const [first] = (await scene.gateway.call("", "/v1/public/models?provider=deepinfra&limit=1")).body.data;
    const [ofProvider] = (await scene.gateway.call("", "/v1/public/providers/deepinfra")).body.endpoints;
    expect([first.lowest_price.margin, ofProvider.price.margin]).toEqual(["0.1", "0.1"]);
    const { data } = await scene.gateway.manage("GET", "/audit?limit=1");
    expect(data[0]).toMatchObject({ action: "margin.change", detail: { before: null, after: "0", usual: "0.1" } });
    expect((await put(own, null)).body).toMatchObject({ margin: "0.1", own: null });
  });

  test("BILL-06 BILL-05 a margin or rate that changes during a request applies to the next one", async () => {
    const tenant = await scene.gateway.tenant();
    const before = await send(scene, tenant);
    const gate = Promise.withResolvers<void>();
    const arrived = scene.at("deepinfra").arrived(scene.at("deepinfra").requests.length + 1);
    scene.at("deepinfra").next({ json: ANSWER, gate: gate.promise });
    const running = scene.chat(tenant.key, {});
    await arrived;
    const usd = await rateOf(scene, "USD");
    const next = (Number(usd.per_eur) * 1.1).toFixed(6);
    expect((await put(tenant, "9")).status).toBe(200);
    expect((await scene.gateway.manage("POST", "/rates", { rates: { USD: next } })).taken).toHaveLength(1);
    gate.resolve();
    const { headers } = await running;
    expect((await scene.row(String(headers.get("x-svc-request-id")))).cost).toBe(before.cost);
    const after = await send(scene, tenant);
    const exact = (Number(nanosOf(before.cost)) * 10 * Number(usd.per_eur)) / (1.1 * Number(next));
    expect(Math.abs(Number(nanosOf(after.cost)) - exact)).toBeLessThanOrEqual(10);
    const { data } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?kind=charge`);
    expect(data).toHaveLength(3);
  });

  test("BILL-03 a hold includes the margin", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0.0001" });
    const held = async () => {
      const { body } = await scene.chat(tenant.key, { max_tokens: 4000 });
      return nanosOf(/hold of ([\d.]+)/.exec(body.error.message)?.[1] ?? "");
    };
    const usual = await held();
    await put(tenant, "1.2");
    expect(Number(await held()) / Number(usual)).toBeCloseTo(2, 4);
  });

  test("BILL-05 an invalid margin is refused by API, command line and setting", async () => {
    const tenant = await scene.gateway.tenant();
    for (const bad of ["-1.5", "11", "five", "", 0.05, "0.0000001"]) expect((await put(tenant, bad)).status).toBe(400);
    expect((await scene.gateway.cli("margin", "set", tenant.slug, "0.25")).code).toBe(0);
    expect((await scene.gateway.cli("margin", "show", tenant.slug)).stdout).toContain("0.25");
    await expect(openScene([], { GATEWAY_MARGIN: "20" })).rejects.toThrow(/GATEWAY_MARGIN/);
  });
});
