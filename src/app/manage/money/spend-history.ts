import type { DailySpend } from "../../../domain/admission/shared-state.ts";
import type { RollupStore } from "../../../domain/record/usage-sums.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";

/**
 * Daily spend from SQL by rotation root, as the live counters need it. It includes the previous month, because background
 * work that started then may resume after a restart.
 */
export async function recentSpend(
  rollups: Pick<RollupStore, "spendSince">,
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
