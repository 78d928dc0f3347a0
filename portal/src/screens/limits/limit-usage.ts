import type { ApiResponse } from "../../api/client.ts";
import { nanosOf } from "../../format/nanos.ts";

export type Limits = ApiResponse<"manageShowLimits">;
export type Period = Limits["day"];

/** Warning threshold; also the first threshold of default alerts. */
export const WARNING_SHARE = 0.8;

/** The used share of a limit, spend plus holds; undefined: no limit. A limit of 0 is fully used. */
export function usageOf({ limit, spent, held }: Period): number | undefined {
  if (limit === null) return undefined;
  const [limitNanos, usedNanos] = [nanosOf(limit), nanosOf(spent) + nanosOf(held)];
  if (limitNanos <= 0n) return 1;
  return Number((usedNanos * 10_000n) / limitNanos) / 10_000;
}

/** The higher usage of the daily and monthly limit. */
export function highestUsage({ day, month }: Limits): number {
  return Math.max(usageOf(day) ?? -1, usageOf(month) ?? -1);
}

/** Highest usage first. */
export function sortByUsage(all: readonly Limits[]): Limits[] {
  return all.toSorted((a, b) => highestUsage(b) - highestUsage(a) || nameOf(a).localeCompare(nameOf(b)));
}

export function nameOf({ of, member, key, key_name, workspace }: Limits): string {
  if (of === "workspace") return `Workspace ${workspace}`;
  return (of === "member" ? member : (key_name ?? key)) ?? "Deleted";
}

export function toneOf(share: number): "accent" | "warn" | "bad" {
  if (share >= 1) return "bad";
  return share >= WARNING_SHARE ? "warn" : "accent";
}
