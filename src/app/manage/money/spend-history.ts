import type { DailySpend } from "../../../domain/admission/shared-state.ts";
import type { RollupStore } from "../../../domain/record/rollup.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";

/**
 * What SQL says was spent, by the lines of keys that live counters are kept by. It reaches back to the month before this
 * one: work that began in it may be taken up again after a restart.
 */
export async function recentSpend(
  rollups: Pick<RollupStore, "spentSince">,
  directory: Directory,
  nowMs: number,
): Promise<DailySpend[]> {
  const rows = await rollups.spendSince(dayName(spanOf("month", nowMs, -1).firstDay));
  return rows.map(({ workspaceId, keyId, day, nanos }) => ({
    workspaceId,
    keyId: directory.rotationRootOf(keyId),
    memberId: directory.key(keyId)?.memberId ?? null,
    day,
    nanos,
  }));
}
