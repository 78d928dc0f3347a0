import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../tests/support/journal-fixture.ts";
import { chargedRecord, finishedRecord } from "../../../tests/support/records.ts";
import { encodeBatch } from "../../domain/record/record-batch.ts";
import { openSqlite } from "../../io/store/sql/sqlite/open.ts";
import { systemClock } from "../../kit/clock.ts";
import { withExportQueue } from "./export-queue.ts";

test("LOG-01 a logged request is not exported again as interrupted when a replay finds only its start", async () => {
  const folder = tempFolder("gateway-queueing-");
  const store = await openSqlite(folder.path, systemClock);
  onTestFinished(async () => {
    await store.close();
    folder.remove();
  });
  const { logOutbox: outbox, log } = store;
  const sink = withExportQueue(store, {
    outbox,
    log,
    targets: ["files"],
    clock: systemClock,
    onDropped: () => undefined,
  });
  await sink.ingestBatch(encodeBatch([JSON.stringify(chargedRecord("ended", 3n))]));
  await outbox.acknowledge("files", await outbox.nextBatch("files", 10));
  const begun = (id: string) => JSON.stringify({ ...finishedRecord(id), errorCode: "interrupted", charge: null });
  await sink.ingestBatch(encodeBatch([begun("ended"), begun("never ended")]));
  expect((await outbox.nextBatch("files", 10)).map(({ requestId }) => requestId)).toEqual(["never ended"]);
  expect(await log.find("ended")).toMatchObject({ errorCode: null, charge: { nanos: "3" } });
  expect(await log.find("never ended")).toMatchObject({ errorCode: "interrupted", charge: null });
});
