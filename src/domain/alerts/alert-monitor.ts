import type { RequestRecord } from "../record/record.ts";
import type { SpendLimit } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

/** Who was refused. */
export type Refused = { readonly workspaceId: string; readonly memberId: string | null; readonly keyId: string };

/** What is to be looked at in a workspace, and what only the moment itself could tell. */
export type Touched = {
  /** Limits that refused a request, as `limitName` says them. */
  readonly limits: ReadonlySet<string>;
  /** Providers that refused the workspace's own key, with their status. */
  readonly keys: ReadonlyMap<string, number>;
};

type Notes = { readonly limits: Set<string>; readonly keys: Map<string, number> };

export function limitName(spenderId: string, per: SpendLimit["per"]): string {
  return `${spenderId}/${per}`;
}

/**
 * Rules in memory, and which workspaces changed since they were last looked at. The request path only leaves a note
 * here, and not even that for a workspace without rules.
 */
export class AlertWatch {
  readonly #rules = new Map<string, AlertRules>();
  #touched = new Map<string, Notes>();

  /** Nobody has a rule: there is nothing to note. */
  get isIdle(): boolean {
    return this.#rules.size === 0;
  }

  of(workspaceId: string): AlertRules | undefined {
    return this.#rules.get(workspaceId);
  }

  all(): AlertRules[] {
    return [...this.#rules.values()];
  }

  /** New rules are looked at too: what they ask for may be so already. */
  put(rules: AlertRules): void {
    this.#rules.set(rules.workspaceId, rules);
    this.touch(rules.workspaceId);
  }

  drop(workspaceId: string): void {
    this.#rules.delete(workspaceId);
    this.#touched.delete(workspaceId);
  }

  touch(workspaceId: string): void {
    if (this.#rules.has(workspaceId)) this.#notes(workspaceId);
  }

  refused({ workspaceId, memberId, keyId }: Refused, { of, per }: SpendLimit): void {
    if (!this.#rules.has(workspaceId)) return;
    const spenderId = of === "workspace" ? workspaceId : of === "member" ? memberId : keyId;
    if (spenderId !== null) this.#notes(workspaceId).limits.add(limitName(spenderId, per));
  }

  finished({ workspaceId, attempts }: Pick<RequestRecord, "workspaceId" | "attempts">): void {
    if (!this.#rules.has(workspaceId)) return;
    const notes = this.#notes(workspaceId);
    for (const { ownKey, provider, upstreamStatus } of attempts)
      if (ownKey === true && (upstreamStatus === 401 || upstreamStatus === 403))
        notes.keys.set(provider, upstreamStatus);
  }

  /** What was noted since the last time. */
  take(): ReadonlyMap<string, Touched> {
    const taken = this.#touched;
    this.#touched = new Map();
    return taken;
  }

  /** What could not be looked at is looked at the next time. */
  giveBack(workspaceId: string, { limits, keys }: Touched): void {
    if (!this.#rules.has(workspaceId)) return;
    const notes = this.#notes(workspaceId);
    for (const limit of limits) notes.limits.add(limit);
    for (const [provider, status] of keys) if (!notes.keys.has(provider)) notes.keys.set(provider, status);
  }

  #notes(workspaceId: string): Notes {
    const known = this.#touched.get(workspaceId);
    if (known !== undefined) return known;
    const notes: Notes = { limits: new Set(), keys: new Map() };
    this.#touched.set(workspaceId, notes);
    return notes;
  }
}
