import type { PartRemains } from "../../domain/batches/batch-store.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { BatchesDeps } from "./batches-context.ts";

/**
 * Journals the records of an earlier run that may not be in a journal. SQL counts a request once, so a record that the
 * journal of another process has as well is charged once.
 */
export async function settleRemains(
  { gateway, log, waitForIngest, instances }: Pick<BatchesDeps, "gateway" | "log" | "waitForIngest" | "instances">,
  { records }: PartRemains,
): Promise<void> {
  if (records.length === 0) return;
  // Without an answer of every instance some records are journaled twice, which is harmless.
  await waitForIngest().catch(() => undefined);
  for (const { text } of records) {
    const record: RequestRecord = JSON.parse(text);
    const { id: requestId, workspaceId, keyId, memberId, createdAtMs: atMs } = record;
    const logged = await log.find(requestId);
    if (logged !== undefined) continue;
    await gateway.journal.append({ t: "done", record });
    const nanos = BigInt(record.charge?.nanos ?? "0");
    // The hold of a single process ended with it. A shared state still has the hold, or learns of the charge from SQL.
    if (instances === "one" && nanos > 0n)
      await gateway.state.hold({ requestId, workspaceId, keyId, memberId, nanos: 0n, atMs, limits: [] });
    await gateway.state.settle({ requestId, workspaceId }, nanos);
  }
}
