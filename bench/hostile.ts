import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { Children, freePort } from "./children.ts";
import { HOSTILE_KINDS, type HostileKind, hostileResponse } from "./hostile-responses.ts";
import { type HostileRun, renderHostileSection, withHostileSection } from "./hostile-section.ts";
import { readMachine } from "./machine.ts";
import { percentile } from "./maths.ts";
import { JSON_ANSWER } from "./payload.ts";
import { measureReading } from "./reading-cost.ts";

/**
 * What other tenants notice while a provider sends hostile responses: `npm run bench -- --hostile [--against <folder>]`. One
 * workspace calls a provider that sends one kind of hostile response over and over; another one calls an ordinary provider.
 */
const ROOT = path.resolve(import.meta.dirname, "..");
const PAGE = path.join(ROOT, "docs/benchmarks.md");
const HEAP_MB = 512;
const SECONDS = 3;
const HOSTILE_AT_ONCE = 2;
const PAUSE_MS = 5;
const READING_ROUNDS = 50_000;
const READY_MS_MAX = 180_000;
const QUIET_MODEL = "alibaba/qwen3-235b-a22b-instruct-2507";
const HOSTILE_MODEL = "mistral/mistral-small-2603";

if (isMainThread) await main();
else serveUpstreams();

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { hostile: { type: "boolean" }, against: { type: "string" } } });
  const children = new Children(undefined);
  const upstreams = new Worker(new URL(import.meta.url));
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-hostile-"));
  try {
    const port = await new Promise<number>((resolve) => upstreams.once("message", resolve));
    const roots = [...(values.against === undefined ? [] : [path.resolve(values.against)]), ROOT];
    const runs: HostileRun[] = [];
    const [load = 0] = os.loadavg();
    for (const root of roots) {
      const { stdout } = await promisify(execFile)("git", ["-C", root, "rev-parse", "--short", "HEAD"]);
      for (const kind of ["none", ...HOSTILE_KINDS] as const)
        runs.push({ commit: stdout.trim(), kind, ...(await measure(children, { root, folder, port, kind })) });
    }
    const { processor, cores } = readMachine(ROOT, false);
    const machine = `${processor}, ${cores} cores`;
    const ordinary = measureReading(READING_ROUNDS);
    const section = renderHostileSection(runs, { heapMb: HEAP_MB, machine, load, ordinary });
    writeFileSync(PAGE, withHostileSection(existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "", section));
    process.stdout.write(section);
  } finally {
    await children.stopAll();
    await upstreams.terminate();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Setup = {
  readonly root: string;
  readonly folder: string;
  readonly port: number;
  readonly kind: HostileKind | "none";
};

async function measure(
  children: Children,
  { root, folder, port, kind }: Setup,
): Promise<Omit<HostileRun, "kind" | "commit">> {
  const own = await freePort();
  const token = randomBytes(24).toString("hex");
  const dataDir = path.join(folder, `${randomBytes(4).toString("hex")}-data`);
  mkdirSync(dataDir);
  const env = {
    HOST: "127.0.0.1",
    PORT: String(own),
    DATA_DIR: dataDir,
    GATEWAY_ADMIN_TOKEN: token,
    GATEWAY_RPM_IP: "0",
    GATEWAY_ASIDE_FAILURES: "0",
    GATEWAY_PROOF_EVERY: "never",
    LOG_LEVEL: "warn",
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    PROVIDER_SCALEWAY_API_KEY: "bench",
    PROVIDER_SCALEWAY_BASE_URL: `http://127.0.0.1:${port}/ordinary/v1`,
    PROVIDER_MISTRAL_API_KEY: "bench",
    PROVIDER_MISTRAL_BASE_URL: `http://127.0.0.1:${port}/${encodeURIComponent(kind)}/v1`,
  };
  const origin = `http://127.0.0.1:${own}`;
  const child = children.start([path.join(root, "bin/gateway"), "serve"], {
    core: "candidate",
    env,
    logFile: path.join(folder, "gateway.log"),
  });
  await untilReady(origin);
  const quietKey = await openWorkspace(origin, token, "quiet");
  const hostileKey = await openWorkspace(origin, token, "hostile");
  for (let at = 0; at < 50; at += 1) await callOnce(origin, quietKey, QUIET_MODEL, kind);
  const endMs = performance.now() + SECONDS * 1000;
  const statuses = new Map<number, number>();
  const attack = async () => {
    while (kind !== "none" && performance.now() < endMs) {
      const { status } = await callOnce(origin, hostileKey, HOSTILE_MODEL, kind);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const latencies: number[] = [];
  const call = async () => {
    while (performance.now() < endMs) {
      latencies.push((await callOnce(origin, quietKey, QUIET_MODEL, "none")).ms);
      await sleep(PAUSE_MS);
    }
  };
  const health: number[] = [];
  const watch = async () => {
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      await fetch(`${origin}/healthz`).then(
        (answer) => answer.text(),
        () => undefined,
      );
      health.push(performance.now() - startedMs);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all([call(), watch(), ...Array.from({ length: HOSTILE_AT_ONCE }, attack)]);
  const isAlive = child.exitCode === null && child.signalCode === null;
  const rssMb = isAlive && child.pid !== undefined ? peakMb(child.pid) : undefined;
  await children.stop(child);
  const statusText = [...statuses]
    .map(([status, count]) => `${count} × ${status === 0 ? "no answer" : status}`)
    .join(", ");
  return {
    p50Ms: percentile(latencies, 0.5) ?? 0,
    p99Ms: percentile(latencies, 0.99) ?? 0,
    stallMs: Math.max(...health),
    rssMb,
    statuses: statusText,
  };
}

async function callOnce(origin: string, key: string, model: string, kind: HostileKind | "none") {
  const startedMs = performance.now();
  const isStream = kind === "stream events" && model === HOSTILE_MODEL;
  const body = JSON.stringify({
    model,
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 9,
    stream: isStream,
  });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const status = await fetch(`${origin}/v1/chat/completions`, { method: "POST", headers, body }).then(
    async (answer) => {
      for await (const _ of answer.body ?? []);
      return answer.status;
    },
    () => 0,
  );
  // A crashed gateway answers at once.
  if (status === 0) await sleep(100);
  return { status, ms: performance.now() - startedMs };
}

async function untilReady(origin: string): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < READY_MS_MAX; await sleep(50)) {
    const answer = await fetch(`${origin}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error("the gateway was not ready within three minutes");
}

async function openWorkspace(origin: string, token: string, slug: string): Promise<string> {
  const manage = async (route: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${origin}/manage${route}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { key?: string };
  };
  await manage("/workspaces", { slug, currency: "EUR" });
  await manage(`/workspaces/${slug}/wallet/credits`, { amount: "1000" });
  const { key } = await manage(`/workspaces/${slug}/keys`, { name: "bench", environment: "live", rpm: 1_000_000 });
  return key ?? "";
}

/** Peak resident memory of a process. */
function peakMb(pid: number): number | undefined {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
}

/** In a thread of its own, so that large responses do not delay the measuring one. */
function serveUpstreams(): void {
  const prepared = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const kind = HOSTILE_KINDS.find((one) => request.url?.startsWith(`/${encodeURIComponent(one)}/`) === true);
      if (kind === undefined) {
        response.setHeader("content-type", "application/json").end(JSON_ANSWER);
        return;
      }
      const bytes = prepared.get(kind) ?? hostileResponse(kind);
      prepared.set(kind, bytes);
      const type = kind === "stream events" ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    parentPort?.postMessage(typeof address === "object" ? address?.port : 0);
  });
}
