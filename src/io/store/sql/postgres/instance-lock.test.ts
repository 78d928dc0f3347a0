import { Client } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../../../../tests/support/eventually.ts";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { hasPgbouncer, startPgbouncer } from "../../../../../tests/support/pgbouncer.ts";
import { hasPostgres } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord } from "../../../../../tests/support/records.ts";
import { systemClock } from "../../../../kit/clock.ts";
import type { Store } from "../store.ts";
import type { DatabaseAddress } from "./address.ts";
import { ADVISORY_LOCKS, DatabaseInUseError, InstanceLock } from "./instance-lock.ts";
import { openPostgres } from "./open.ts";

const cluster = clusterForFile();

type OpenOptions = { readonly onTakenOver?: () => void; readonly isShared?: boolean };

async function open(address: DatabaseAddress, options: OpenOptions = {}, log = listeningLog()): Promise<Store> {
  const store = await openPostgres({
    ...{ address, connections: 2, dataDir: cluster.folder(), clock: systemClock, log },
    ...options,
  });
  onTestFinished(() => store.close());
  return store;
}

const LOCK = `locktype = 'advisory' and granted and objid = ${ADVISORY_LOCKS.instance}
  and database = (select oid from pg_database where datname = current_database())`;
const holders = (address: DatabaseAddress) => cluster.query(address, `select pid from pg_locks where ${LOCK}`);
const cutLock = (address: DatabaseAddress) =>
  cluster.query(address, `select pg_terminate_backend(pid) from pg_locks where ${LOCK}`);

describe.skipIf(!hasPostgres)("the lock of a database", () => {
  test("SCALE-21 without its lock a store is unavailable at once, and works again with the lock", async () => {
    const address = await cluster.database("migrated");
    const log = listeningLog();
    const store = await open(address, {}, log);
    const before = await holders(address);
    await cutLock(address);
    await eventually(() =>
      expect(log.lines.map(({ message }) => message)).toContain("instance-lock: connection lost, lock released"),
    );
    await expect(store.ping()).rejects.toThrow("the lock of the database is lost");
    await expect(store.ingest([chargedRecord("r1", 1n)])).rejects.toMatchObject({ failure: "unavailable" });
    await eventually(() => store.ping(), { timeout: 10_000 });
    expect(await holders(address)).not.toEqual(before);
    await store.ingest([chargedRecord("r1", 1n)]);
    await expect(open(address)).rejects.toThrow(DatabaseInUseError);
  });

  test("SCALE-21 a lock released behind an open connection is noticed and acquired again", async () => {
    const address = await cluster.database("migrated");
    const connect = vi.spyOn(Client.prototype, "connect");
    onTestFinished(() => connect.mockRestore());
    const lock = await InstanceLock.acquire(address, { log: listeningLog(), verifyIntervalMs: 50 });
    onTestFinished(() => lock.release());
    const session: unknown = connect.mock.contexts.at(-1);
    const before = await holders(address);
    if (session instanceof Client) await session.query("select pg_advisory_unlock_all()");
    await eventually(() => expect(lock.isHeld).toBe(false));
    await eventually(() => expect(lock.isHeld).toBe(true));
    const after = await holders(address);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  test("SCALE-21 a process that another gateway replaced never writes again, although that one has left", async () => {
    const address = await cluster.database("migrated");
    const onTakenOver = vi.fn<() => void>();
    const store = await open(address, { onTakenOver });
    const other = new Client({ connectionString: address.url });
    await other.connect();
    const taking = other.query(`select pg_advisory_lock(${ADVISORY_LOCKS.ours}, ${ADVISORY_LOCKS.instance})`);
    await cutLock(address);
    await taking;
    await eventually(() => expect(onTakenOver).toHaveBeenCalledOnce(), { timeout: 10_000 });
    await other.end();
    const next = await open(address);
    await next.ping();
    await expect(store.ping()).rejects.toThrow("the lock of the database is lost");
  });

  test("SCALE-21 a gateway that started and stopped in between is noticed by its claim", async () => {
    const address = await cluster.database("migrated");
    const onTakenOver = vi.fn<() => void>();
    const store = await open(address, { onTakenOver });
    await cluster.query(address, "update meta set value = 'another' where name = 'instance_lock'");
    await cutLock(address);
    await eventually(() => expect(onTakenOver).toHaveBeenCalledOnce(), { timeout: 10_000 });
    await expect(store.ingest([chargedRecord("r1", 1n)])).rejects.toMatchObject({ failure: "unavailable" });
  });
});

describe.skipIf(!hasPostgres || !hasPgbouncer)("behind a connection pooler", () => {
  test.each([
    ["transaction", 20],
    ["transaction", 1],
    ["statement", 20],
  ] as const)(
    "SCALE-21 %s mode with a pool of %i is refused by name, alone and with shared state",
    async (mode, poolSize) => {
      const direct = await cluster.database("migrated");
      const pooled = await startPgbouncer(direct, mode, poolSize);
      for (const isShared of [false, true]) {
        const refused = open(pooled, { isShared });
        await expect(refused).rejects.toThrow(
          `DATABASE_URL: ${pooled.shown} cannot be used (a connection pooler in transaction mode is in front of it); ` +
            "set its pool mode to session",
        );
      }
      const owned = openPostgres({
        ...{ address: direct, owner: pooled, connections: 2, dataDir: cluster.folder() },
        ...{ clock: systemClock, log: listeningLog() },
      });
      await expect(owned).rejects.toThrow("DATABASE_MIGRATION_URL: ");
    },
  );

  test("SCALE-21 session mode works, and a second gateway is refused", async () => {
    const direct = await cluster.database("migrated");
    const pooled = await startPgbouncer(direct, "session");
    const store = await open(pooled);
    await store.ingest([chargedRecord("r1", 1n)]);
    await expect(open(pooled)).rejects.toThrow(DatabaseInUseError);
  });
});
