import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { PrepareStore, ReadCatalogue } from "../../src/bootstrap/gateway-components.ts";
import { runCommandLine } from "../../src/cli/run-typed.ts";
import { isoDay } from "../../src/domain/catalogue/levels.ts";
import { type CatalogueLoadResult, loadCatalogue } from "../../src/domain/catalogue/load.ts";
import { catalogueFiles } from "../../src/io/catalogue-files.ts";
import type { HashCost } from "../../src/kit/password-hasher.ts";
import { start } from "../../src/main.ts";
import { readConfig } from "../../src/settings/config.ts";
import { expectDocumented } from "./documented-responses.ts";
import { callHttp } from "./http-call.ts";
import { COMPILED, PROGRAM } from "./program.ts";
import { quietShell } from "./shell.ts";
import { layTables } from "./tables.ts";

export type CliResult = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly json: unknown;
};

export type Tenant = { readonly slug: string; readonly key: string; readonly keyId: string };

export type TestGateway = {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  readonly adminToken: string;
  /** The test key of the demo workspace. */
  readonly key: string;
  readonly dataDir: string;
  /** The set-up link; undefined once there is a person. */
  readonly setupLink: string | undefined;
  /** Calls the management API; throws unless the status is 2xx. */
  manage(method: string, path: string, body?: unknown): Promise<Record<string, never> & Json>;
  /** A call with a key, for JSON routes. */
  call(key: string, path: string, init?: CallInit): Promise<Called>;
  /** A workspace of its own with credit and a live key. */
  tenant(options?: { credit?: string; currency?: string; key?: Record<string, unknown> }): Promise<Tenant>;
  cli(...args: string[]): Promise<CliResult>;
  close(idle?: "close" | "keep"): Promise<void>;
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are asserted field by field in tests
export type Json = any;

export type CallInit = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
};
export type Called = { readonly status: number; readonly headers: Headers; readonly body: Json; readonly text: string };

const OF_THE_USER = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
let tenants = 0;

const catalogues = new Map<string, Promise<CatalogueLoadResult>>();

/** The shipped catalogue cannot be changed, and takes half of a gateway's start: it is read once, or once a day. */
const sharedCatalogue: ReadCatalogue = (folders, nowMs) => {
  const name = [...folders, isoDay(nowMs)].join(" ");
  const read = catalogues.get(name) ?? loadCatalogue(folders, nowMs, catalogueFiles);
  catalogues.set(name, read);
  return read;
};

/** A password at the full cost takes 19 MiB and tens of milliseconds. */
const CHEAP_HASHES: HashCost = { memoryKib: 64, passes: 1, lanes: 1 };

/** A whole gateway in this process, on a free port with its own data directory; the caller closes it. */
export async function startGateway(
  options: { env?: Record<string, string>; dataDir?: string; prepare?: PrepareStore; hashCost?: HashCost } = {},
): Promise<TestGateway> {
  const dataDir = options.dataDir ?? (await mkdtemp(path.join(os.tmpdir(), "gateway-test-")));
  if (options.dataDir === undefined && options.env?.["DATABASE_URL"] === undefined) await layTables(dataDir);
  // Only tests call scripted upstreams, and they send many wrong tokens.
  const quiet = { LOG_LEVEL: "silent", GATEWAY_PROOF_EVERY: "never", GATEWAY_ADMIN_TOKEN_TRIES: "1000000" };
  const env = { PORT: "0", DATA_DIR: dataDir, ...quiet, ...options.env };
  const config = readConfig(env);
  const readCatalogue = config.GATEWAY_CATALOGUE_DIR === null ? sharedCatalogue : undefined;
  const { hashCost = CHEAP_HASHES } = options;
  const running = await start(config, { prepareStore: options.prepare, readCatalogue, hashCost });
  await running.ready();
  let closed = false;
  const close: TestGateway["close"] = async (idle) => {
    if (closed) return;
    closed = true;
    await running.stop(idle);
    agent.destroy();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  const url = running.origin;
  const agent = new Agent({ keepAlive: true });
  const call = async (key: string, where: string, init: CallInit = {}): Promise<Called> => {
    const body =
      init.body === undefined ? undefined : typeof init.body === "string" ? init.body : JSON.stringify(init.body);
    const method = init.method ?? (body === undefined ? "GET" : "POST");
    const reply = await callHttp(agent, `${url}${where}`, {
      method,
      headers: {
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...init.headers,
      },
      body,
      signal: init.signal,
    });
    const answer = { ...reply, body: parsed(reply.text) };
    expectDocumented(method, where, answer);
    return answer;
  };
  const manage: TestGateway["manage"] = async (method, where, body) => {
    const answer = await call(running.adminToken, `/manage${where}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status >= 300) throw new Error(`${method} /manage${where}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return {
    url,
    adminToken: running.adminToken,
    key: running.firstKey ?? "",
    dataDir,
    setupLink: running.setupLink,
    call,
    manage,
    async tenant({ credit = "100", currency = "EUR", key = {} } = {}) {
      tenants += 1;
      const slug = `team-${tenants}`;
      await manage("POST", "/workspaces", { slug, currency });
      if (credit !== "0") await manage("POST", `/workspaces/${slug}/wallet/credits`, { amount: credit });
      const made = await manage("POST", `/workspaces/${slug}/keys`, { name: "key", environment: "live", ...key });
      return { slug, key: made.key, keyId: made.id };
    },
    cli: (...args) => runCli(args, { GATEWAY_URL: url, GATEWAY_ADMIN_TOKEN: running.adminToken }),
    close,
  };
}

/** As `startGateway`, closed at the end of the running test. */
export async function gatewayForTest(options: Parameters<typeof startGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await startGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A command, run in this process. */
export async function runCli(args: readonly string[], env: Record<string, string>): Promise<CliResult> {
  const { shell, stdout, stderr } = quietShell({ ...OF_THE_USER, ...env });
  const { exitCode } = await runCommandLine(args, shell);
  return { code: exitCode, stdout: stdout(), stderr: stderr(), json: parsed(stdout()) };
}

/** A command in its own process: for what only a process shows. */
export function spawnCli(args: readonly string[], env: Record<string, string>): Promise<CliResult> {
  return new Promise((resolve) => {
    const options = {
      env: { ...OF_THE_USER, ...COMPILED, ...env },
      cwd: os.tmpdir(),
      maxBuffer: 64 * 1024 * 1024,
    };
    const child = execFile(process.execPath, [...PROGRAM, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr, json: parsed(stdout) });
    });
    child.stdin?.end();
  });
}
