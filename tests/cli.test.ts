import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rowsAt } from "../src/cli/print.ts";
import { isJsonObject, type JsonObject } from "../src/kit/json.ts";
import { type CliResult, runCli, spawnCli, startGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;
let env: Record<string, string>;

beforeAll(async () => {
  gateway = await startGateway();
  env = { GATEWAY_URL: gateway.url, DATA_DIR: gateway.dataDir };
});
afterAll(() => gateway.close());

/** As an operator on the same machine runs it: the token is read from the data folder. */
const run = (args: readonly string[], over: Record<string, string> = {}): Promise<CliResult> =>
  runCli(args, { ...env, ...over });

/** The JSON document of a successful command. */
async function json(...args: string[]): Promise<JsonObject> {
  const { code, stdout, stderr } = await run([...args, "--json"]);
  expect([code, stderr]).toEqual([0, ""]);
  const document: unknown = JSON.parse(stdout);
  if (!isJsonObject(document)) throw new Error("no object");
  return document;
}

async function chat(key: unknown, title: string) {
  const body = { model: "sandbox/chat", messages: [{ role: "user", content: "hello" }] };
  const answer = await gateway.call(String(key), "/v1/chat/completions", { body, headers: { "x-title": title } });
  return { status: answer.status, id: answer.headers.get("x-svc-request-id") ?? "" };
}

describe("the life cycle of a workspace, by commands", () => {
  test("workspaces, members, wallet and policy", async () => {
    expect(await json("workspace", "create", "shop", "--name", "Shop", "--currency", "EUR")).toMatchObject({
      slug: "shop",
      name: "Shop",
      currency: "EUR",
    });
    expect(await json("workspace", "list")).toMatchObject({ next: null, data: [{ slug: "shop" }, { slug: "demo" }] });
    expect(await json("workspace", "show", "shop")).toMatchObject({ slug: "shop" });
    expect(await json("member", "add", "shop", "ada@example.eu", "--role", "admin")).toMatchObject({ role: "admin" });
    expect(await json("member", "list", "shop")).toMatchObject({ data: [{ email: "ada@example.eu" }], next: null });
    expect(await json("member", "policy", "shop")).toEqual({
      personal_keys: false,
      approval: false,
      ip_allowlist: null,
    });
    const policy = await json("member", "policy", "shop", "--personal-keys", "on", "--approval", "on");
    expect(policy).toEqual({ personal_keys: true, approval: true, ip_allowlist: null });
    expect(await json("wallet", "show", "shop")).toEqual({ balance: "0.00", held: "0.00", currency: "EUR" });
    await json("wallet", "credit", "shop", "10", "--note", "start", "--id", "one");
    await json("wallet", "credit", "shop", "10.00", "--id", "one");
    expect(await json("wallet", "show", "shop")).toEqual({ balance: "10.00", held: "0.00", currency: "EUR" });
    expect(await json("wallet", "entries", "shop")).toMatchObject({ data: [{ amount: "10.00", note: "start" }] });
    const set = ["policy", "set", "shop"];
    await json(...set, "--floor", "L1", "--countries", "DE,FR", "--zdr", "on", "--no-training", "on");
    await json(...set, "--block", "sandbox-us", "--allow-models", "sandbox/chat", "--parameters", "lenient");
    expect(await json("policy", "show", "shop")).toEqual({
      floor: "L1",
      countries: ["DE", "FR"],
      zero_data_retention: true,
      no_training: true,
      blocked_providers: ["sandbox-us"],
      allowed_models: ["sandbox/chat"],
      own_nodes: "subject",
      test_keys: "any",
      parameters: "lenient",
    });
    const off = ["--zdr", "off", "--no-training", "off", "--block", "", "--allow-models", "", "--parameters", "none"];
    expect(await json(...set, "--floor", "none", "--countries", "", ...off)).toEqual({
      floor: null,
      countries: null,
      zero_data_retention: false,
      no_training: false,
      blocked_providers: [],
      allowed_models: null,
      own_nodes: "subject",
      test_keys: "any",
      parameters: null,
    });
  });

  test("POL-01 a policy is previewed before it is set, and has a history", async () => {
    await json("workspace", "create", "careful");
    const preview = await json("policy", "preview", "careful", "--floor", "L2", "--block", "sandbox-fr");
    expect(preview).toMatchObject({ scope: "callable", policy: { floor: "L2", blocked_providers: ["sandbox-fr"] } });
    expect(preview["rules"]).toContainEqual(expect.objectContaining({ rule: "floor" }));
    expect(await json("policy", "preview", "careful", "--scope", "catalogue")).toMatchObject({
      scope: "catalogue",
      policy: { floor: null },
    });
    const read = (await run(["policy", "preview", "careful", "--countries", "DE"])).stdout;
    expect(read).toMatch(/^policy\.countries +DE$/m);
    expect(read).toMatch(/^RULE +CODE +OUT ENDPOINTS +OUT MODELS/m);
    expect(read).toMatch(/^sandbox\/chat +stays/m);
    expect(await json("policy", "show", "careful")).toMatchObject({ floor: null });
    await json("policy", "set", "careful", "--floor", "L2");
    expect(await json("policy", "history", "careful")).toMatchObject({
      data: [{ policy: { floor: "L2" }, by: "operator" }, { policy: { floor: null } }],
    });
    expect((await run(["policy", "history", "careful"])).stdout).toMatch(/^VERSION +CREATED AT +BY +POLICY\n/);
  });

  test("KEY-06 keys: create with every flag, set, rotate, revoke, approve", async () => {
    const flags = ["--name", "job", "--env", "test", "--scopes", "inference:chat,inference:models"];
    const more = ["--ip", "10.0.0.0/8,2001:db8::/32", "--expires", "2020-01-01T00:00:00Z", "--rpm", "1000000"];
    const made = await json("key", "create", "shop", ...flags, ...more);
    expect(made).toMatchObject({
      prefix: "sk_svc_test_",
      name: "job",
      environment: "test",
      expires_at: "2020-01-01T00:00:00.000Z",
    });
    const id = String(made["id"]);
    expect(await json("key", "show", id)).toMatchObject({
      scopes: ["inference:chat", "inference:models"],
      ip_allowlist: ["10.0.0.0/8", "2001:db8::/32"],
      rpm: 1_000_000,
      state: "expired",
    });
    const cleared = await json(
      "key",
      "set",
      id,
      "--scopes",
      "",
      "--ip",
      "",
      "--expires",
      "",
      "--rpm",
      "",
      "--name",
      "x",
    );
    expect(cleared).toMatchObject({ scopes: null, ip_allowlist: null, expires_at: null, rpm: null, name: "x" });
    const rotated = await json("key", "rotate", id, "--grace", "12h");
    expect(rotated).toMatchObject({ name: "x", environment: "test", prefix: "sk_svc_test_" });
    expect(rotated["key"]).not.toBe(made["key"]);
    expect(await json("key", "revoke", id)).toMatchObject({ state: "revoked" });
    const waiting = await json("key", "create", "shop", "--personal", "ada@example.eu");
    expect(waiting).toMatchObject({ prefix: "sk_svc_user_live_", environment: "live" });
    expect(await json("key", "show", String(waiting["id"]))).toMatchObject({ state: "pending" });
    expect(await json("key", "approve", String(waiting["id"]))).toMatchObject({ state: "active" });
    expect(await json("member", "remove", "shop", "ada@example.eu")).toMatchObject({ revoked_keys: [waiting["id"]] });
    const { data } = await json("key", "list", "shop");
    expect(Array.isArray(data) && data.length).toBe(3);
  });

  test("POL-01 keys have their own policy: the flags of `policy set`, and an empty string clears", async () => {
    const flags = ["--floor", "L2", "--countries", "de,fr", "--zdr", "on", "--no-training", "on"];
    const more = ["--block", "sandbox-us", "--allow-models", "sandbox/chat"];
    const made = await json("key", "create", "shop", ...flags, ...more);
    expect(Object.keys(made)).toEqual(["id", "key", "prefix", "name", "environment", "expires_at"]);
    const id = String(made["id"]);
    const whole = {
      floor: "L2",
      countries: ["DE", "FR"],
      zero_data_retention: true,
      no_training: true,
      blocked_providers: ["sandbox-us"],
      allowed_models: ["sandbox/chat"],
      own_nodes: "subject",
      test_keys: "any",
      parameters: null,
    };
    expect((await json("key", "show", id))["policy"]).toEqual(whole);
    const set = await json("key", "set", id, "--countries", "", "--floor", "");
    expect(set["policy"]).toEqual({ ...whole, floor: null, countries: null });
    const rotated = await json("key", "rotate", id);
    expect(Object.keys(rotated)).toEqual(Object.keys(made));
    expect(await json("key", "show", String(rotated["id"]))).toMatchObject({ policy: set["policy"] });
    const off = ["--zdr", "off", "--no-training", "off", "--block", "", "--allow-models", ""];
    expect((await json("key", "set", id, ...off))["policy"]).toBeNull();
    expect((await run(["key", "list", "shop"])).stdout).toContain("POLICY");
  });

  test("ROUTE-01 ROUTE-07 routers: put, list, show, history, restore, delete, explain and replay", async () => {
    await json("workspace", "create", "market");
    await json("wallet", "credit", "market", "10");
    const folder = mkdtempSync(path.join(tmpdir(), "gateway-router-"));
    const file = (name: string, content: unknown) => {
      writeFileSync(path.join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
      return path.join(folder, name);
    };
    const spec = {
      weights: { quality: 1, cost: 2, latency: 0 },
      floor: "L2",
      quality_floor: null,
      countries: ["DE", "FR"],
      models: ["sandbox/chat"],
      fallback: [],
      reasoning_effort: null,
    };
    const put = await json("router", "put", "market", "eu", "--file", file("router.json", spec));
    expect(put).toEqual({
      nodes: null,
      slug: "eu",
      name: "@market/eu",
      version: 1,
      created_at: put["created_at"],
      ...spec,
    });
    const open = file("open.json", { models: ["sandbox/chat"], weights: { cost: 1 } });
    expect(await json("router", "put", "market", "eu", "--file", open)).toMatchObject({ version: 2, floor: null });
    expect(await json("router", "list", "market")).toMatchObject({ data: [{ slug: "eu", version: 2 }], next: null });
    expect(await json("router", "history", "market", "eu")).toMatchObject({
      data: [{ version: 2 }, { version: 1, spec }],
    });
    expect(await json("router", "restore", "market", "eu", "1")).toMatchObject({ version: 3, floor: "L2" });
    expect(await json("router", "show", "market", "eu")).toMatchObject({ version: 3, floor: "L2" });

    const { key } = await json("key", "create", "market");
    expect((await chat(key, "replayed")).status).toBe(200);
    const body = file("body.json", { messages: [{ role: "user", content: "hello" }] });
    const explained = await json("router", "explain", "market", "eu", "--request", body);
    expect(explained).toMatchObject({ model: "@market/eu", router: { version: 3 }, refusal: null });
    expect(explained["order"]).not.toContainEqual(expect.stringContaining("sandbox-us"));
    const auto = await json("router", "explain", "market", "auto", "--request", body, "--surface", "chat");
    expect(auto).toMatchObject({ model: "auto", router: null });
    const fromRequest = await run(["router", "explain", "market", "sandbox/chat", "--request", body]);
    expect(fromRequest.stdout).toMatch(/^candidates\nENDPOINT +LEVEL +OUTCOME +EXPECTED COST/m);
    const replayed = await json("router", "replay", "market", "eu", "--since", "2020-01-01", "--limit", "10000");
    expect(replayed).toMatchObject({ router: "@market/eu", version: 3, compared: expect.any(Number) });
    expect(Number(replayed["compared"])).toBeGreaterThan(0);
    expect(await json("router", "replay", "market", "eu", "--file", open, "--model", "sandbox/chat")).toMatchObject({
      version: null,
    });
    const shown = (await run(["router", "replay", "market", "eu"])).stdout;
    expect(shown).toMatch(/^happened.cost +\d/m);
    expect(shown).toMatch(/^LEVEL +HAPPENED +REPLAYED\nL\d +\d+ +\d+$/m);

    for (const wrong of [file("broken.json", "{"), file("list.json", "[]"), path.join(folder, "none.json")]) {
      const { code, stdout, stderr } = await run(["router", "put", "market", "eu", "--file", wrong]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(wrong);
    }
    const { stderr } = await run(["router", "put", "market", "eu", "--file", file("bad.json", { floor: "L9" })]);
    expect(stderr).toContain("floor");
    expect(await json("router", "delete", "market", "eu")).toEqual({ slug: "eu", version: 4, removed: true });
    expect(await json("router", "list", "market")).toEqual({ data: [], next: null });
  });

  test("LOG-02 the log is listed, filtered, shown and exported as JSON lines and CSV", async () => {
    const { key, id: keyId } = await json("key", "create", "shop", "--name", "logged");
    const first = await chat(key, "=1+1");
    const second = await chat(key, 'say "hi", you');
    expect([first.status, second.status]).toEqual([200, 200]);
    const listed = await json("log", "list", "shop", "--limit", "1", "--key", String(keyId), "--status", "200");
    expect(listed).toMatchObject({ data: [{ id: second.id, key_name: "logged" }], next: expect.any(String) });
    expect(await json("log", "list", "shop", "--cursor", String(listed["next"]))).toMatchObject({
      data: [{ id: first.id }],
    });
    expect(await json("log", "show", first.id)).toMatchObject({
      id: first.id,
      workspace: "shop",
      decision: { order: expect.any(Array) },
    });
    const lines = (await run(["log", "export", "shop", "--format", "jsonl"])).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([second.id, first.id]);
    const csv = (await run(["log", "export", "shop", "--format", "csv", "--env", "live"])).stdout.split("\r\n");
    expect(csv[0]).toMatch(/^id,created_at,key_id,key_name,member,environment,app,surface,/);
    expect(csv[1]).toContain('"say ""hi"", you"');
    expect(csv[2]).toContain(",'=1+1,");
    expect(csv.length).toBe(4);
    expect(await json("log", "export", "shop", "--until", "2020-01-01")).toEqual({ data: [], next: null });
  });

  test("PORTAL-10 balances of all workspaces, endpoints and settings are listed", async () => {
    const { data } = await json("workspace", "balances");
    expect(data).toContainEqual(expect.objectContaining({ slug: "shop", currency: "EUR", held: "0.00" }));
    expect(await json("workspace", "balances", "--search", "DEMO")).toMatchObject({ data: [{ slug: "demo" }] });
    expect((await run(["workspace", "balances"])).stdout).toMatch(/^SLUG +BALANCE +HELD +SPENT THIS MONTH +CURRENCY /);
    const filtered = await json("endpoint", "list", "--used", "--model", "sandbox/chat", "--state", "in");
    expect(filtered["data"]).toContainEqual(expect.objectContaining({ model: "sandbox/chat", state: "in" }));
    expect(await json("endpoint", "list", "--provider", "mistral", "--used")).toMatchObject({ data: [] });
    expect((await run(["endpoint", "list"])).stdout).toMatch(/^ID +STATE +CIRCUIT OPEN UNTIL +CONSECUTIVE FAILURES /);
    const settings = await json("settings");
    expect(settings["data"]).toContainEqual(expect.objectContaining({ name: "GATEWAY_RPM_TEST", value: "30" }));
    const read = (await run(["settings"])).stdout;
    expect(read).toMatch(/^GATEWAY_RPM_TEST +30 +yes +default +30$/m);
    expect(read).toMatch(/^version +\d/m);
    expect(await json("wallet", "top-up", "shop")).toMatchObject({ currency: "EUR", ways: [] });
  });

  test("OPS-01 doctor --components lists every component after its dependencies, without a running gateway", async () => {
    const components = rowsAt(await json("doctor", "--components"), "data").filter(isJsonObject);
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["log", "storage", "journal", "listener", "traffic"]));
    for (const [index, component] of components.entries())
      expect(names.slice(0, index)).toEqual(expect.arrayContaining(rowsAt(component, "depends_on").slice()));
    const { code, stdout } = await gateway.cli("doctor", "--components");
    expect([code, stdout.split("\n")[0]]).toEqual([0, expect.stringMatching(/^ORDER +NAME +DEPENDS ON/)]);
  });

  test("providers and the audit log are listed, and doctor reports a healthy gateway", async () => {
    const { data } = await json("provider", "list");
    expect(data).toContainEqual(expect.objectContaining({ slug: "sandbox-de", connected: true, sandbox: true }));
    expect(await json("audit", "list", "--workspace", "shop", "--limit", "1")).toMatchObject({
      data: [{ workspace: "shop" }],
    });
    expect(await json("doctor")).toMatchObject({ ok: true, checks: expect.any(Array) });
  });
});

describe("without --json", () => {
  test("lists are tables and single objects are records", async () => {
    const list = await run(["workspace", "list"]);
    expect(list.stdout).toMatch(/^SLUG +NAME +CURRENCY +CREATED AT +ID\n/);
    const show = await run(["wallet", "show", "demo"]);
    expect(show.stdout).toMatch(/^balance {3}\d+\.\d+\nheld {6}0\.00\ncurrency {2}EUR\n$/);
  });

  test("a new key comes with the advice to copy it, on stderr", async () => {
    const { stdout, stderr } = await run(["key", "create", "demo", "--env", "test"]);
    expect(stdout).toMatch(/^key {10}sk_svc_test_[\w-]{43}$/m);
    expect(stderr).toContain("not shown again");
  });

  test("so do a new token, an invitation and a password link; a key pending approval says so", async () => {
    const token = await run(["token", "create", "demo", "--name", "ci", "--access", "read"]);
    expect(token.stderr).toContain("Copy the token now: it is not shown again.");
    const invited = await run(["invitation", "create", "demo", "eva@example.eu"]);
    expect(invited.stderr).toContain("Copy the link now: it is not shown again.");
    await json("workspace", "create", "waits");
    await json("member", "policy", "waits", "--personal-keys", "on", "--approval", "on");
    await json("member", "add", "waits", "eva@example.eu");
    const { stdout, stderr } = await run(["key", "create", "waits", "--personal", "eva@example.eu"]);
    const id = /^id +(\S+)$/m.exec(stdout)?.[1];
    expect(stderr).toContain(`It needs approval: gateway key approve ${id}`);
  });

  test("an empty usage list says that test keys are excluded", async () => {
    await json("workspace", "create", "quiet");
    const { stdout } = await run(["log", "usage", "quiet"]);
    expect(stdout).toMatch(/^\(none\)\n\n.*test keys.*--env all/);
  });

  test("a command without a setting is refused, and amounts out of range name their bounds", async () => {
    const bare = await run(["alert", "set", "demo"]);
    expect(bare).toMatchObject({ code: 2, stderr: expect.stringContaining("specify at least one setting to change") });
    const tooMuch = await run(["wallet", "credit", "demo", "99999999999999999999"]);
    expect(tooMuch).toMatchObject({ code: 1, stderr: expect.stringContaining("at most 1000000000") });
    const below = await run(["limits", "set", "demo", "--day", "-1"]);
    expect(below).toMatchObject({ code: 2, stderr: expect.stringContaining("Must be zero or a positive decimal") });
  });

  test.each([
    ["wallet", "show", "nope"],
    ["capture", "close", "nope"],
    ["router", "show", "demo", "nope"],
    ["workspace", "create", "odd", "--currency", "XXX"],
    ["provider", "test", "nope"],
    ["provider", "test", "mistral"],
    ["provider", "disconnect", "mistral", "--workspace", "demo"],
    ["alert", "rotate-secret", "demo"],
    ["probe", "--endpoint", "nope"],
    ["person", "sign-out", "nope"],
    ["rates", "fetch"],
  ])("%s %s %s is refused with a message in terms of the command line", async (...words) => {
    const { code, stderr } = await run(words);
    expect(code).toBe(1);
    expect(stderr).toMatch(/[(`]gateway [a-z-]+ [a-z-]+.*[)`]/);
    expect(stderr).not.toMatch(/\b(GET|PUT|POST|PATCH|DELETE)\b|\/manage|\/v1/);
  });

  test("purged content of a capture window is shown as purged", async () => {
    await json("capture", "open", "demo", "--minutes", "5");
    const { stdout } = await run(["capture", "close", "demo", "--purge"]);
    expect(stdout).toMatch(/PURGED AT/);
    expect(stdout).toMatch(/closed .*\d{4}-\d\d-\d\dT.*\d{4}-\d\d-\d\dT.*\d{4}-\d\d-\d\dT/);
  });
});

test("as a process: success exits with 0, a refusal with 1, a usage error with 2", async () => {
  const typed = (...args: string[]) => spawnCli(args, env);
  const [shown, refused, wrong] = await Promise.all([
    typed("workspace", "show", "demo", "--json"),
    typed("key", "list", "nowhere"),
    typed("nonsense"),
  ]);
  expect(shown).toMatchObject({ code: 0, stderr: "", json: { slug: "demo" } });
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^error: .*nowhere.*\n$/) });
  expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("unknown command") });
});

