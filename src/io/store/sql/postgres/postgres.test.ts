import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { listeningLog } from "../../../../../tests/support/journal-room.ts";
import { type Cluster, hasPostgres, startCluster } from "../../../../../tests/support/postgres.ts";
import { storeSuite } from "../../../../../tests/support/store-suite.ts";
import { systemClock } from "../../../../kit/clock.ts";
import type { Store } from "../store.ts";
import type { DatabaseAddress } from "./address.ts";
import { openPostgres } from "./open.ts";

let cluster: Cluster;
const folders: string[] = [];
beforeAll(async () => {
  if (hasPostgres) cluster = await startCluster();
}, 60_000);
afterAll(async () => {
  if (hasPostgres) await cluster.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function freshFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-store-"));
  folders.push(folder);
  return folder;
}

function open(address: DatabaseAddress, log = listeningLog(), connections = 4): Promise<Store> {
  return openPostgres({ address, connections, dataDir: freshFolder(), clock: systemClock, log });
}

describe.skipIf(!hasPostgres)("on a real server", () => {
  storeSuite("PostgreSQL", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    return {
      store,
      async reopen() {
        await store.close();
        return open(address);
      },
    };
  });
});
