import type { RequestRecord } from "../record/record.ts";
import type { SpendLimit } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

export type RefusedSpender = { readonly workspaceId: string; readonly memberId: string | null; readonly keyId: string };

/** Events since the last evaluation of a workspace that its state does not show. */
export type AlertSignals = {
  /** Keys of the limits that refused a request, see `limitSignalKey`. */
  readonly limits: ReadonlySet<string>;
  /** Provider to the status with which it refused the workspace's own key. */
  readonly keys: ReadonlyMap<string, number>;
  /** Data class to the number of requests that contained it. */
  readonly dataClasses: ReadonlyMap<string, number>;
};

type PendingSignals = {
  readonly limits: Set<string>;
  readonly keys: Map<string, number>;
  readonly dataClasses: Map<string, number>;
};

export function limitSignalKey(spenderId: string, per: SpendLimit["per"]): string {
  return `${spenderId}/${per}`;
}

/** Alert rules in memory, and the workspaces to evaluate. The request path only marks workspaces that have rules. */
export class AlertMonitor {
  /** No workspace has rules. */
  isIdle = true;
  readonly #rules = new Map<string, AlertRules>();
  #dirty = new Map<string, PendingSignals>();

  rulesOf(workspaceId: string): AlertRules | undefined {
    return this.#rules.get(workspaceId);
  }

  allRules(): AlertRules[] {
    return [...this.#rules.values()];
  }

  /** Marks the workspace, because the condition of a new rule may already hold. */
  putRules(rules: AlertRules): void {
    this.#rules.set(rules.workspaceId, rules);
    this.isIdle = false;
    this.markDirty(rules.workspaceId);
  }

  removeRules(workspaceId: string): void {
    this.#rules.delete(workspaceId);
    this.isIdle = this.#rules.size === 0;
    this.#dirty.delete(workspaceId);
  }

  markDirty(workspaceId: string): void {
    if (this.#rules.has(workspaceId)) this.#signalsOf(workspaceId);
  }

  recordLimitRefusal({ workspaceId, memberId, keyId }: RefusedSpender, { of, per }: SpendLimit): void {
    if (!this.#rules.has(workspaceId)) return;
    const spenderId = of === "workspace" ? workspaceId : of === "member" ? memberId : keyId;
    if (spenderId !== null) this.#signalsOf(workspaceId).limits.add(limitSignalKey(spenderId, per));
  }

  recordRequest({
    workspaceId,
    attempts,
    dataClasses,
  }: Pick<RequestRecord, "workspaceId" | "attempts" | "dataClasses">): void {
    const rules = this.#rules.get(workspaceId);
    if (rules === undefined) return;
    const signals = this.#signalsOf(workspaceId);
    for (const name of dataClasses?.split(",") ?? [])
      if (rules.dataClasses.includes(name)) addCount(signals.dataClasses, name, 1);
    for (const { ownKey, provider, upstreamStatus } of attempts)
      if (ownKey === true && (upstreamStatus === 401 || upstreamStatus === 403))
        signals.keys.set(provider, upstreamStatus);
  }

  /** The marked workspaces; clears the marks. */
  drain(): ReadonlyMap<string, AlertSignals> {
    const drained = this.#dirty;
    this.#dirty = new Map();
    return drained;
  }

  /** Marks a workspace again after a failed or incomplete evaluation. */
  requeue(workspaceId: string, { limits, keys, dataClasses }: AlertSignals): void {
    if (!this.#rules.has(workspaceId)) return;
    const signals = this.#signalsOf(workspaceId);
    for (const limit of limits) signals.limits.add(limit);
    for (const [provider, status] of keys) if (!signals.keys.has(provider)) signals.keys.set(provider, status);
    for (const [name, requests] of dataClasses) addCount(signals.dataClasses, name, requests);
  }

  #signalsOf(workspaceId: string): PendingSignals {
    const known = this.#dirty.get(workspaceId);
    if (known !== undefined) return known;
    const signals: PendingSignals = { limits: new Set(), keys: new Map(), dataClasses: new Map() };
    this.#dirty.set(workspaceId, signals);
    return signals;
  }
}

function addCount(counts: Map<string, number>, name: string, requests: number): void {
  counts.set(name, (counts.get(name) ?? 0) + requests);
}