describe("errors", () => {
  test.each([
    [["workspace", "create", "demo"], "There is already"],
    [["workspace", "create", "Not A Slug"], "lowercase"],
    [["key", "list", "nowhere"], "nowhere"],
    [["key", "rotate", "key_none"], "key_none"],
    [["key", "create", "demo", "--scopes", "inference:all"], "scopes"],
    [["policy", "set", "demo", "--block", "no-such-provider"], "no-such-provider"],
    [["log", "show", "chatcmpl-none"], "chatcmpl-none"],
  ])("%j is refused: exit 1, message on stderr, nothing on stdout", async (args, named) => {
    const { code, stdout, stderr } = await run([...args, "--json"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(named);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test.each([
    [[]],
    [["key"]],
    [["nonsense"]],
    [["key", "create"]],
    [["key", "create", "demo", "--rpm", "0"]],
    [["migrate-store"]],
    [["migrate-store", "--to", "mysql://host/db"]],
    [["node", "connect", "--url", "nowhere", "--upstream", "http://127.0.0.1:1/v1", "--token", "t"]],
  ])("%j is a usage error: exit 2, message on stderr, nothing on stdout", async (args: string[]) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).not.toBe("");
  });

  test("no gateway: exit 1 with the command to start one", async () => {
    const { code, stderr } = await run(["workspace", "list"], { GATEWAY_URL: "", PORT: "1029" });
    expect(code).toBe(1);
    expect(stderr).toContain("gateway serve");
  });

  test("a wrong token is reported clearly", async () => {
    const { code, stderr } = await run(["workspace", "list"], { GATEWAY_ADMIN_TOKEN: "wrong" });
    expect(code).toBe(1);
    expect(stderr).toContain("operator token");
  });
});

describe("without a running gateway", () => {
  test("help and version are answered", async () => {
    const help = await run(["--help"]);
    expect(help.code).toBe(0);
    for (const word of ["serve", "workspace", "key", "wallet", "policy", "router", "log", "doctor", "catalogue"])
      expect(help.stdout).toContain(word);
    const headings = [...help.stdout.matchAll(/^(\w[\w ]+):$/gm)].map(([, heading]) => heading);
    expect(headings.slice(0, 4)).toEqual(["Options", "Start", "Workspaces and people", "Access and limits"]);
    expect((await run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(["key", "create", "--help"])).stdout).toContain("--personal <email>");
    expect((await run(["connect", "--help"])).stdout).toMatch(/"claude-code", "codex",\s+"opencode",\s+"continue"/);
    expect((await run(["person", "operator", "--help"])).stdout).toContain("on or off");
  });

  test("CLASS-01 data-class test finds, places and redacts in a text, and refuses an unknown class", async () => {
    const text = "Write to jane.doe@example.com about Atlas.";
    const terms = path.join(mkdtempSync(path.join(tmpdir(), "gateway-terms-")), "terms.txt");
    writeFileSync(terms, "atlas\n");
    const { code, stdout } = await run(["data-class", "test", "--text", text, "--terms", terms, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      findings: [
        { class: "personal", detector: "x.email", offset: 9, length: 20 },
        { class: "terms", detector: "list.terms", offset: 36, length: 5 },
      ],
      counts: { personal: 1, terms: 1 },
      redacted: "Write to [EMAIL] about [TERMS].",
    });
    expect((await run(["data-class", "test", "--text", text])).stdout).toContain("personal=1");
    expect((await run(["data-class", "test", "--text", "nothing here"])).stdout).toBe("Nothing found.\n");
    expect((await run(["data-class", "test", "--text", text, "--class", "people"])).stderr).toContain(
      "personal, special",
    );
    expect((await run(["data-class", "test"])).code).not.toBe(0);
    const { data } = JSON.parse((await run(["data-class", "detectors", "--json"])).stdout);
    expect(data).toContainEqual(expect.objectContaining({ id: "nl.bsn", class: "personal", confidence: "high" }));
    expect((await run(["data-class", "detectors"])).stdout).toContain("secret.github");
  });

  test("catalogue check accepts the shipped catalogue, and names file and field of an invalid one", async () => {
    expect((await run(["catalogue", "check"])).code).toBe(0);
    const folder = mkdtempSync(path.join(tmpdir(), "gateway-catalogue-"));
    writeFileSync(path.join(folder, "currencies.json"), '{"currencies":[{"code":5}]}');
    const { code, stdout } = await run(["catalogue", "check", folder, "--json"]);
    expect(code).toBe(1);
    const { ok, problems } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(problems[0]).toMatchObject({ file: expect.stringContaining("currencies.json"), field: expect.any(String) });
  });
});
