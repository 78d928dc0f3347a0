import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import { type Mailbox, openMailbox } from "../support/alerts.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayForTest, type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { awayFromMidnight, decimal } from "../support/limits.ts";
import { chatBody, connectedTo, costNanos, openScene, type Scene } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";

const COST = costNanos("deepinfra", { input: 11, output: 7 });
const QUICK = { GATEWAY_ALERTS_EVERY_MS: "20", GATEWAY_ALERTS_RETRY_MS: "20", GATEWAY_WEBHOOK_PRIVATE: "on" };

let mailbox: Mailbox;
let scene: Scene;
let tenant: Tenant;
let hook: Upstream;

beforeAll(async () => {
  await awayFromMidnight();
  mailbox = await openMailbox();
  scene = await openScene(["deepinfra"], {
    ...QUICK,
    GATEWAY_SMTP_URL: mailbox.url,
    GATEWAY_MAIL_FROM: "The Gateway <alerts@example.eu>",
  });
}, 60_000);
afterAll(async () => {
  await scene.close();
  await mailbox.close();
  await cleanUp();
});
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
  hook = await startUpstream({ status: 204 });
  onTestFinished(() => hook.close());
});

const manage = (method: string, target: string, body?: unknown) =>
  scene.gateway.manage(method, `/workspaces/${tenant.slug}${target}`, body);
const refused = (method: string, target: string, body?: unknown) =>
  scene.gateway.call(scene.gateway.adminToken, `/manage/workspaces/${tenant.slug}${target}`, {
    method,
    ...(body === undefined ? {} : { body }),
  });
const setAlerts = (body: Record<string, unknown>) =>
  manage("PUT", "/alerts", { webhook_url: `${hook.url}/hook?team=1`, ...body });
const ask = () => scene.chat(tenant.key, { max_tokens: 500 });
const mailsTo = (address: string) => mailbox.mails.filter(({ to }) => to.includes(address));

/** Alerts of two other workspaces, one after the other: a whole evaluation round lies between them. */
async function severalRounds(gateway: TestGateway = scene.gateway): Promise<void> {
  for (const sentinel of [await startUpstream({ status: 204 }), await startUpstream({ status: 204 })]) {
    const { slug } = await gateway.tenant({ credit: "1" });
    const alerts = { webhook_url: `${sentinel.url}/hook`, low_balance: "10" };
    await gateway.manage("PUT", `/workspaces/${slug}/alerts`, alerts);
    await sentinel.arrived(1);
    await sentinel.close();
  }
}

async function deliveriesOnce(state: string, count: number): Promise<Json[]> {
  return eventually(
    async () => {
      const { data } = await manage("GET", "/alerts/deliveries");
      const found = data.filter((one: Json) => one.state === state);
      if (found.length < count) throw new Error(JSON.stringify(data));
      return found;
    },
    { interval: 20 },
  );
}

/** As the guide tells receivers to verify. */
function verify(secret: string, received: { headers: Json; raw: Buffer }): boolean {
  const { "x-svc-timestamp": timestamp, "x-svc-signature": signature } = received.headers;
  const expected = createHmac("sha256", secret)
    .update(`${timestamp}.${received.raw.toString("utf8")}`)
    .digest("hex");
  return String(signature).split(",").includes(`v1=${expected}`);
}

