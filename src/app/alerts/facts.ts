import { NO_SPENDER_NAMES, type SpenderNames } from "../../domain/alerts/alert-event.ts";
import { type AlertSignals, limitSignalKey } from "../../domain/alerts/alert-monitor.ts";
import type { AlertCondition, AlertFacts, LimitUsage, OwnKeyStatus } from "../../domain/alerts/evaluate-rules.ts";
import type { SpendLimits } from "../../domain/tenancy/limits.ts";
import { dayName, spanOf } from "../../kit/calendar.ts";
import type { AlertDeps } from "./deps.ts";

type Sources = Pick<AlertDeps, "state" | "directory" | "ownKeys">;

/** How a workspace stands now, from what the request path itself reads. */
export async function factsOf(
  sources: Sources,
  workspaceId: string,
  touched: AlertSignals,
  nowMs: number,
): Promise<AlertFacts> {
  const { state, directory } = sources;
  const { balanceNanos } = await state.wallet(workspaceId);
  const limits: LimitUsage[] = [];
  for (const set of directory.limits.inWorkspace(workspaceId))
    limits.push(...(await limitFacts(sources, set, touched, nowMs)));
  return { balanceNanos, limits, keys: keyFacts(sources, workspaceId, touched) };
}

async function limitFacts(
  { state }: Sources,
  { workspaceId, of, spenderId, dayNanos, monthNanos }: SpendLimits,
  touched: AlertSignals,
  nowMs: number,
): Promise<LimitUsage[]> {
  const spending = await state.spending({ id: spenderId, workspaceId }, nowMs);
  const facts: LimitUsage[] = [];
  for (const [per, limitNanos] of [["day", dayNanos] as const, ["month", monthNanos] as const]) {
    if (limitNanos === null) continue;
    const { spentNanos } = spending[per];
    const period = dayName(spanOf(per, nowMs).firstDay);
    const refused = touched.limits.has(limitSignalKey(spenderId, per));
    facts.push({ of, spenderId, per, period, limitNanos, spentNanos, refused });
  }
  return facts;
}

/** A key that was replaced, or tested again, may be told of again. */
function keyFacts({ ownKeys }: Sources, workspaceId: string, touched: AlertSignals): OwnKeyStatus[] {
  const held = ownKeys.of(workspaceId)?.keys.values() ?? [];
  return [...held].map(({ key: { provider, fingerprint, testedAtMs } }) => ({
    provider,
    mark: `${fingerprint}/${testedAtMs ?? ""}`,
    status: touched.keys.get(provider),
  }));
}

/** Of a line of keys the newest is named: the older ones were rotated into it. */
export function namesIn(
  directory: AlertDeps["directory"],
  workspaceId: string,
  happening: AlertCondition,
): SpenderNames {
  if (happening.is !== "limit_reached") return NO_SPENDER_NAMES;
  const { of, spenderId } = happening.limit;
  if (of === "member") return { ...NO_SPENDER_NAMES, member: directory.member(spenderId)?.email ?? null };
  if (of === "workspace") return NO_SPENDER_NAMES;
  const key = directory.keys(workspaceId).findLast(({ id }) => directory.rotationRootOf(id) === spenderId);
  return { ...NO_SPENDER_NAMES, key: key?.id ?? null, keyName: key?.name ?? null };
}
