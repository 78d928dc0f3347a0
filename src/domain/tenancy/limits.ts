import type { CalendarUnit } from "../../kit/calendar.ts";

/** A personal key's spending also counts for its member, and every key's for its workspace. */
export const SPENDER_KINDS = ["workspace", "member", "key"] as const;
export type SpenderKind = (typeof SPENDER_KINDS)[number];

/** Limits per UTC day and month in the workspace's currency; null: no limit. */
export type SpendLimits = {
  readonly workspaceId: string;
  readonly of: SpenderKind;
  /** The id of the workspace, the member, or the root of the key's rotation chain. */
  readonly spenderId: string;
  readonly dayNanos: bigint | null;
  readonly monthNanos: bigint | null;
};

/** One limit that applies to a request. */
export type SpendLimit = { readonly of: SpenderKind; readonly per: CalendarUnit; readonly nanos: bigint };

export function noSpendLimits(workspaceId: string, of: SpenderKind, spenderId: string): SpendLimits {
  return { workspaceId, of, spenderId, dayNanos: null, monthNanos: null };
}

export type LimitStore = {
  /** `workspaceId` limits the result to one workspace. */
  loadAll(workspaceId?: string): Promise<SpendLimits[]>;
  /** Deletes the row if no limit is left. */
  save(limits: SpendLimits): Promise<void>;
};

const NO_LIMITS: readonly SpendLimit[] = [];

/** All spend limits in memory, for the request path. */
export class SpendLimitRegistry {
  /** By spender id: ids of workspaces, members and keys have different prefixes. */
  readonly #limits = new Map<string, SpendLimits>();

  put(limits: SpendLimits): void {
    if (limits.dayNanos === null && limits.monthNanos === null) this.#limits.delete(limits.spenderId);
    else this.#limits.set(limits.spenderId, limits);
  }

  replace(workspaceId: string, all: readonly SpendLimits[]): void {
    for (const { spenderId } of this.inWorkspace(workspaceId)) this.#limits.delete(spenderId);
    for (const limits of all) this.put(limits);
  }

  of(spenderId: string): SpendLimits | undefined {
    return this.#limits.get(spenderId);
  }

  inWorkspace(workspaceId: string): SpendLimits[] {
    return [...this.#limits.values()].filter((limits) => limits.workspaceId === workspaceId);
  }

  /**
   * All limits of a request. Monthly limits come first, because the first exceeded limit is reported: waiting for the next
   * day does not help while a monthly limit is exceeded.
   */
  applicableTo(workspaceId: string, memberId: string | null, keyId: string): readonly SpendLimit[] {
    if (this.#limits.size === 0) return NO_LIMITS;
    const workspace = this.#limits.get(workspaceId);
    const member = memberId === null ? undefined : this.#limits.get(memberId);
    const key = this.#limits.get(keyId);
    if (workspace === undefined && member === undefined && key === undefined) return NO_LIMITS;
    const months: SpendLimit[] = [];
    const days: SpendLimit[] = [];
    for (const limits of [workspace, member, key]) {
      if (limits === undefined) continue;
      const { of, dayNanos, monthNanos } = limits;
      if (monthNanos !== null) months.push({ of, per: "month", nanos: monthNanos });
      if (dayNanos !== null) days.push({ of, per: "day", nanos: dayNanos });
    }
    return [...months, ...days];
  }
}