describe("a low wallet balance", () => {
  test("BILL-10 sends one signed webhook call and one mail, and again after a top-up", async () => {
    await manage("POST", "/members", { email: "owner@low.example", role: "owner" });
    await manage("POST", "/members", { email: "plain@low.example", role: "member" });
    const { webhook_secret: secret } = await setAlerts({ low_balance: "10" });
    await ask();
    await ask();
    const first = await hook.arrived(1);
    await deliveriesOnce("delivered", 2);
    await severalRounds();
    expect(hook.requests).toHaveLength(1);
    expect(mailsTo("plain@low.example")).toEqual([]);
    const [mail, ...more] = mailsTo("owner@low.example");
    expect(more).toEqual([]);
    expect(verify(secret, first)).toBe(true);
    expect(verify("whsec_another", first)).toBe(false);
    expect([first.method, first.path, first.headers["content-type"]]).toEqual([
      "POST",
      "/hook?team=1",
      "application/json",
    ]);
    const event: Json = first.json;
    expect(event).toMatchObject({
      type: "balance.low",
      workspace: { slug: tenant.slug },
      data: { threshold: "10.00", currency: "EUR" },
    });
    expect(first.headers["x-svc-alert-id"]).toBe(event.id);
    expect(mail?.from).toBe("alerts@example.eu");
    expect(mail?.text).toContain("From: The Gateway <alerts@example.eu>");
    const inCents = /^-?\d+\.\d\d/.exec(event.data.balance)?.[0];
    expect(mail?.text).toContain(`Subject: Low balance: workspace ${tenant.slug} has ${inCents} EUR\n`);
    expect(mail?.text).toContain(event.id);

    await manage("POST", "/wallet/credits", { amount: "5" });
    await eventually(
      async () => {
        // Briefly above one threshold, then below another.
        await setAlerts({ low_balance: "10" });
        await severalRounds();
        await setAlerts({ low_balance: "15" });
        await severalRounds();
        // On a slow machine another round begins before the result of the previous one is known.
        expect(hook.requests.length).toBeGreaterThan(1);
      },
      { timeout: 10_000 },
    );
    const again: Json = (await hook.arrived(2)).json;
    expect(again.id).not.toBe(event.id);
  });

  test("BILL-10 without alert rules nothing is stored and nothing is sent", async () => {
    await ask();
    await severalRounds();
    expect(await manage("GET", "/alerts")).toMatchObject({ enabled: false, limit_percents: [], recipients: [] });
    expect((await manage("GET", "/alerts/deliveries")).data).toEqual([]);
  });
});

describe("a spend limit", () => {
  test("BILL-10 alerts at its thresholds, and when it refuses requests", async () => {
    await setAlerts({ mail_to: [] });
    await manage("PUT", "/limits", { key: tenant.keyId, day: decimal((COST * 100n) / 85n) });
    // The limit is less than a hold, so nothing is spent of it.
    expect((await ask()).status).toBe(402);
    const full: Json = (await hook.arrived(1)).json;
    expect(full).toMatchObject({
      type: "limit.reached",
      data: { of: "key", key: tenant.keyId, per: "day", percent: 100, refused: true, spent: "0.00" },
    });
    await manage("PUT", "/limits", { key: tenant.keyId, day: "1" });
    await ask();
    // Another limit: the previous one was alerted and may not have been evaluated since.
    await manage("PUT", "/limits", { key: tenant.keyId, day: decimal((COST * 100n) / 85n + 1n) });
    const part: Json = (await hook.arrived(2)).json;
    expect(part.data).toMatchObject({ percent: 80, refused: false });
    await manage("PUT", "/limits", { day: decimal(COST), month: "100" });
    const all: Json = (await hook.arrived(3)).json;
    expect(all.data).toMatchObject({ of: "workspace", percent: 100, limit: all.data.spent });
    await severalRounds();
    expect(hook.requests).toHaveLength(3);
  });
});

test("BILL-10 an own key that its provider rejects alerts once, and again when it is another key", async () => {
  const connect = (key: string) => manage("PUT", "/providers/deepinfra", { key, use: "first", skip_test: true });
  await connect("own-key-one-1234567890");
  await setAlerts({ mail_to: [] });
  scene
    .at("deepinfra")
    .always(({ headers }) =>
      headers.authorization?.includes("own-key")
        ? { status: headers.authorization.includes("two") ? 403 : 401, json: { error: { message: "no" } } }
        : { status: 500 },
    );
  onTestFinished(() => scene.at("deepinfra").always({ json: chatJson() }));
  await ask();
  const event: Json = (await hook.arrived(1)).json;
  expect([event.type, event.data]).toEqual(["credential.refused", { provider: "deepinfra", status: 401 }]);
  expect(JSON.stringify(event)).not.toContain("own-key-one");
  await ask();
  await severalRounds();
  expect(hook.requests).toHaveLength(1);
  await connect("own-key-two-1234567890");
  await ask();
  const next: Json = (await hook.arrived(2)).json;
  expect(next.data).toEqual({ provider: "deepinfra", status: 403 });
});

