import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainStartFailure } from "../../src/bootstrap/start-failure.ts";
import { ConfigError, PROJECT_ROOT, readConfig } from "../../src/settings/config.ts";
import { unusedPort } from "../support/upstream.ts";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "./child.ts";
import { CHAT, HELLO } from "./wire.ts";

const run = promisify(execFile);

let port: number;
let origin: string;
let dataDir: string;
let first: GatewayProcess;
/** Responses of /readyz since the process began, 0 for a refused connection, and stdout at the first 200. */
const statuses: number[] = [];
let stdoutWhenReady: string;

beforeAll(async () => {
  port = await unusedPort();
  dataDir = path.join(temporaryFolder(), "made", "by", "the", "start");
  first = spawnGateway({ PORT: String(port), DATA_DIR: dataDir });
  while (statuses.at(-1) !== 200 && first.child.exitCode === null) {
    statuses.push(
      await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    await sleep(10);
  }
  stdoutWhenReady = first.stdout();
  origin = await first.ready();
});
afterAll(cleanUp);

const keyOf = (stdout: string) => /^Key {6}(\S+)$/m.exec(stdout)?.[1] ?? "";

async function chatWith(key: string): Promise<number> {
  const answer = await fetch(`${origin}${CHAT}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(HELLO),
  });
  await answer.text();
  return answer.status;
}

describe("the first start", () => {
  test("OPS-01 PORTAL-01 prints exactly five lines on stdout: API, Portal, Key, Setup, curl", () => {
    const lines = first.stdout().split("\n");
    expect(lines.slice(0, 4)).toEqual([
      `API      http://127.0.0.1:${port}/v1`,
      `Portal   http://127.0.0.1:${port}/`,
      expect.stringMatching(/^Key {6}sk_svc_test_[\w-]{43}$/),
      expect.stringMatching(/^Setup {4}http:\/\/127\.0\.0\.1:\d+\/app\/setup\?token=[\w-]{43}$/),
    ]);
    expect(lines[4]).toMatch(/^curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions /);
    expect(lines.slice(5)).toEqual([""]);
  });

  test("OPS-01 the banner is printed before /readyz answers 200; until then it answers 503 or not at all", () => {
    expect(statuses.at(-1)).toBe(200);
    expect(statuses.slice(0, -1).every((status) => status === 0 || status === 503)).toBe(true);
    expect(stdoutWhenReady).toBe(first.stdout());
  });

  test("OPS-01 the curl line works when pasted into a shell", async () => {
    const line =
      first
        .stdout()
        .split("\n")
        .find((one) => one.startsWith("curl ")) ?? "";
    const { stdout } = await run("bash", ["-c", `${line} -s --fail-with-body`]);
    expect(JSON.parse(stdout)).toMatchObject({ object: "chat.completion", model: "sandbox/chat" });
  });

  test("OPS-01 the key belongs to the workspace demo, with credit to spend", async () => {
    const headers = { authorization: `Bearer ${keyOf(first.stdout())}` };
    const validated = await (await fetch(`${origin}/v1/auth/validate`, { headers })).json();
    expect(validated).toMatchObject({ valid: true, environment: "TEST", api_key_prefix: "sk_svc_test_" });
    const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
    const wallet = await fetch(`${origin}/manage/workspaces/demo/wallet`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { balance, currency } = JSON.parse(await wallet.text());
    expect(Number(balance)).toBeGreaterThan(1);
    expect(currency).toBe("EUR");
  });

  test("OPS-01 generated secrets, their folder and the journal are readable only by their owner", () => {
    for (const name of ["admin-token", "master-key"])
      expect(statSync(path.join(dataDir, name)).mode & 0o777, name).toBe(0o600);
    for (const folder of [dataDir, path.join(dataDir, "journal")]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test("OPS-01 / answers 200 HTML, never a redirect, and links to the documents", async () => {
    const answer = await fetch(`${origin}/`, { redirect: "manual" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await answer.text()).toMatch(/^<!doctype html>[\s\S]*href="\/docs"/i);
  });

  test("OPS-05 a port in use: exit 1, PORT is named, nothing on stdout", async () => {
    const second = spawnGateway({ PORT: String(port) });
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toMatch(new RegExp(`^error: PORT: ${port} on 127\\.0\\.0\\.1 is in use`, "m"));
    expect(second.stdout()).toBe("");
  });

  test("OPS-05 a data folder in use: exit 1, DATA_DIR is named, and the running gateway continues", async () => {
    const second = spawnGateway({ DATA_DIR: dataDir });
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toMatch(/^error: .*in use by another gateway.*DATA_DIR/m);
    expect(second.stderr()).not.toMatch(/ {4}at /);
    expect(second.stdout()).toBe("");
    expect(await chatWith(keyOf(first.stdout()))).toBe(200);
  });
});

describe("the second start", () => {
  test("OPS-01 keeps the data and the secrets, and prints no key", async () => {
    const key = keyOf(first.stdout());
    const before = readFileSync(path.join(dataDir, "admin-token"), "utf8");
    const headers = { authorization: `Bearer ${before.trim()}` };
    const balance = async () => (await fetch(`${origin}/manage/workspaces/demo/wallet`, { headers })).text();
    const spent = await balance();
    expect(await first.stop()).toBe(0);
    expect(
      first
        .stderr()
        .split("\n")
        .filter((line) => line.includes("error")),
    ).toEqual([]);

    const second = spawnGateway({ PORT: String(port), DATA_DIR: dataDir });
    expect(await second.ready()).toBe(origin);
    const [, , setup] = second.stdout().split("\n");
    expect(second.stdout()).toBe(`API      ${origin}/v1\nPortal   ${origin}/\n${setup}\n`);
    // The setup link of the first start was not used and no longer works.
    expect(setup).toMatch(/^Setup {4}http:/);
    expect(first.stdout()).not.toContain(setup);
    expect(readFileSync(path.join(dataDir, "admin-token"), "utf8")).toBe(before);
    expect(await balance()).toBe(spent);
    expect(await chatWith(key)).toBe(200);
    expect(await second.stop()).toBe(0);
  });
});

describe("invalid settings", () => {
  const file = (text = "7\n") => {
    const made = path.join(temporaryFolder(), "value");
    writeFileSync(made, text);
    return made;
  };

  const problemsOf = (env: Record<string, string>): string => {
    try {
      readConfig(env);
      return "";
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
  };

  test.each([
    ["PORT", "0x50", /^PORT: must be a whole number from 0 to 65535$/],
    ["PORT", "65536", /^PORT: must be a whole number/],
    ["PORT", "-1", /^PORT: must be a whole number/],
    ["PORT", "8080 ", /^PORT: must be a whole number/],
    ["GATEWAY_WORKERS", "0", /^GATEWAY_WORKERS: must be a whole number from 1 to 256, or auto$/],
    ["GATEWAY_WORKERS", "257", /^GATEWAY_WORKERS: must be a whole number/],
    ["GATEWAY_SANDBOX", "yes", /^GATEWAY_SANDBOX: must be on or off$/],
    ["GATEWAY_TRUSTED_PROXIES", "10.0.0.0/33", /^GATEWAY_TRUSTED_PROXIES: must be IP addresses or CIDR blocks/],
    ["GATEWAY_TRUSTED_PROXIES", "proxy.example", /^GATEWAY_TRUSTED_PROXIES: must be IP addresses/],
    ["GATEWAY_PUBLIC_URL", "gateway.example", /^GATEWAY_PUBLIC_URL: must be an absolute http or https URL$/],
    ["GATEWAY_PUBLIC_URL", "ftp://gateway.example", /^GATEWAY_PUBLIC_URL: must be an absolute http/],
    [
      "GATEWAY_PUBLIC_URL",
      "https://gateway.example/v1/",
      /^GATEWAY_PUBLIC_URL: must be .* without \/v1, query or password$/,
    ],
    ["GATEWAY_PUBLIC_URL", "https://me:PLANTED@gateway.example", /^GATEWAY_PUBLIC_URL: must be (?!.*PLANTED)/],
    ["GATEWAY_PUBLIC_URL", "https://gateway.example/?a=b", /^GATEWAY_PUBLIC_URL: must be /],
    ["GATEWAY_CORS_ORIGINS", "https://a.example,app.example", /^GATEWAY_CORS_ORIGINS: must be origins such as https:/],
    ["GATEWAY_CORS_ORIGINS", "https://app.example/", /^GATEWAY_CORS_ORIGINS: must be origins/],
    ["GATEWAY_ADMIN_TOKEN", "PLANTED\nsecond", /^GATEWAY_ADMIN_TOKEN: must be one line of plain ASCII characters$/],
    [
      "PROVIDER_SCALEWAY_API_KEY",
      "PLANTED…",
      /^PROVIDER_SCALEWAY_API_KEY: must be one line of plain ASCII characters$/,
    ],
    ["AWS_SESSION_TOKEN", "PLANTED\nsecond", /^AWS_SESSION_TOKEN: must be one line of plain ASCII characters$/],
    ["GATEWAY_RPM_LIVE", "0", /^GATEWAY_RPM_LIVE: must be a whole number from 1 /],
    ["GATEWAY_RPM_TEST", "many", /^GATEWAY_RPM_TEST: must be a whole number/],
    ["GATEWAY_RPM_IP", "-1", /^GATEWAY_RPM_IP: must be a whole number from 0 /],
    ["GATEWAY_BODY_MAX_BYTES", "32MiB", /^GATEWAY_BODY_MAX_BYTES: must be a whole number/],
    ["GATEWAY_HOLD_OUTPUT_TOKENS", "1e3", /^GATEWAY_HOLD_OUTPUT_TOKENS: must be a whole number/],
    ["GATEWAY_DRAIN_TIMEOUT_MS", "1.5", /^GATEWAY_DRAIN_TIMEOUT_MS: must be a whole number/],
    ["LOG_LEVEL", "verbose", /^LOG_LEVEL: must be one of trace, debug, info/],
    ["DATABASE_URL", "postgres://x", /^DATABASE_URL: must be postgres:\/\/user:password@host:5432\/database$/],
    ["DATABASE_URL", "mysql://user@host/db", /^DATABASE_URL: must be postgres:/],
    [
      "DATABASE_URL",
      "postgres://host/db?sslmode=prefer",
      /^DATABASE_URL: must have one of these values in sslmode: disable, /,
    ],
    ["GATEWAY_DATABASE_CONNECTIONS", "0", /^GATEWAY_DATABASE_CONNECTIONS: must be a whole number from 1 /],
    ["GATEWAY_MASTER_KEY", "c2hvcnQ=", /^GATEWAY_MASTER_KEY: must be 32 bytes in base64 or hex$/],
    [
      "GATEWAY_MASTER_KEY_PREVIOUS",
      "c2hvcnQ=",
      /^GATEWAY_MASTER_KEY_PREVIOUS: must be 32 bytes in base64 or hex; several/,
    ],
    ["GATEWAY_MARGIN", "11", /^GATEWAY_MARGIN: must be a share of the price from -1 to 10 /],
    ["GATEWAY_RATES_URL", "rates.example", /^GATEWAY_RATES_URL: must be /],
    ["GATEWAY_RATES_EVERY", "often", /^GATEWAY_RATES_EVERY: must be a duration/],
    ["GATEWAY_LOG_RETENTION", "23h", /^GATEWAY_LOG_RETENTION: must be forever/],
    ["GATEWAY_PROOF_EVERY", "soon", /^GATEWAY_PROOF_EVERY: must be never, or a duration/],
    ["GATEWAY_PEER_URL", "http://10.0.0.5:7443", /^GATEWAY_PEER_URL: must be https:\/\/ with the host and port/],
    ["GATEWAY_SIGNUP", "closed", /^GATEWAY_SIGNUP: must be invited or open$/],
    ["GATEWAY_LOG_RETENTION", "1s", /^GATEWAY_LOG_RETENTION: must be forever, or a duration of at least a day/],
    ["GATEWAY_IDEMPOTENCY_TTL", "-1h", /^GATEWAY_IDEMPOTENCY_TTL: must be a duration/],
    ["GATEWAY_CAPTURE_ITEM_MAX_BYTES", "1", /^GATEWAY_CAPTURE_ITEM_MAX_BYTES: must be a whole number from 1024 /],
    ["GATEWAY_PAYMENTS", "paypal", /^GATEWAY_PAYMENTS: must be one or more of webhook, stripe$/],
    ["GATEWAY_PAYMENTS", "stripe", /^GATEWAY_PAYMENT_STRIPE_SECRETS: must be secrets of at least 32 characters/],
    ["GATEWAY_PAYMENT_WEBHOOK_SECRETS", "short", /^GATEWAY_PAYMENT_WEBHOOK_SECRETS: must be secrets of at least 32 /],
    ["GATEWAY_PAYMENT_TOLERANCE", "0s", /^GATEWAY_PAYMENT_TOLERANCE: must be a duration/],
    ["GATEWAY_SMTP_URL", "smtp://user:PLANTED@host/x", /^GATEWAY_SMTP_URL: must be smtp:(?!.*PLANTED)/],
    ["GATEWAY_SMTP_URL", "smtp://host", /^GATEWAY_MAIL_FROM: required, because GATEWAY_SMTP_URL is set$/],
    ["GATEWAY_MAIL_FROM", "a@b, c@d", /^GATEWAY_MAIL_FROM: must be alerts@example.eu or /],
    ["GATEWAY_WEBHOOK_PRIVATE", "1", /^GATEWAY_WEBHOOK_PRIVATE: must be on or off$/],
    ["REDIS_URL", "http://x", /^REDIS_URL: must be redis:/],
    ["REDIS_CA", "/etc/ca.pem", /^REDIS_CA: must be certificates in PEM, or a file with them/],
    ["REDIS_URL", "redis://x", /^DATABASE_URL: required, because REDIS_URL is set/],
    ["REDIS_SENTINELS", "redis://a", /^REDIS_SENTINELS: must be addresses such as/],
    ["REDIS_SENTINELS", "10.0.0.5:26379, s2:26379", /^REDIS_URL: required, because REDIS_SENTINELS is set/],
    ["DATABASE_MIGRATION_URL", "postgres://a@b/c", /^DATABASE_URL: required, because DATABASE_MIGRATION_URL is set/],
    ["AWS_ACCESS_KEY_ID", "AKIA", /^AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set, or neither$/],
    ["AWS_SECRET_ACCESS_KEY", "x", /must both be set, or neither$/],
    ["PROVIDER_SCALEWAY_BASE_URL", "https://a.example/?b", /^PROVIDER_SCALEWAY_BASE_URL: must be .* without a query$/],
    ["PROVIDER_SCALEWAY", "x", /^PROVIDER_SCALEWAY: must be PROVIDER_<SLUG>_API_KEY/],
    ["PROVIDER_SCALEWAY_BASE_URL", "api.scaleway.ai", /^PROVIDER_SCALEWAY_BASE_URL: must be an absolute http/],
  ])("OPS-05 %s=%s is refused by name, with the expected value", (name, value, message) => {
    expect(problemsOf({ [name]: value })).toMatch(message);
    expect(problemsOf({})).toBe("");
  });

  test("OPS-05 a _FILE variant gives the value; both, or an unreadable file, are refused by name", () => {
    expect(readConfig({ GATEWAY_RPM_TEST_FILE: file() }).GATEWAY_RPM_TEST).toBe(7);
    expect(readConfig({ PROVIDER_SCALEWAY_API_KEY_FILE: file() }).providers.apiKeys.get("SCALEWAY")).toBe("7");
    for (const name of ["GATEWAY_RPM_TEST", "GATEWAY_ADMIN_TOKEN", "PROVIDER_SCALEWAY_API_KEY"]) {
      const both = problemsOf({ [name]: "7", [`${name}_FILE`]: file() });
      expect(both).toBe(`${name} and ${name}_FILE are both set: unset one of them`);
      expect(problemsOf({ [`${name}_FILE`]: "/no/such/file" })).toBe(
        `${name}_FILE: cannot read the file /no/such/file`,
      );
    }
    expect(problemsOf({ DATABASE_URL_FILE: file() })).toMatch(/^DATABASE_URL: /);
    for (const name of ["GATEWAY_MASTER_KEY", "GATEWAY_ADMIN_TOKEN", "PROVIDER_SCALEWAY_API_KEY"])
      expect(problemsOf({ [`${name}_FILE`]: file("\n") })).toMatch(new RegExp(`^${name}_FILE: the file .* is empty$`));
  });

  test("OPS-05 an unreadable store stops the start with its folder and the remedy", async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "gateway.sqlite"), "no database ".repeat(1000));
    for (const workers of ["1", "2"]) {
      const gateway = spawnGateway({ DATA_DIR: folder, GATEWAY_WORKERS: workers });
      expect(await gateway.exited).toBe(1);
      expect(gateway.stderr()).toBe(
        `error: DATA_DIR: the store in ${folder} cannot be read (file is not a database); restore a backup, see docs/guides/backup.md\n`,
      );
    }
    const full = explainStartFailure(new Error("ENOSPC: no space left on device, write"), { DATA_DIR: folder });
    expect(full).toMatchObject({
      message: `DATA_DIR: the disk of ${folder} is full; free some space and start again`,
    });
  });

  test("OPS-05 the start stops with every invalid setting on stderr, exit 1, nothing on stdout and no folder made", async () => {
    const folder = path.join(temporaryFolder(), "untouched");
    const gateway = spawnGateway({
      DATA_DIR: folder,
      PORT: "http",
      LOG_LEVEL: "loud",
      GATEWAY_SANDBOX: "perhaps",
      GATEWAY_ADMIN_TOKEN: "PLANTED-token",
      GATEWAY_ADMIN_TOKEN_FILE: file(),
      HOST_FILE: "/no/such/file",
      PROVIDER_SCALEWAY_BASE_URL: "nowhere",
    });
    expect(await gateway.exited).toBe(1);
    const lines = gateway.stderr().trim().split("\n");
    for (const name of [
      "PORT:",
      "LOG_LEVEL:",
      "GATEWAY_SANDBOX:",
      "GATEWAY_ADMIN_TOKEN and",
      "HOST_FILE:",
      "PROVIDER_SCALEWAY_BASE_URL:",
    ])
      expect(
        lines.some((line) => line.replace(/^error: /, "").startsWith(name)),
        name,
      ).toBe(true);
    expect(lines).toHaveLength(6);
    expect(gateway.stderr()).not.toContain("PLANTED");
    expect(gateway.stdout()).toBe("");
    expect(existsSync(folder)).toBe(false);
  });

  test("OPS-05 certificates for a Redis without TLS are refused: they would have no effect", () => {
    const REDIS_CA = "-----BEGIN CERTIFICATE-----";
    const refused = /^REDIS_URL: must be a rediss:\/\/ URL, because REDIS_CA is set/m;
    expect(problemsOf({ REDIS_URL: "redis://x", REDIS_CA })).toMatch(refused);
    expect(problemsOf({ REDIS_URL: "rediss://x", REDIS_CA })).not.toMatch(refused);
  });

  test("OPS-05 settings are applied as documented: folders, addresses, workers, empty values, the sandbox", () => {
    const config = readConfig({
      ...{ DATA_DIR: "mine", GATEWAY_WORKERS: "auto", PORT: "", GATEWAY_NONSENSE: "" },
      ...{ GATEWAY_PUBLIC_URL: "https://a.example/x/", PROVIDER_SCALEWAY_BASE_URL: "https://b.example/v1/" },
    });
    expect(config).toMatchObject({
      ...{ DATA_DIR: path.join(PROJECT_ROOT, "mine"), GATEWAY_WORKERS: "auto", PORT: 8080, sandbox: true },
      ...{ GATEWAY_PUBLIC_URL: "https://a.example/x", warnings: [expect.stringMatching(/^GATEWAY_NONSENSE: /)] },
    });
    expect(config.providers.baseUrls.get("SCALEWAY")).toBe("https://b.example/v1");
    expect([config.configured.has("DATA_DIR"), config.configured.has("PORT")]).toEqual([true, false]);
    const deployed = { DATABASE_URL: "postgres://a@b/c", GATEWAY_MASTER_KEY: "6d".repeat(32) };
    const token = { GATEWAY_ADMIN_TOKEN: "x".repeat(32) };
    expect(readConfig({ ...deployed, ...token }).sandbox).toBe(false);
    expect(readConfig({ ...deployed, ...token, GATEWAY_SANDBOX: "on" }).sandbox).toBe(true);
  });

  test("OPS-05 a setting that only commands read is not unknown", () => {
    const { warnings } = readConfig({ GATEWAY_KEY: "k", GATEWAY_NODE_TOKEN: "t", GATEWAY_URL: "u", GATEWAY_KEYS: "x" });
    expect(warnings).toEqual([expect.stringMatching(/^GATEWAY_KEYS: /)]);
  });

  test("SAFE-02 an operator token under 24 characters stops the start, unless a setting permits it on loopback", async () => {
    const read = (chars: number, env: Record<string, string> = {}) => {
      try {
        return readConfig({ GATEWAY_ADMIN_TOKEN: "x".repeat(chars), ...env }).warnings.length;
      } catch (error) {
        return error instanceof ConfigError ? error.message : error;
      }
    };
    expect([read(23), read(1)]).toEqual([
      expect.stringMatching(/^GATEWAY_ADMIN_TOKEN: it has only 23 characters; it needs at least 24, .*openssl rand/),
      expect.stringMatching(
        /^GATEWAY_ADMIN_TOKEN: it has only 1 character; .*GATEWAY_ADMIN_TOKEN_SHORT=on permits it$/,
      ),
    ]);
    const short = { GATEWAY_ADMIN_TOKEN_SHORT: "on" };
    for (const HOST of ["127.0.0.1", "localhost", "::1"]) expect(read(23, { ...short, HOST })).toBe(1);
    for (const HOST of ["0.0.0.0", "::", "10.0.0.7", "127.example.eu"])
      expect(read(23, { ...short, HOST })).toMatch(/only while HOST is a loopback address, and HOST is /);
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "admin-token"), "PLANTED-token\n", { mode: 0o600 });
    const gateway = spawnGateway({ DATA_DIR: folder });
    expect(await gateway.exited).toBe(1);
    expect(gateway.stderr()).toContain(`${folder}/admin-token: it has only 13 characters`);
    expect(gateway.stderr() + gateway.stdout()).not.toContain("PLANTED");
  });

  test("SAFE-02 a weak operator token causes a warning, at the start and in the doctor, that does not show it", async () => {
    const warned = (chars: number) => readConfig({ GATEWAY_ADMIN_TOKEN: "x".repeat(chars) }).warnings.length;
    expect([warned(24), warned(31), warned(32)]).toEqual([1, 1, 0]);
    const short = "PLANTED-token";
    const gateway = spawnGateway({ GATEWAY_ADMIN_TOKEN: short, GATEWAY_ADMIN_TOKEN_SHORT: "on" });
    const at = await gateway.ready();
    const answer = await fetch(`${at}/manage/doctor`, { headers: { authorization: `Bearer ${short}` } });
    const responseText = await answer.text();
    expect(JSON.parse(responseText)).toMatchObject({
      ok: true,
      checks: expect.arrayContaining([
        {
          name: "settings",
          ok: true,
          status: "warning",
          detail: expect.stringMatching(/GATEWAY_ADMIN_TOKEN: it has only 13 .* at least 32/),
        },
      ]),
    });
    expect(await gateway.stop()).toBe(0);
    const lines = gateway.stderr().split("\n");
    const [warning = "{}"] = lines.filter((line) => line.includes("GATEWAY_ADMIN_TOKEN"));
    expect(JSON.parse(warning)).toMatchObject({ level: 40, setting: expect.stringContaining("at least 32") });
    expect(responseText + gateway.stderr() + gateway.stdout()).not.toContain(short);
  });

  test("OPS-05 a setting that depends on the machine is refused the same way", async () => {
    const cases = [
      { env: { DATA_DIR: "/proc/nothing/here" }, message: /^error: DATA_DIR: \/proc\/nothing\/here cannot be used/ },
      { env: { HOST: "192.0.2.1" }, message: /^error: HOST: this machine has no address 192\.0\.2\.1/ },
      { env: { GATEWAY_MASTER_KEY: "short" }, message: /^error: GATEWAY_MASTER_KEY: must be 32 bytes/ },
    ].map(({ env, message }) => ({ gateway: spawnGateway({ ...env }), message }));
    for (const { gateway, message } of cases) {
      expect(await gateway.exited).toBe(1);
      expect(gateway.stderr()).toMatch(message);
      expect(gateway.stderr().trim().split("\n")).toHaveLength(1);
      expect(gateway.stdout()).toBe("");
    }
  });
});
