import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EndpointList, SettingList, SummaryList } from "../../src/contract/schemas/manage-operator.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { chatBody, connectedTo, credentialOf } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";

let [well, broken]: Upstream[] = [];
let gateway: TestGateway;
let key: string;
const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-canary-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  GATEWAY_SMTP_URL: "smtp://mailer:mail-canary-c4ca4238@127.0.0.1:2525",
};

beforeAll(async () => {
  [well, broken] = [await startUpstream(), await startUpstream({ status: 500, json: { error: { message: "no" } } })];
  gateway = await startGateway({
    env: {
      ...connectedTo(
        new Map([
          ["ovhcloud", well],
          ["deepinfra", broken],
        ]),
      ),
      ...SECRETS,
      GATEWAY_MAIL_FROM: "Gateway <gateway@example.eu>",
      GATEWAY_RPM_LIVE: "600",
      GATEWAY_RATES_URL: "http://user:rate-canary-8d777f38@127.0.0.1:9/rates.xml",
      GATEWAY_ASIDE_FAILURES: "2",
      GATEWAY_SANDBOX: "off",
      GATEWAY_NO_SUCH_THING: "1",
    },
  });
  await gateway.manage("POST", "/workspaces", { slug: "lab", name: "The Lab" });
  await gateway.manage("POST", "/workspaces/lab/wallet/credits", { amount: "20" });
  await gateway.manage("POST", "/workspaces/lab/members", { email: "ada@example.eu", role: "owner" });
  key = (await gateway.manage("POST", "/workspaces/lab/keys", { name: "k" })).key;
});
afterAll(async () => {
  await gateway.close();
  await well?.close();
  await broken?.close();
});

const endpoints = async (query = "") => EndpointList.parse(await gateway.manage("GET", `/endpoints${query}`)).data;

describe("PORTAL-10 endpoints", () => {
  test("PORTAL-10 each is listed with its reachability, and counts nothing before its first call", async () => {
    const all = await endpoints();
    expect(all.length).toBeGreaterThan(100);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { provider, state, served, failed, total, answers } of all) {
      expect([served, failed, total, answers]).toEqual([0, 0, null, 0]);
      if (state !== "retired") expect(state === "in", provider).toBe(["ovhcloud", "deepinfra"].includes(provider));
    }
  });

  test("PORTAL-10 a failing one is shown with its open circuit and time, a serving one with its latency", async () => {
    const request = chatBody({ provider: { order: ["deepinfra"] } });
    for (let at = 0; at < 2; at += 1)
      expect((await gateway.call(key, "/v1/chat/completions", { body: request })).status).toBe(200);
    const used = await endpoints("?used=true");
    const failing = used.find(({ provider }) => provider === "deepinfra");
    expect(failing).toMatchObject({ state: "aside", served: 0, failed: 2, times_aside: 1, total: null });
    expect(Date.parse(failing?.aside_until ?? "")).toBeGreaterThan(Date.now());
    expect(Date.parse(failing?.last_failed_at ?? "")).toBeLessThanOrEqual(Date.now());
    const serving = used.find(({ provider }) => provider === "ovhcloud");
    expect(serving).toMatchObject({
      state: "in",
      failed: 0,
      answers: serving?.served,
      in_flight: 0,
      aside_until: null,
    });
    expect(serving?.total?.p95_ms).toBeGreaterThanOrEqual(serving?.total?.p50_ms ?? Infinity);
    expect(serving?.expected).not.toBeNull();
    expect((await endpoints("?state=aside")).map(({ id }) => id)).toEqual([failing?.id]);
    expect((await endpoints("?provider=ovhcloud&used=false")).every(({ served }) => served === 0)).toBe(true);
  });

  test("PORTAL-10 a running request is counted at its endpoint", async () => {
    const gate = Promise.withResolvers<void>();
    well?.next({ gate: gate.promise, json: chatJson() });
    const running = gateway.call(key, "/v1/chat/completions", { body: chatBody() });
    await expect
      .poll(async () => (await endpoints("?provider=ovhcloud")).reduce((sum, one) => sum + one.in_flight, 0))
      .toBe(1);
    gate.resolve();
    await running;
    expect((await endpoints("?provider=ovhcloud")).reduce((sum, one) => sum + one.in_flight, 0)).toBe(0);
  });
});

