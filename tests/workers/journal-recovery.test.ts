import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../src/io/journal/open-journal.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { startGateway } from "../support/gateway.ts";
import { listeningLog, tempFolder } from "../support/journal-fixture.ts";
import { chargedRecord } from "../support/records.ts";

test("SCALE-04 BILL-07 the next start settles what a worker left in its journal, also as a single process", async () => {
  const folder = tempFolder("gateway-left-");
  const journals = path.join(folder.path, "workers/7/journal");
  const journal = await openJournal({ dir: journals, clock: systemClock, syncEveryMs: 0, log: listeningLog() });
  await journal.append({ t: "done", record: chargedRecord("r1", 30n) });
  await journal.close();
  const gateway = await startGateway({ dataDir: folder.path });
  await gateway.close();
  expect(readdirSync(journals)).toEqual([]);
  const store = await openSqlite(folder.path, systemClock);
  expect(await store.log.find("r1")).toMatchObject({ charge: { nanos: "30" } });
  await store.close();
  folder.remove();
});
