import type { RequestRecord } from "../record/record.ts";
import type { SpendLimit } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

/** Who was refused. */
export type RefusedSpender = { readonly workspaceId: string; readonly memberId: string | null; readonly keyId: string };

/** What is to be looked at in a workspace, and what only the moment itself could tell. */
export type AlertSignals = {
  /** Limits that refused a request, as `limitName` says them. */
  readonly limits: ReadonlySet<string>;
  /** Providers that refused the workspace's own key, with their status. */
  readonly keys: ReadonlyMap<string, number>;
};

type PendingSignals = { readonly limits: Set<string>; readonly keys: Map<string, number> };

export function limitSignalKey(spenderId: string, per: SpendLimit["per"]): string {
  return `${spenderId}/${per}`;
}

/**
 * Rules in memory, and which workspaces changed since they were last looked at. The request path only leaves a note
 * here, and not even that for a workspace without rules.
 */
export class AlertMonitor {
  readonly #rules = new Map<string, AlertRules>();
  #dirty = new Map<string, PendingSignals>();

  /** Nobody has a rule: there is nothing to note. */
  get isIdle(): boolean {
    return this.#rules.size === 0;
  }

  rulesOf(workspaceId: string): AlertRules | undefined {
    return this.#rules.get(workspaceId);
  }

  allRules(): AlertRules[] {
    return [...this.#rules.values()];
  }

  /** New rules are looked at too: what they ask for may be so already. */
  putRules(rules: AlertRules): void {
    this.#rules.set(rules.workspaceId, rules);
    this.markDirty(rules.workspaceId);
  }

  removeRules(workspaceId: string): void {
    this.#rules.delete(workspaceId);
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

  recordRequest({ workspaceId, attempts }: Pick<RequestRecord, "workspaceId" | "attempts">): void {
    if (!this.#rules.has(workspaceId)) return;
    const notes = this.#signalsOf(workspaceId);
    for (const { ownKey, provider, upstreamStatus } of attempts)
      if (ownKey === true && (upstreamStatus === 401 || upstreamStatus === 403))
        notes.keys.set(provider, upstreamStatus);
  }

  /** What was noted since the last time. */
  drain(): ReadonlyMap<string, AlertSignals> {
    const taken = this.#dirty;
    this.#dirty = new Map();
    return taken;
  }

  /** What could not be looked at is looked at the next time. */
  requeue(workspaceId: string, { limits, keys }: AlertSignals): void {
    if (!this.#rules.has(workspaceId)) return;
    const notes = this.#signalsOf(workspaceId);
    for (const limit of limits) notes.limits.add(limit);
    for (const [provider, status] of keys) if (!notes.keys.has(provider)) notes.keys.set(provider, status);
  }

  #signalsOf(workspaceId: string): PendingSignals {
    const known = this.#dirty.get(workspaceId);
    if (known !== undefined) return known;
    const notes: PendingSignals = { limits: new Set(), keys: new Map() };
    this.#dirty.set(workspaceId, notes);
    return notes;
  }
}