describe("PORTAL-10 the effective configuration", () => {
  test("PORTAL-10 every setting has its value and source; secrets show only that they are set", async () => {
    const answer = await gateway.call(gateway.adminToken, "/manage/settings");
    const { data, warnings, version } = SettingList.parse(answer.body);
    const of = (name: string) => data.find((one) => one.name === name);
    expect(of("GATEWAY_RPM_LIVE")).toMatchObject({ value: "600", source: "environment", default: "300", set: true });
    expect(of("GATEWAY_RPM_TEST")).toMatchObject({ value: "30", source: "default", default: "30", set: true });
    expect(of("GATEWAY_MAIL_FROM")).toMatchObject({ value: "Gateway <gateway@example.eu>", source: "environment" });
    expect(of("DATA_DIR")?.value).toBe(gateway.dataDir);
    expect(of("GATEWAY_RATES_URL")?.value).toBe("http://…@127.0.0.1:9/rates.xml");
    expect(of("PROVIDER_OVHCLOUD_BASE_URL")?.value).toBe(well?.baseUrl);
    for (const name of [...Object.keys(SECRETS), "PROVIDER_OVHCLOUD_API_KEY"])
      expect(of(name), name).toMatchObject({
        value: null,
        default: null,
        secret: true,
        set: true,
        source: "environment",
      });
    expect(of("GATEWAY_OIDC_CLIENT_SECRET")).toMatchObject({ secret: true, set: false, source: "default" });
    expect(warnings.join()).toContain("GATEWAY_NO_SUCH_THING");
    expect(version).toMatch(/^\d+\./);
    for (const secret of [...Object.values(SECRETS), credentialOf("ovhcloud"), "mail-canary", "rate-canary"])
      expect(answer.text).not.toContain(secret);
  });

  test("PORTAL-10 names the file a value comes from, and shows the effective value", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "gateway-settings-"));
    await writeFile(`${folder}/contact`, "operator@example.eu\n");
    await writeFile(`${folder}/token`, "from-a-file-canary-1f3870be274f6c49b3\n");
    const other = await startGateway({
      env: { GATEWAY_OPERATOR_CONTACT_FILE: `${folder}/contact`, GATEWAY_ADMIN_TOKEN_FILE: `${folder}/token` },
    });
    try {
      const { data } = SettingList.parse(await other.manage("GET", "/settings"));
      expect(data.find(({ name }) => name === "GATEWAY_OPERATOR_CONTACT")).toMatchObject({
        value: "operator@example.eu",
        source: "file",
      });
      expect(data.find(({ name }) => name === "GATEWAY_ADMIN_TOKEN")).toMatchObject({
        value: null,
        source: "file",
        set: true,
      });
      expect(JSON.stringify(data)).not.toContain("from-a-file-canary");
    } finally {
      await other.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe("PORTAL-10 workspace overview", () => {
  test("PORTAL-10 balance, spend of the month, people, keys and last use, paginated and searchable", async () => {
    await gateway.manage("PUT", "/workspaces/lab/margin", { margin: "0.05" });
    const list = async (query: string) =>
      SummaryList.parse(await gateway.manage("GET", `/workspace-summaries?${query}`));
    const { data } = await list("search=the%20LAB");
    expect(data).toMatchObject([
      { slug: "lab", members: 1, owners: ["ada@example.eu"], keys: 1, margin: "0.05", currency: "EUR" },
    ]);
    const [lab] = data;
    expect(Number(lab?.spent_this_month)).toBeGreaterThan(0);
    expect(Number(lab?.balance) + Number(lab?.spent_this_month)).toBeCloseTo(20, 6);
    expect(Date.parse(lab?.last_request_at ?? "")).toBeLessThanOrEqual(Date.now());
    const first = await list("limit=1");
    const second = await list(`limit=1&cursor=${first.next}`);
    expect([first.data[0]?.slug, second.data[0]?.slug, second.next]).toEqual(["lab", "demo", null]);
    expect(second.data[0]).toMatchObject({ last_request_at: null, spent_this_month: "0.00", margin: null });
    expect((await list("search=nothing")).data).toEqual([]);
  });
});