describe("a receiver", () => {
  test("BILL-10 an unavailable receiver gets the alert once it is back, and only once", async () => {
    const { webhook_secret: secret } = await setAlerts({ low_balance: "10", mail_to: [] });
    hook.always({ status: 503 });
    await ask();
    await hook.arrived(2);
    const [waiting] = await deliveriesOnce("waiting", 1);
    expect(waiting).toMatchObject({
      channel: "webhook",
      target: hook.url,
      last_error: "the receiver responded with 503",
    });
    expect(Date.parse(waiting.next_attempt_at)).toBeGreaterThan(0);
    hook.always({ status: 200 });
    const [delivered] = await deliveriesOnce("delivered", 1);
    expect([delivered.alert, delivered.last_error]).toEqual([waiting.alert, null]);
    const count = hook.requests.length;
    expect(delivered.attempts).toBe(count);
    await severalRounds();
    expect(hook.requests).toHaveLength(count);
    expect(new Set(hook.requests.map(({ headers }) => headers["x-svc-alert-id"])).size).toBe(1);
    expect(hook.requests.every((received) => verify(secret, received))).toBe(true);
    const { text } = await scene.gateway.call(scene.gateway.adminToken, "/metrics");
    expect(text).toMatch(/gateway_alert_deliveries_total\{channel="webhook",result="later"\} [1-9]/);
    expect(text).toMatch(/gateway_alert_deliveries_total\{channel="webhook",result="delivered"\} [1-9]/);
  });

  test("BILL-10 a receiver that refuses, or an unknown mail address, is given up with the reason", async () => {
    hook.always({ status: 410 });
    mailbox.refuse(550);
    onTestFinished(() => mailbox.refuse(undefined));
    await setAlerts({ low_balance: "10", mail_to: ["absent@gone.example"] });
    await ask();
    const failed = await deliveriesOnce("failed", 2);
    expect(failed.map(({ channel, last_error, attempts }) => [channel, last_error, attempts]).toSorted()).toEqual([
      ["mail", "the mail server rejected it (550)", 1],
      ["webhook", "the receiver responded with 410: it accepts no further messages", 1],
    ]);
  });

  test("BILL-10 an address removed from the recipients gets no pending mails", async () => {
    mailbox.refuse(451);
    onTestFinished(() => mailbox.refuse(undefined));
    const [gone, there] = [`gone-${tenant.slug}@example.eu`, `there-${tenant.slug}@example.eu`];
    await setAlerts({ low_balance: "100", mail_to: [gone, there], webhook_url: null });
    await deliveriesOnce("waiting", 2);
    await setAlerts({ mail_to: [there], webhook_url: null });
    // An attempt in flight is refused once more; the next one is given up.
    const [failed] = await deliveriesOnce("failed", 1);
    mailbox.refuse(undefined);
    await deliveriesOnce("delivered", 1);
    expect([failed?.target, failed?.last_error]).toEqual([
      gone,
      expect.stringContaining("no longer receives alerts of the workspace"),
    ]);
    expect([mailsTo(gone).length, mailsTo(there).length]).toEqual([0, 1]);
  });

  test("BILL-10 sends a test on demand and reports the result per receiver", async () => {
    await setAlerts({ mail_to: ["ada@test.example"] });
    const ok = { ok: true };
    expect(await manage("POST", "/alerts/test")).toMatchObject({
      ok: true,
      channels: [
        { channel: "mail", target: "ada@test.example", ...ok },
        { channel: "webhook", target: hook.url, ...ok },
      ],
    });
    expect(hook.requests[0]?.json).toMatchObject({ type: "test" });
    hook.always({ status: 302, headers: { location: "/elsewhere" } });
    const { ok: all, channels } = await manage("POST", "/alerts/test");
    expect([all, channels[0].ok, channels[1].ok]).toEqual([false, true, false]);
    expect(channels[1].detail).toContain("redirects are not followed");
    expect(hook.requests).toHaveLength(2);
    expect(mailsTo("ada@test.example")).toHaveLength(2);
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=alerts`);
    expect(data.map(({ action }: Json) => action)).toEqual(["alerts.test", "alerts.test", "alerts.change"]);
  });
});

test("PORTAL-05 refuses more than ten test alerts an hour with Retry-After and sends nothing", async () => {
  await setAlerts({ mail_to: [] });
  for (let sent = 0; sent < 10; sent += 1) await manage("POST", "/alerts/test");
  const { status, body, headers } = await refused("POST", "/alerts/test");
  expect([status, body.error.code]).toEqual([429, "rate_limit_exceeded"]);
  const waitSeconds = Number(headers.get("retry-after"));
  expect(waitSeconds).toBeGreaterThan(0);
  expect(waitSeconds).toBeLessThanOrEqual(3600);
  expect(hook.requests).toHaveLength(10);
});

describe("a webhook secret", () => {
  test("BILL-10 is shown once, appears nowhere else, and is rotated without a gap", async () => {
    const { webhook_secret: first, ...saved } = await setAlerts({ mail_to: [] });
    expect(first).toMatch(/^whsec_[\w-]{43}$/);
    expect((await setAlerts({ low_balance: "1" })).webhook_secret).toBeNull();
    const { webhook_secret: second, previous_until } = await manage("POST", "/alerts/rotate-secret");
    const shown = [saved, await manage("GET", "/alerts"), await scene.gateway.manage("GET", "/audit?limit=1000")];
    for (const secret of [first, second]) expect(JSON.stringify(shown)).not.toContain(secret);
    // The audit log has only the URL's origin: the rest may be a secret.
    expect(JSON.stringify(shown[2])).not.toContain("/hook?team=1");
    await manage("POST", "/alerts/test");
    const received = await hook.arrived(1);
    expect([verify(first, received), verify(second, received)]).toEqual([true, true]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(previous_until) });
    await manage("POST", "/alerts/test").finally(() => vi.useRealTimers());
    const over = await hook.arrived(2);
    expect([verify(first, over), verify(second, over)]).toEqual([false, true]);
    await setAlerts({ webhook_url: null });
    expect(await refused("POST", "/alerts/rotate-secret")).toMatchObject({ status: 409 });
    const { webhook_secret: third } = await setAlerts({});
    await manage("POST", "/alerts/test");
    const later = await hook.arrived(3);
    expect([first, second, third].map((secret) => verify(secret, later))).toEqual([false, false, true]);
  });

  test("BILL-10 refuses invalid rules by field name", async () => {
    for (const [body, param] of [
      [{ low_balance: "0" }, "low_balance"],
      [{ low_balance: "-1" }, "low_balance"],
      [{ limit_percents: [0] }, "limit_percents.0"],
      [{ limit_percents: [80.5] }, "limit_percents.0"],
      [{ mail_to: ["a@b\r\nBcc: c@d.example"] }, "mail_to.0"],
      [{ webhook_url: "not an address" }, "webhook_url"],
      [{ webhook: "https://example.eu" }, "webhook"],
    ] as const) {
      const { status, body: answer } = await refused("PUT", "/alerts", body);
      expect([status, answer.error.param]).toEqual([400, param]);
    }
    const { status, body: none } = await refused("POST", "/alerts/test");
    expect([status, none.error.message]).toEqual([409, expect.stringContaining(`alert set ${tenant.slug} --webhook`)]);
    expect((await manage("GET", "/alerts")).enabled).toBe(false);
  });
});

test("BILL-10 refuses a webhook in a private network by default; doctor reports a missing mail server", async () => {
  const gateway = await gatewayForTest({ env: { GATEWAY_ALERTS_EVERY_MS: "20" } });
  const put = (body: Record<string, unknown>) =>
    gateway.call(gateway.adminToken, "/manage/workspaces/demo/alerts", { method: "PUT", body });
  for (const url of [hook.url, "https://127.0.0.1/", "https://localhost/", "https://[::ffff:10.0.0.1]/"]) {
    const { status, body } = await put({ webhook_url: url });
    expect([url, status, body.error?.param]).toEqual([url, 400, "webhook_url"]);
  }
  const advice = async () => {
    const { ok, checks } = await gateway.manage("GET", "/doctor");
    return [ok, checks.find(({ name }: Json) => name === "alerts").detail];
  };
  expect(await advice()).toEqual([true, "0 workspaces with alert rules"]);
  const { body } = await put({ mail_to: ["ada@example.eu"], low_balance: "1000000" });
  expect([body.mail_ready, body.recipients]).toEqual([false, ["ada@example.eu"]]);
  expect(await advice()).toEqual([true, expect.stringContaining("set GATEWAY_SMTP_URL")]);
  await eventually(async () => {
    const { data } = await gateway.manage("GET", "/workspaces/demo/alerts/deliveries");
    expect(data).toMatchObject([{ state: "failed", last_error: expect.stringContaining("set GATEWAY_SMTP_URL") }]);
  });
  const shown = await gateway.cli("alert", "set", "demo", "--mail", "none", "--low-balance", "", "--json");
  expect(shown.json).toMatchObject({ mail_to: [], low_balance: null, limit_percents: [80, 100] });
  const listed = await gateway.cli("alert", "deliveries", "demo", "--json");
  expect(listed.json).toMatchObject({ data: [{ channel: "mail", state: "failed" }] });
  const withoutReceiver = await gateway.cli("alert", "test", "demo");
  expect([withoutReceiver.code, withoutReceiver.stderr]).toEqual([
    1,
    expect.stringContaining("have no recipient. Set a webhook"),
  ]);
  expect(await advice()).toEqual([
    true,
    expect.stringMatching(/^1 workspace with alert rules; without webhook .*: 1$/),
  ]);
  expect((await gateway.cli("alert", "remove", "demo", "--json")).json).toMatchObject({ removed: true });
});

test("BILL-10 after a restart missed alerts are found, pending ones sent, and delivered ones not repeated", async () => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const dataDir = temporaryFolder();
  const env = { ...connectedTo(new Map([["deepinfra", upstream]])), ...QUICK, GATEWAY_SANDBOX: "off" };
  const slow = await startGateway({ env: { ...env, GATEWAY_ALERTS_EVERY_MS: "3600000" }, dataDir });
  const team = await slow.tenant({ credit: "10" });
  const alerts = `/workspaces/${team.slug}/alerts`;
  await slow.manage("PUT", alerts, { low_balance: "10", mail_to: [], webhook_url: hook.url });
  await slow.call(team.key, "/v1/chat/completions", { body: chatBody() });
  await slow.close();
  expect(hook.requests).toEqual([]);

  hook.always({ status: 500 });
  const failing = await startGateway({ env, dataDir });
  const first: Json = (await hook.arrived(1)).json;
  await failing.close();
  hook.always({ status: 200 });
  const before = hook.requests.length;

  const last = await startGateway({ env, dataDir });
  onTestFinished(() => last.close());
  expect((await hook.arrived(before + 1)).json).toEqual(first);
  await severalRounds(last);
  expect(hook.requests).toHaveLength(before + 1);
  const { data } = await last.manage("GET", `${alerts}/deliveries`);
  expect(data).toMatchObject([{ alert: first.id, state: "delivered" }]);
});
