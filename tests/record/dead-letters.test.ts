import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/io/journal/open-journal.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { type Json, runCli, startGateway, type TestGateway } from "../support/gateway.ts";
import { listeningLog, tempFolder } from "../support/journal-fixture.ts";
import { chargedRecord } from "../support/records.ts";

const journalOf = async (gateway: TestGateway) =>
  (await gateway.manage("GET", "/doctor")).checks.find(({ name }: Json) => name === "journal");
const gaugeOf = async (gateway: TestGateway) =>
  /^gateway_journal_set_aside (\d+)$/m.exec((await gateway.call("", "/metrics")).text)?.[1];
const line = (text: string) => `${JSON.stringify({ why: "a bad moment", text })}\n`;

test("BILL-07 OPS-02 doctor and metrics report dead letters until they are removed; backups contain them", async () => {
  const folder = tempFolder("gateway-aside-");
  onTestFinished(() => folder.remove());
  const [mine, other] = [path.join(folder.path, "journal"), path.join(folder.path, "workers/3/journal")];
  for (const dir of [mine, other]) mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(other, "rejected.jsonl"), line("{}"));
  writeFileSync(path.join(mine, "segment-000000000001.journal.damaged"), "torn");
  // In dollars, which is not the wallet's currency.
  const record = chargedRecord("r1", 5n);
  const store = await openSqlite(folder.path, systemClock);
  await store.ingest([chargedRecord("r0", 1n)]);
  await store.close();
  const journal = await openJournal({ dir: mine, clock: systemClock, syncEveryMs: 0, log: listeningLog() });
  await journal.append({
    t: "done",
    record: { ...record, charge: record.charge && { ...record.charge, currency: "USD" } },
  });
  await journal.close();

  const gateway = await startGateway({ dataDir: folder.path });
  onTestFinished(() => gateway.close());
  const rejected = path.join(mine, "rejected.jsonl");
  const { ok, detail } = await journalOf(gateway);
  expect(ok).toBe(false);
  expect(detail).toMatch(/2 dead letters.*1 corrupt segment/);
  for (const file of [rejected, path.join(other, "rejected.jsonl"), "docs/guides/operate.md"])
    expect(detail).toContain(file);
  expect(await gaugeOf(gateway)).toBe("3");
  const saved = path.join(folder.path, "saved");
  expect((await runCli(["backup", saved], { DATA_DIR: folder.path })).code).toBe(0);
  expect(readFileSync(path.join(saved, "journal/rejected.jsonl"))).toEqual(readFileSync(rejected));
  expect(readdirSync(path.join(saved, "workers/3/journal"))).toEqual(["rejected.jsonl"]);
  writeFileSync(rejected, `${line("{}")}${line("{}")}`);
  expect(await gaugeOf(gateway)).toBe("4");
  for (const dir of [mine, other]) rmSync(path.join(dir, "rejected.jsonl"));
  rmSync(path.join(mine, "segment-000000000001.journal.damaged"));
  expect(await journalOf(gateway)).toMatchObject({ ok: true });
  expect(await gaugeOf(gateway)).toBe("0");
});

test("BILL-07 a dead letter marked for retry is stored at the next start, or dead-lettered again", async () => {
  const folder = tempFolder("gateway-again-");
  onTestFinished(() => folder.remove());
  const dir = path.join(folder.path, "journal");
  mkdirSync(dir, { recursive: true });
  const [first, second] = [JSON.stringify(chargedRecord("r1", 30n)), JSON.stringify(chargedRecord("r2", 12n))];
  const rejected = path.join(dir, "rejected.jsonl");
  // As the store refused it, and as the journal of a version that could not read it.
  writeFileSync(
    rejected,
    [line(first), line(`{"t":"done","record":${second}}`), line("{}"), "no line of it\n"].join(""),
  );
  renameSync(rejected, path.join(dir, "again.jsonl"));
  await (await startGateway({ dataDir: folder.path })).close();
  expect(readdirSync(dir)).toEqual(["rejected.jsonl"]);
  const again = readFileSync(rejected, "utf8").trim().split("\n");
  expect(again.map((text) => JSON.parse(text).text)).toEqual(["{}", "no line of it"]);
  const store = await openSqlite(folder.path, systemClock);
  expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-42n);
  await store.close();
});
