/**
 * Prints the files of `src` whose functions one plain chat request runs, from its first byte to its committed SQL row: one
 * JSON line `{ file, lines, functions }` per file. Module-level code does not count, and neither does work that only some
 * requests trigger, such as timers: a function counts when all measured requests run it.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PROVIDER = "DEEPINFRA";
const MODEL = "deepseek/deepseek-v3.2";
const WARM_UP_REQUESTS = 3;
const MEASURED_REQUESTS = 4;
const POLL_MS = 20;

type FunctionCoverage = {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
};
type ScriptCoverage = { readonly url: string; readonly functions: readonly FunctionCoverage[] };
type CoverageResult = { readonly result?: readonly ScriptCoverage[] };

/** Precise coverage of the main thread and every worker thread, through one inspector session. */
class Coverage {
  readonly #session = new Session();
  readonly #workers = new Set<string>();
  readonly #pending = new Map<string, (result: CoverageResult) => void>();
  #lastId = 0;

  async start(): Promise<void> {
    this.#session.connect();
    this.#session.on("NodeWorker.attachedToWorker", ({ params }) => this.#workers.add(params.sessionId));
    this.#session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
      const { id, result } = JSON.parse(params.message) as { id?: number; result?: CoverageResult };
      this.#pending.get(`${params.sessionId} ${id}`)?.(result ?? {});
    });
    await this.#session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
    await sleep(POLL_MS);
    await this.#postToAll("Profiler.enable");
    await this.#postToAll("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** Coverage since the previous call. */
  async take(): Promise<ScriptCoverage[]> {
    return (await this.#postToAll("Profiler.takePreciseCoverage")).flatMap(({ result = [] }) => result);
  }

  async #postToAll(method: string, params: object = {}): Promise<CoverageResult[]> {
    const main: unknown = await this.#session.post(method as "Profiler.takePreciseCoverage", params as never);
    const workers = [...this.#workers].map((worker) => this.#post(worker, method, params));
    return [main as CoverageResult, ...(await Promise.all(workers))];
  }

  async #post(sessionId: string, method: string, params: object): Promise<CoverageResult> {
    this.#lastId += 1;
    const id = this.#lastId;
    const result = new Promise<CoverageResult>((resolve) => this.#pending.set(`${sessionId} ${id}`, resolve));
    await this.#session.post("NodeWorker.sendMessageToWorker", {
      sessionId,
      message: JSON.stringify({ id, method, params }),
    });
    return result;
  }
}

/** `file start end` → name, of the functions that ran; the module itself starts at offset 0. */
function executedFunctions(scripts: readonly ScriptCoverage[]): Map<string, string> {
  const executed = new Map<string, string>();
  for (const { url, functions } of scripts) {
    if (!url.startsWith("file://")) continue;
    const file = path.relative(ROOT, fileURLToPath(url)).split(path.sep).join("/");
    if (!file.startsWith("src/")) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      if (range === undefined || range.count === 0 || range.startOffset === 0) continue;
      executed.set(`${file} ${range.startOffset} ${range.endOffset}`, functionName);
    }
  }
  return executed;
}

/** Periodic work is not part of a request: intervals do nothing while coverage is taken. */
let areIntervalsPaused = false;
const { setInterval: startInterval } = globalThis;
globalThis.setInterval = ((work: () => void, everyMs: number) =>
  startInterval(() => {
    if (!areIntervalsPaused) work();
  }, everyMs)) as typeof setInterval;
const { start } = await import("../../src/main.ts");
const { readConfig } = await import("../../src/settings/config.ts");

const upstream = http.createServer((request, response) => {
  request.resume().on("end", () => {
    const choice = { index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" };
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const body = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m", choices: [choice], usage };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
});
await once(upstream.listen(0, "127.0.0.1"), "listening");

const dataDir = mkdtempSync(path.join(tmpdir(), "request-path-"));
const gateway = await start(
  readConfig({
    PORT: "0",
    DATA_DIR: dataDir,
    LOG_LEVEL: "silent",
    GATEWAY_PROOF_EVERY: "never",
    [`PROVIDER_${PROVIDER}_API_KEY`]: "key",
    [`PROVIDER_${PROVIDER}_BASE_URL`]: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
  }),
);
await gateway.ready();

async function manage(method: string, route: string, body: object): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${gateway.adminToken}`, "content-type": "application/json" };
  const response = await fetch(`${gateway.origin}/manage${route}`, { method, headers, body: JSON.stringify(body) });
  return response.json() as Promise<Record<string, string>>;
}
await manage("POST", "/workspaces", { slug: "path", currency: "EUR" });
await manage("POST", "/workspaces/path/wallet/credits", { amount: "10" });
const { key } = await manage("POST", "/workspaces/path/keys", { name: "path" });

const agent = new http.Agent({ keepAlive: true });
function sendChat(): Promise<string> {
  const body = JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hi" }] });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = http.request(`${gateway.origin}/v1/chat/completions`, { method: "POST", agent, headers });
    request.on("error", reject).on("response", (response) => {
      response.resume().on("end", () => resolve(String(response.headers["x-svc-request-id"])));
      if (response.statusCode !== 200) reject(new Error(`the gateway responded with status ${response.statusCode}`));
    });
    request.end(body);
  });
}

const database = new DatabaseSync(path.join(dataDir, "gateway.sqlite"), { readOnly: true });
async function runOneRequest(): Promise<void> {
  const id = await sendChat();
  while (database.prepare("select 1 from request_records where id = ?").get(id) === undefined) await sleep(POLL_MS);
}

const coverage = new Coverage();
await coverage.start();
for (let sent = 0; sent < WARM_UP_REQUESTS; sent += 1) await runOneRequest();
areIntervalsPaused = true;
await coverage.take();

let executed: Map<string, string> | undefined;
for (let sent = 0; sent < MEASURED_REQUESTS; sent += 1) {
  await runOneRequest();
  const now = executedFunctions(await coverage.take());
  executed = executed === undefined ? now : new Map([...executed].filter(([id]) => now.has(id)));
}

const functionsByFile = Map.groupBy(executed ?? [], ([id]) => id.split(" ")[0] ?? "");
for (const [file, functions] of [...functionsByFile].sort(([left], [right]) => left.localeCompare(right))) {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const lineAt = (offset: string | undefined) => text.slice(0, Number(offset)).split("\n").length;
  const spans = functions.map(([id, name]) => {
    const [, startOffset, endOffset] = id.split(" ");
    return { name, from: lineAt(startOffset), to: lineAt(endOffset) };
  });
  process.stdout.write(`${JSON.stringify({ file, lines: text.split("\n").length - 1, functions: spans })}\n`);
}
rmSync(dataDir, { recursive: true, force: true });
process.exit(0);
