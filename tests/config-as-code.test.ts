import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type CliResult, type Json, runCli, startGateway, type TestGateway } from "./support/gateway.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
let gateway: TestGateway;
const folder = mkdtempSync(path.join(tmpdir(), "config-"));
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WEBHOOK_PRIVATE: "on", GATEWAY_DETECTOR_PRIVATE: "on" } });
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

const run = (...args: readonly string[]): Promise<CliResult> =>
  runCli(args, { GATEWAY_URL: gateway.url, DATA_DIR: gateway.dataDir });

let files = 0;
function write(text: string): string {
  files += 1;
  const file = path.join(folder, `${files}.yaml`);
  writeFileSync(file, text);
  return file;
}

async function json(...args: readonly string[]): Promise<Json> {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const apply = (text: string, ...more: readonly string[]) => run("apply", "-f", write(text), ...more);
const agreed = { code: 0, stdout: "The gateway agrees with the file.\n", stderr: "" };

/** Every section, with values in another notation than the gateway shows. */
const WHOLE = (slug: string) => `
version: 1
workspaces:
  ${slug}:
    name: Research
    currency: EUR
    key_policy: { personal_keys: true, ip_allowlist: [203.0.113.0/24, 2001:db8::/32, 127.0.0.1] }
    data_classes:
      projects: { terms: [Bluebird, Nightjar], patterns: ["PRJ-[0-9]{4}"] }
    policy:
      floor: L1
      countries: [fr, DE]
      allowed_models: []
      data_classes: { projects: { action: redact, below: L4 }, secret: { action: block } }
      cache: { ttl: 3600, coalesce: true, requests: forbid }
    routers:
      cheap: { weights: { cost: 3 }, models: [sandbox/chat], countries: [de], floor: none, cache: { ttl: 60 } }
    limits: { day: "5", month: "100.50" }
    keys:
      ci:
        environment: test
        scopes: [inference:models, inference:chat]
        expires_at: 2099-01-01T00:00:00+01:00
        rpm: 60
        policy: { floor: L2, no_training: true }
        spend_limits: { day: "1.5" }
    nodes:
      rack: { country: fr, mapping: { "llama3:8b": sandbox/chat } }
    alerts: { low_balance: "0.01", limit_percents: [100, 50], mail_to: [], webhook_url: "http://127.0.0.1:9/hook" }
`;

describe("apply", () => {
  const secrets = path.join(folder, "secrets.json");

  test("OPS-22 a plan lists every change and makes none", async () => {
    const { code, stdout } = await apply(WHOLE("planned"), "--plan");
    expect(code).toBe(0);
    expect(stdout).toContain("  + workspace\n      name: Research\n      currency: EUR\n");
    expect(stdout).toContain('  ~ policy\n      floor: none → L1\n      countries: none → ["DE","FR"]\n');
    expect(stdout).toContain("  + key ci\n");
    expect(stdout).toMatch(/Plan: 5 to create, 4 to change, 0 to remove\.\n$/);
    expect((await run("workspace", "show", "planned")).code).toBe(1);
  });

  test("OPS-22 all sections are applied once: the same file then changes nothing, and neither does its export", async () => {
    const file = WHOLE("research");
    const applied = await apply(file, "--secrets", secrets);
    expect([applied.code, applied.stderr]).toEqual([0, ""]);
    expect(applied.stdout).toMatch(/Applied 9 changes\.\n$/);
    expect(await apply(file)).toEqual(agreed);
    expect(await apply((await run("config", "export", "research")).stdout, "--check")).toEqual(agreed);
    expect(await json("policy", "show", "research")).toMatchObject({ floor: "L1", countries: ["FR", "DE"] });
    expect(await json("limits", "show", "research")).toMatchObject({
      day: { limit: "5.00" },
      month: { limit: "100.50" },
    });
    expect(await json("router", "show", "research", "cheap")).toMatchObject({
      version: 1,
      models: ["sandbox/chat"],
      cache: { ttl: 60 },
    });
  });

  test("OPS-22 KEY-01 secrets are in a file of their owner alone, never in the output, and work", async () => {
    expect(statSync(secrets).mode & 0o777).toBe(0o600);
    const { research }: Json = JSON.parse(readFileSync(secrets, "utf8"));
    expect(Object.keys(research)).toEqual(["key ci", "node rack", "alerts"]);
    const { status } = await gateway.call(research["key ci"], "/v1/models");
    expect(status).toBe(200);
  });

  test("OPS-22 without a file for secrets, or with one that exists, nothing is changed", async () => {
    const refused = await apply(WHOLE("unsaved"));
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toMatch(/Name a new file for them with --secrets\. Nothing was changed\./);
    const taken = await apply(WHOLE("unsaved"), "--secrets", secrets);
    expect([taken.code, taken.stderr.includes("cannot be created")]).toEqual([1, true]);
    expect((await run("workspace", "show", "unsaved")).code).toBe(1);
  });

  test("OPS-22 drift is shown with both values and ends with 1; apply corrects it and leaves other fields", async () => {
    const file = write(
      "version: 1\nworkspaces: { drifting: { policy: { floor: L2 }, routers: { one: { floor: L3 } } } }",
    );
    expect((await run("apply", "-f", file)).code).toBe(0);
    await run("policy", "set", "drifting", "--floor", "L1", "--zdr", "on");
    const router = write('{"floor":"L3","quality_floor":0.5}');
    await run("router", "put", "drifting", "one", "--file", router);
    const drift = await run("apply", "-f", file, "--check");
    expect(drift.code).toBe(1);
    expect(drift.stdout).toContain(
      "  ~ policy\n      floor: L1 → L2\n  ~ router one\n      quality_floor: 0.5 → none\n",
    );
    const { changes }: Json = await json("apply", "-f", file);
    expect(changes).toHaveLength(2);
    expect(await json("policy", "show", "drifting")).toMatchObject({ floor: "L2", zero_data_retention: true });
    expect(await run("apply", "-f", file, "--check")).toEqual(agreed);
  });

  test("OPS-22 what the file does not list stays and is named; --prune removes it, personal keys never", async () => {
    const config = (extra: string) =>
      `version: 1\nworkspaces: { pruned: { key_policy: { personal_keys: true }, data_classes: { ${extra} }, keys: {}, routers: {} } }`;
    await apply(config("words: { terms: [Bluebird] }"));
    await run("router", "put", "pruned", "old", "--file", write("{}"));
    await run("member", "add", "pruned", "ada@example.eu");
    const own = await json("key", "create", "pruned", "--name", "own", "--personal", "ada@example.eu");
    const job = await json("key", "create", "pruned", "--name", "job");
    const left = await apply(config(""));
    expect(left.stdout).toContain(
      "--prune would remove:\n  pruned: data class words\n  pruned: router old\n  pruned: key job\n",
    );
    const pruned = await apply(config(""), "--prune");
    expect(pruned.stdout).toContain("  - key job\n  - router old\n  - data class words\n");
    const states = await Promise.all([own, job].map(async ({ id }) => (await json("key", "show", id)).state));
    expect(states).toEqual(["active", "revoked"]);
    expect(await apply(config(""), "--prune", "--check")).toEqual(agreed);
  });

  test("OPS-22 POL-01 a policy that ends models in use is applied with a warning that names them", async () => {
    await apply("version: 1\nworkspaces: { using: { policy: { floor: none } } }");
    await run("wallet", "credit", "using", "5");
    const { key } = await json("key", "create", "using");
    await gateway.call(key, "/v1/chat/completions", {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "hello" }] },
    });
    await expect
      .poll(async () => (await apply("version: 1\nworkspaces: { using: { policy: { floor: L4 } } }", "--plan")).stdout)
      .toContain("warning: using: the policy ends sandbox/chat, which served 1 requests in the last 30 days");
  });
});

