import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../support/gateway.ts";
import {
  ageSessions,
  type Browser,
  OWNER,
  PASSWORD,
  type PeopleGateway,
  peopleGateway,
  tokenOf,
} from "../support/people.ts";
import { COMPILED, PROGRAM } from "../support/program.ts";

let gateway: PeopleGateway;
const home = mkdtempSync(path.join(tmpdir(), "gateway-home-"));

beforeAll(async () => {
  gateway = await peopleGateway();
  await gateway.setUp();
});
afterAll(async () => {
  await gateway.close();
  rmSync(home, { recursive: true, force: true });
});

const env = () => ({ GATEWAY_URL: gateway.url, XDG_CONFIG_HOME: home, DATA_DIR: path.join(home, "none") });

/** `gateway login` with its printed code and its exit. */
function login() {
  const child = spawn(process.execPath, [...PROGRAM, "login"], {
    env: { PATH: process.env["PATH"], ...COMPILED, ...env() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, logs] = ["", ""];
  child.stdout.on("data", (text: Buffer) => {
    out += String(text);
  });
  const code = new Promise<string>((resolve) => {
    child.stderr.on("data", (text: Buffer) => {
      logs += String(text);
      const found = /code ([A-Z0-9]{4}-[A-Z0-9]{4})/.exec(logs)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const ended = new Promise<{ exitCode: number | null; out: string; logs: string }>((resolve) => {
    child.on("exit", (exitCode) => resolve({ exitCode, out, logs }));
  });
  return { code, ended };
}

describe("the command line", () => {
  test("PORTAL-01 signs in with a code that a person approves in the browser, and out again", async () => {
    const before = await runCli(["whoami"], env());
    expect([before.code, before.stderr]).toEqual([1, expect.stringContaining("gateway login")]);
    const { code, ended } = login();
    const userCode = await code;
    const browser = gateway.browser();
    const refused = await browser.post("/manage/auth/device/approve", { userCode });
    expect(refused.status).toBe(401);
    await browser.post("/manage/auth/sign-in/email", { email: OWNER.email, password: OWNER.password });
    const deviceStatus = await browser.get(`/manage/auth/device?user_code=${userCode}`);
    expect(deviceStatus.body).toMatchObject({ status: "pending" });
    expect((await browser.post("/manage/auth/device/approve", { userCode })).status).toBe(200);
    const { exitCode, out } = await ended;
    expect([exitCode, out]).toEqual([0, `Signed in as ${OWNER.email}.\n`]);
    const file = path.join(home, "inference-gateway", "sessions.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { token } = JSON.parse(readFileSync(file, "utf8")).sessions[gateway.url];
    const who = await runCli(["whoami", "--json"], env());
    expect(who.json).toMatchObject({ who: OWNER.email, operator: true, workspaces: [{ slug: "demo", role: "owner" }] });
    expect((await runCli(["workspace", "list", "--json"], env())).code).toBe(0);
    const sessions = (await browser.get("/manage/me/sessions")).body.data;
    expect(sessions.map(({ user_agent }: { user_agent: string }) => user_agent)).toContain("gateway command line");
    expect((await gateway.call(token, "/manage/workspaces")).status).toBe(200);
    expect((await runCli(["logout"], env())).stdout).toBe(`Signed out ${OWNER.email}.\n`);
    expect((await gateway.call(token, "/manage/workspaces")).status).toBe(401);
    expect((await runCli(["workspace", "list"], env())).code).toBe(1);
  });

  test("PORTAL-11 a refused code signs no device in, and other client ids are refused", async () => {
    const { code, ended } = login();
    const browser = gateway.browser();
    await browser.post("/manage/auth/sign-in/email", { email: OWNER.email, password: OWNER.password });
    const userCode = await code;
    await browser.get(`/manage/auth/device?user_code=${userCode}`);
    expect((await browser.post("/manage/auth/device/deny", { userCode })).status).toBe(200);
    const { exitCode, logs } = await ended;
    expect([exitCode, logs]).toEqual([1, expect.stringContaining("denied in the browser")]);
    const other = await gateway.browser().post("/manage/auth/device/code", { client_id: "another" });
    expect([other.status, other.body.error]).toEqual([400, "invalid_client"]);
    const mistyped = await browser.get("/manage/auth/device?user_code=ABCD-EFGH");
    expect(mistyped.body.error).toMatchObject({
      code: "invalid_value",
      param: "user_code",
      message: expect.stringMatching(/Unknown code.*Start again on the device/),
    });
  });

  test("PORTAL-11 demands a recent sign-in: an old browser session approves no device", async () => {
    const browser = gateway.browser();
    const signIn = () => browser.post("/manage/auth/sign-in/email", { email: OWNER.email, password: OWNER.password });
    const allow = (userCode: string) => browser.post("/manage/auth/device/approve", { userCode });
    const invite = () => runCli(["invitation", "create", "demo", "peer@example.eu", "--role", "admin"], env());
    await signIn();
    const first = login();
    const code = await first.code;
    await browser.get(`/manage/auth/device?user_code=${code}`);
    expect((await allow(code)).status).toBe(200);
    expect((await first.ended).exitCode).toBe(0);
    ageSessions(gateway.dataDir, OWNER.email, 16);
    const stale = await invite();
    expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining("Sign in again")]);
    expect(stale.stderr).toContain("gateway login");

    const again = login();
    const userCode = await again.code;
    await browser.get(`/manage/auth/device?user_code=${userCode}`);
    const refused = await allow(userCode);
    expect([refused.status, refused.body.error?.code]).toEqual([403, "fresh_sign_in_needed"]);
    await signIn();
    await browser.get(`/manage/auth/device?user_code=${userCode}`);
    expect((await allow(userCode)).status).toBe(200);
    expect((await again.ended).exitCode).toBe(0);
    expect((await invite()).code).toBe(0);
    await runCli(["logout"], env());
  });

  test("PORTAL-01 the operator token takes precedence, and creates links and invitations", async () => {
    const setup = await gateway.cli("setup-link");
    expect([setup.code, setup.stderr]).toEqual([1, expect.stringContaining("already")]);
    const invited = await gateway.cli("invitation", "create", "demo", "cli@example.eu", "--role", "admin", "--json");
    expect(invited.json).toMatchObject({ email: "cli@example.eu", role: "admin", mailed: false });
    expect((await gateway.cli("invitation", "list", "demo")).stdout).toContain("cli@example.eu");
    expect((await gateway.cli("person", "list")).stdout).toContain(OWNER.email);
    expect((await gateway.cli("whoami", "--json")).json).toMatchObject({ who: "a token", operator: null });
  });
});

describe("an approved device code", () => {
  const newPassword = "eight green bicycles";
  const id = async (browser: Browser) => (await browser.get("/manage/me")).body.person.id;
  const ENDINGS: Readonly<Record<string, (browser: Browser) => Promise<unknown>>> = {
    "a new password by a link": async (browser) => {
      const { link } = await gateway.manage("POST", `/people/${await id(browser)}/reset-link`);
      const reset = await gateway.browser().post("/manage/auth/reset-password", { token: tokenOf(link), newPassword });
      expect(reset.status).toBe(200);
    },
    "the end of all sessions": async (browser) => gateway.manage("DELETE", `/people/${await id(browser)}/sessions`),
    "the end of one's other sessions": (browser) => browser.ask("DELETE", "/manage/me/sessions"),
    "a change of password": async (browser) => {
      const changed = { currentPassword: PASSWORD, newPassword };
      expect((await browser.post("/manage/auth/change-password", changed)).status).toBe(200);
    },
  };

  test.each(Object.entries(ENDINGS))("PORTAL-11 signs no device in after %s", async (what, end) => {
    const browser = await gateway.join(`${what.replaceAll(/\W/g, "-")}@example.eu`);
    const device = gateway.browser();
    const { user_code, device_code } = (await device.post("/manage/auth/device/code", { client_id: "gateway-cli" }))
      .body;
    await browser.get(`/manage/auth/device?user_code=${user_code}`);
    expect((await browser.post("/manage/auth/device/approve", { userCode: user_code })).status).toBe(200);
    await end(browser);
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const refused = await device.post("/manage/auth/device/token", {
      grant_type,
      device_code,
      client_id: "gateway-cli",
    });
    expect([refused.status, refused.body.access_token]).toEqual([400, undefined]);
  });
});
