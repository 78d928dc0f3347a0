import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type GatewayProcess, spawnGateway, temporaryFolder } from "../../edge/child.ts";
import { type Balancer, startHaproxy } from "../../support/haproxy.ts";
import { type Cluster, startCluster } from "../../support/postgres.ts";
import { type RedisServer, startRedis } from "../../support/redis.ts";
import { unusedPort } from "../../support/upstream.ts";

const ADMIN_TOKEN = "operator-of-the-fleet-".padEnd(64, "0");
const MASTER_KEY = "6d".repeat(32);

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are asserted field by field
export type Json = any;

export type Instance = {
  readonly name: string;
  readonly url: string;
  /** kill -9, and a restart after a while. */
  killed(forMs: number): Promise<void>;
  /** Keeps its connections and does nothing. */
  paused(forMs: number): Promise<void>;
  /** SIGTERM, and a restart once it has exited; returns its exit. */
  restarted(): Promise<number | string>;
  /** Resident memory; undefined while it is down. */
  residentBytes(): number | undefined;
  /** Everything written to stderr since its first start. */
  logs(): string;
};

export type TestFleet = {
  readonly balancer: Balancer;
  readonly instances: readonly Instance[];
  readonly cluster: Cluster;
  readonly redis: RedisServer;
  /** Calls the management API through the balancer, retrying while it is unavailable; throws on final errors. */
  manage(method: string, where: string, body?: unknown): Promise<Json>;
  /**
   * Resolves when every instance is ready; `moved`: and all journals are ingested, which needs that there is no load.
   */
  calm(until: "ready" | "moved"): Promise<void>;
  close(): Promise<void>;
};

const TRIES_MS_MAX = 60_000;

/** Gateway processes behind HAProxy, with one PostgreSQL and one Redis, and simulated providers in each. */
export async function startFleet({
  instances: count,
  env = {},
}: {
  instances: number;
  env?: Record<string, string>;
}): Promise<TestFleet> {
  const [cluster, redis] = await Promise.all([startCluster(), startRedis()]);
  const address = await cluster.database("migrated");
  const shared = {
    DATABASE_URL: address.url,
    REDIS_URL: redis.url,
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    GATEWAY_MASTER_KEY: MASTER_KEY,
    GATEWAY_SANDBOX: "on",
    GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
    GATEWAY_RPM_IP: "0",
    GATEWAY_DATABASE_CONNECTIONS: "4",
    // Other tests share the machine.
    GATEWAY_REDIS_TIMEOUT_MS: "2000",
    GATEWAY_DRAIN_DELAY_MS: "2500",
    LOG_LEVEL: "warn",
    ...env,
  };
  const instances: OwnInstance[] = [];
  const end = async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
    await Promise.all([redis.close(), cluster.close()]);
  };
  let balancer: Balancer;
  try {
    const names = Array.from({ length: count }, (_, at) => `gateway-${at + 1}`);
    instances.push(...(await Promise.all(names.map((name) => startInstance(name, shared)))));
    balancer = await startHaproxy(instances.map(({ port }) => port));
  } catch (error) {
    await end();
    throw error;
  }
  const manage: TestFleet["manage"] = (method, where, body) => managed(balancer.url, method, where, body);
  return {
    balancer,
    instances,
    cluster,
    redis,
    manage,
    calm: (until) => calm(instances, until),
    async close() {
      await balancer.close();
      await end();
    },
  };
}

type OwnInstance = Instance & { readonly port: number; stop(): Promise<void> };

async function startInstance(name: string, shared: Record<string, string>): Promise<OwnInstance> {
  const port = await unusedPort();
  const dataDir = path.join(temporaryFolder(), name);
  const url = `http://127.0.0.1:${port}`;
  let earlier = "";
  let running: GatewayProcess | undefined;
  const start = async () => {
    running = spawnGateway({ ...shared, PORT: String(port), DATA_DIR: dataDir });
    await running.ready();
  };
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    const was = running;
    running = undefined;
    if (was === undefined) return 0;
    was.child.kill(signal);
    const how = await was.exited;
    earlier += was.stderr();
    return how;
  };
  await start();
  return {
    name,
    url,
    port,
    async killed(forMs) {
      await end("SIGKILL");
      await sleep(forMs);
      // A start needs the database and Redis; while they are unavailable it is retried, as a supervisor does.
      const deadline = performance.now() + TRIES_MS_MAX;
      for (;;) {
        try {
          await start();
          return;
        } catch (error) {
          process.stderr.write(`${name}: ${error instanceof Error ? error.message : ""}\n`);
          await end("SIGKILL");
          if (performance.now() > deadline) throw error;
          await sleep(500);
        }
      }
    },
    async restarted() {
      const how = await end("SIGTERM");
      await start();
      return how;
    },
    async paused(forMs) {
      running?.child.kill("SIGSTOP");
      await sleep(forMs);
      running?.child.kill("SIGCONT");
    },
    residentBytes() {
      const pid = running?.child.pid;
      return pid === undefined ? undefined : residentOf(pid);
    },
    logs: () => earlier + (running?.stderr() ?? ""),
    async stop() {
      await end("SIGKILL");
    },
  };
}

function residentOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}

async function managed(url: string, method: string, where: string, body: unknown): Promise<Json> {
  const deadline = performance.now() + TRIES_MS_MAX;
  for (;;) {
    const answer = await fetch(`${url}/manage${where}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => undefined);
    const text = await answer?.text().catch(() => undefined);
    if (answer !== undefined && text !== undefined && answer.ok) return parsed(text);
    const isPassing = answer === undefined || text === undefined || [502, 503, 504].includes(answer.status);
    if (!isPassing || performance.now() > deadline)
      throw new Error(`${method} /manage${where}: ${answer?.status} ${text}`);
    await sleep(100);
  }
}

/** A JSON document, or one per line. */
function parsed(text: string): Json {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }
}

async function calm(instances: readonly OwnInstance[], until: "ready" | "moved"): Promise<void> {
  const deadline = performance.now() + TRIES_MS_MAX;
  for (;;) {
    const open = await Promise.all(instances.map(({ url }) => notYet(url, until)));
    const waiting = open.filter((why) => why !== undefined);
    if (waiting.length === 0) return;
    if (performance.now() > deadline) throw new Error(`the fleet did not get calm: ${waiting.join("; ")}`);
    await sleep(100);
  }
}

async function notYet(url: string, until: "ready" | "moved"): Promise<string | undefined> {
  try {
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) });
    if (!ready.ok) return `${url} is not ready: ${await ready.text()}`;
    await ready.text();
    if (until === "ready") return undefined;
    const text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(2000) })).text();
    const pending = /^gateway_journal_pending_records(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1];
    return pending === "0" ? undefined : `${url} has ${pending} records in its journal`;
  } catch (error) {
    return `${url}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