describe("files that cannot be applied", () => {
  test.each([
    [
      "version: 1\nworkspaces:\n  a:\n    policy:\n      flor: L3\n",
      /:5: workspaces\.a\.policy\.flor is not a known field/,
    ],
    [
      "version: 1\nworkspaces:\n  a:\n    limits:\n      day: 5\n",
      /:5: workspaces\.a\.limits\.day must be a decimal string/,
    ],
    ["version: 2\nworkspaces: {}\n", /:1: version /],
    ["version: 1\nworkspaces:\n  a: {}\n  a: {}\n", /:4: Map keys must be unique/],
    ["version: 1\nworkspaces: [\n", /:\d: /],
    ["", /the file /],
    [
      `a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]\n`,
      /alias/i,
    ],
  ])("OPS-22 %j is refused with line and field, before anything is changed", async (text, message) => {
    const { code, stdout, stderr } = await apply(text);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("OPS-22 what cannot be changed, and what the gateway refuses in a policy, ends the plan", async () => {
    await apply("version: 1\nworkspaces: { fixed: { currency: EUR } }");
    const currency = await apply("version: 1\nworkspaces: { fixed: { name: New, currency: USD } }");
    expect(currency.stderr).toContain("workspaces.fixed.currency: the wallet is in EUR, which cannot be changed.");
    const policy = await apply(
      "version: 1\nworkspaces: { fixed: { name: New, policy: { allowed_models: [acme/none] } } }",
    );
    expect([policy.code, policy.stderr]).toEqual([1, expect.stringContaining("acme/none")]);
    expect(await json("workspace", "show", "fixed")).toMatchObject({ name: "fixed" });
  });

  test("OPS-22 CLASS-01 a data class with an external detector stays as it is", async () => {
    const config = (term: string) =>
      `version: 1\nworkspaces: { detecting: { data_classes: { people: { terms: [${term}] } } } }`;
    await apply(config("Bluebird"));
    const detector = { url: "http://127.0.0.1:9/analyze", language: "en", country: "DE", token: "t" };
    await gateway.manage("PUT", "/workspaces/detecting/data-classes/people", { terms: ["Bluebird"], detector });
    expect(await apply(config("Bluebird"))).toEqual(agreed);
    const refused = await apply(config("Nightjar"));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("people: has an external detector")]);
  });

  test("OPS-22 a change that is refused midway names it and how many were made, and keeps the secrets of those", async () => {
    const file = path.join(folder, "midway.json");
    const failed = await apply(
      "version: 1\nworkspaces: { midway: { keys: { first: {}, second: { policy: { allowed_models: [acme/none] } } } } }",
      "--secrets",
      file,
    );
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/midway: key second: .*acme\/none/);
    expect(failed.stderr).toContain("Changes applied before it: 2 of 3.");
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).midway)).toEqual(["key first"]);
    expect(existsSync(file)).toBe(true);
  });
});

