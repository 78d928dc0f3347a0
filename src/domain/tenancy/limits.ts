import type { CalendarUnit } from "../../kit/calendar.ts";

/** Whose spending is limited. A personal key spends for its member, every key for its workspace. */
export const SPENDER_KINDS = ["workspace", "member", "key"] as const;
export type SpenderKind = (typeof SPENDER_KINDS)[number];

/** What one of them may spend in a day and in a month of UTC, in the workspace's currency; null: no limit. */
export type SpendLimits = {
  readonly workspaceId: string;
  readonly of: SpenderKind;
  /** The id of the workspace, the member or the key; of a rotated key the id of the first of its line. */
  readonly spenderId: string;
  readonly dayNanos: bigint | null;
  readonly monthNanos: bigint | null;
};

/** One limit that a request must keep. */
export type SpendLimit = { readonly of: SpenderKind; readonly per: CalendarUnit; readonly nanos: bigint };

/** Nobody begins with a limit. */
export function noSpendLimits(workspaceId: string, of: SpenderKind, spenderId: string): SpendLimits {
  return { workspaceId, of, spenderId, dayNanos: null, monthNanos: null };
}

export type LimitStore = {
  /** Of one workspace alone where it is named. */
  loadAll(workspaceId?: string): Promise<SpendLimits[]>;
  /** Without any limit the row goes. */
  save(limits: SpendLimits): Promise<void>;
};

const NO_LIMITS: readonly SpendLimit[] = [];

/** Every limit that is set, in memory: what the request path reads. */
export class SpendLimitRegistry {
  /** Ids of workspaces, members and keys never meet. */
  readonly #limits = new Map<string, SpendLimits>();

  put(limits: SpendLimits): void {
    if (limits.dayNanos === null && limits.monthNanos === null) this.#limits.delete(limits.spenderId);
    else this.#limits.set(limits.spenderId, limits);
  }

  /** All limits of a workspace, in the place of those it had. */
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
   * Everything that a request of these three must keep. Months come first: while a month's limit is reached, waiting
   * for the next day is of no use, so that is the one to be told of.
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
