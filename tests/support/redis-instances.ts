import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { Fault } from "../../src/contract/faults.ts";
import { decodeBatch, encodeBatch, type RecordSink } from "../../src/domain/record/record-batch.ts";
import type {
  ChargedRequestIds,
  RedisSettings,
  RedisState,
  WalletSources,
} from "../../src/io/state/redis/redis-state.ts";
import { cuttingProxy } from "./cutting-proxy.ts";
import { emptyWalletSources, openTestRedisState, type RedisServer } from "./redis.ts";

export const DAY = new Date().toISOString().slice(0, 10);

/** Stores records and top-ups once; replies can be lost. */
class SqlDouble {
  balanceNanos = 0n;
  spentNanos = 0n;
  repliesToLose = 0;
  /** Every operation waits for it. */
  delay: Promise<void> = Promise.resolve();
  isUnavailable = false;
  balanceReads = 0;
  readonly records = new Map<string, bigint>();

  readonly sink: RecordSink = {
    ingestBatch: async (batch) => {
      await this.delay;
      for (const text of decodeBatch(batch)) {
        const { id, charge } = JSON.parse(text);
        if (this.records.has(id)) continue;
        const nanos = BigInt(charge?.nanos ?? 0);
        this.records.set(id, nanos);
        this.balanceNanos -= nanos;
        this.spentNanos += nanos;
      }
      if (this.repliesToLose > 0) {
        this.repliesToLose -= 1;
        throw new Error("the reply of the commit was lost");
      }
    },
  };

  chargedRequestIds: ChargedRequestIds = async (requested) =>
    new Set(requested.map(({ id }) => id).filter((id) => this.records.has(id)));
}

/** One instance: its Redis state, and a journal that outlives it. */
class TestInstance {
  readonly id: string;
  readonly prefix: string;
  readonly sql: SqlDouble;
  readonly live: Set<string>;
  readonly #url: () => string;
  readonly journal = new Map<string, string>();
  readonly running = new Set<string>();
  redis: RedisState | undefined;
  #sink: RecordSink | undefined;

  constructor(url: () => string, id: string, prefix: string, sql: SqlDouble, live: Set<string>) {
    this.#url = url;
    this.id = id;
    this.prefix = prefix;
    this.sql = sql;
    this.live = live;
  }

  get state() {
    if (this.redis === undefined) throw new Error(`${this.id} is down`);
    return this.redis.state;
  }

  async start(settings: Partial<RedisSettings> = {}): Promise<this> {
    const redis = await openTestRedisState(this.#url(), { prefix: this.prefix, instanceId: this.id, ...settings });
    this.redis = redis;
    this.#sink = redis.sink(this.sql.sink, this.sql.chargedRequestIds);
    // Requests of an earlier incarnation are interrupted and free.
    for (const id of this.running) this.journal.set(id, recordOf(id, null));
    this.running.clear();
    while (this.journal.size > 0) await this.ingest().catch(() => sleep(20));
    this.live.add(this.id);
    await redis.openWallets(this.books());
    return this;
  }

  books(): WalletSources {
    const { sql } = this;
    const spend = () => ({ workspaceId: "ws", keyId: "key", memberId: null, day: DAY, nanos: sql.spentNanos });
    return emptyWalletSources({
      instanceIds: async () => [...this.live],
      flushJournal: () => this.ingest(),
      balances: async () => {
        sql.balanceReads += 1;
        if (sql.isUnavailable) throw new Error("SQL is away");
        await sql.delay;
        return [{ workspaceId: "ws", balanceNanos: sql.balanceNanos }];
      },
      dailySpends: async () => [spend()],
    });
  }

  /** kill -9, as far as Redis and SQL see it. */
  async stop(): Promise<void> {
    this.live.delete(this.id);
    const { redis } = this;
    this.redis = undefined;
    await redis?.close();
  }

  async hold(id: string, nanos: bigint): Promise<string> {
    this.running.add(id);
    const { is } = await this.state.hold(holdOf(id, nanos));
    if (is !== "held") this.running.delete(id);
    return is;
  }

  async end(id: string, nanos: bigint, settles: "settles" | "crashes before settlement" = "settles"): Promise<void> {
    if (!this.running.delete(id)) return;
    this.journal.set(id, recordOf(id, nanos));
    if (settles === "settles") await this.state.settle({ requestId: id, workspaceId: "ws" }, nanos);
  }

  async ingest(): Promise<void> {
    const moved = [...this.journal];
    if (moved.length === 0) return;
    await this.#sink?.ingestBatch(encodeBatch(moved.map(([, text]) => text)));
    for (const [id] of moved) this.journal.delete(id);
  }

  async topUp(nanos: bigint): Promise<void> {
    const lock = await this.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 10_000 });
    if (lock === undefined) throw new Error("the lock is not available");
    this.sql.balanceNanos += nanos;
    await this.state.credit("ws", nanos);
    await lock.release();
  }
}

const holdOf = (requestId: string, nanos: bigint) => ({
  requestId,
  workspaceId: "ws",
  keyId: "key",
  memberId: null,
  nanos,
  atMs: Date.parse(DAY),
  limits: [],
});

export function recordOf(id: string, nanos: bigint | null): string {
  const charge = nanos === null ? null : { nanos: nanos.toString(), currency: "EUR" };
  return JSON.stringify({
    id,
    workspaceId: "ws",
    keyId: "key",
    memberId: null,
    createdAtMs: Date.parse(DAY),
    status: nanos === null ? 499 : 200,
    charge,
  });
}

/** Pairs of instances on one Redis. */
export function redisInstances(server: () => Pick<RedisServer, "url">) {
  let names = 0;
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closing.splice(0)) await close();
  };

  /** Two instances over one SQL with a balance of 1,000. */
  async function startGateway(settings?: Partial<RedisSettings>) {
    names += 1;
    const sql = new SqlDouble();
    sql.balanceNanos = 1000n;
    const live = new Set<string>();
    const instances = [
      new TestInstance(() => server().url, "one", `e${names}:`, sql, live),
      new TestInstance(() => server().url, "two", `e${names}:`, sql, live),
    ] as const;
    closing.push(async () => {
      for (const instance of instances) await instance.stop();
    });
    for (const instance of instances) await instance.start(settings);
    return { sql, one: instances[0], two: instances[1], instances };
  }

  /** Restarts the instance behind a proxy that can cut its connection. */
  async function behindProxy(instance: TestInstance, settings?: Partial<RedisSettings>) {
    const url = new URL(server().url);
    const proxy = await cuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    await instance.stop();
    await instance.start({ ...settings, url: url.href });
    closing.push(() => proxy.close());
    return proxy;
  }

  return { startGateway, behindProxy, closeAll };
}

export const unavailableHeaders = (error: unknown) =>
  error instanceof Fault && error.code === "service_unavailable" && error.headers;

export async function expectOpen(...instances: readonly TestInstance[]): Promise<void> {
  await expect
    .poll(
      async () => Promise.all(instances.map((instance) => instance.state.wallet("ws").then(() => "open", String))),
      {
        timeout: 15_000,
      },
    )
    .toEqual(instances.map(() => "open"));
}
