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

export type SpendAmounts = Pick<SpendLimits, "dayNanos" | "monthNanos">;

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

/** All spend limits in memory, for the request path. */
export class SpendLimitRegistry {
  /** By spender id: ids of workspaces, members and keys have different prefixes. */
  readonly bySpender = new Map<string, SpendLimits>();

  put(limits: SpendLimits): void {
    if (limits.dayNanos === null && limits.monthNanos === null) this.bySpender.delete(limits.spenderId);
    else this.bySpender.set(limits.spenderId, limits);
  }

  replace(workspaceId: string, all: readonly SpendLimits[]): void {
    for (const { spenderId } of this.inWorkspace(workspaceId)) this.bySpender.delete(spenderId);
    for (const limits of all) this.put(limits);
  }

  of(spenderId: string): SpendLimits | undefined {
    return this.bySpender.get(spenderId);
  }

  inWorkspace(workspaceId: string): SpendLimits[] {
    return [...this.bySpender.values()].filter((limits) => limits.workspaceId === workspaceId);
  }
}