describe("for editors and pipelines", () => {
  test("OPS-22 the printed schema is the one in the documents, and every example in the guide fits the file", async () => {
    const { stdout } = await run("config", "schema");
    expect(stdout).toBe(readFileSync(path.join(ROOT, "docs/config.schema.json"), "utf8"));
    const guide = readFileSync(path.join(ROOT, "docs/guides/config-as-code.md"), "utf8");
    const examples = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);
    const files = examples.filter((text) => text.includes("workspaces:"));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect((await apply(file, "--plan")).stderr).toBe("");
  });

  test("OPS-22 the action of the example pipeline plans, applies and finds drift", async () => {
    const action = parse(readFileSync(path.join(ROOT, "deploy/github-action/action.yml"), "utf8"));
    const pipeline = parse(readFileSync(path.join(ROOT, "deploy/github-action/example-pipeline.yml"), "utf8"));
    const steps: Json[] = Object.values<Json>(pipeline.jobs).flatMap((job) => job.steps);
    const used = steps.filter(({ uses }) => uses?.includes("github-action"));
    expect(used.map((step) => step.with.mode)).toEqual(["plan", "apply", "check"]);
    for (const step of used) expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
    const file = write("version: 1\nworkspaces: { piped: { policy: { floor: L2 } } }");
    const script: string = action.runs.steps.at(-1).run;
    const env = { PATH: `${path.join(ROOT, "bin")}:${process.env["PATH"]}`, GATEWAY_URL: gateway.url };
    const token = { GATEWAY_ADMIN_TOKEN: gateway.adminToken, CONFIG_FILE: file, SECRETS_FILE: "", PRUNE: "false" };
    const codes: number[] = [];
    for (const mode of ["plan", "check", "apply", "check", "destroy"])
      codes.push(await bash(script, { ...env, ...token, MODE: mode }));
    expect(codes).toEqual([0, 1, 0, 0, 2]);
  });
});

/** As a runner calls it: the gateway answers in this process meanwhile. */
async function bash(script: string, env: Record<string, string>): Promise<number> {
  const child = spawn("bash", ["-eo", "pipefail", "-c", script], { env, stdio: "ignore" });
  const [code] = await once(child, "exit");
  return Number(code);
}
