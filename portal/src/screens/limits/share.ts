import type { ApiResponse } from "../../api/client.ts";
import { nanosOf } from "../../format/nanos.ts";

export type Limits = ApiResponse<"manageShowLimits">;
export type Period = Limits["day"];

/** From here on a limit is called near: the first share that alerts tell of, unless they are set otherwise. */
export const NEAR = 0.8;

/** How much of a limit is taken by what was spent and what is held; undefined: no limit. A limit of 0 is full. */
export function shareOf({ limit, spent, held }: Period): number | undefined {
  if (limit === null) return undefined;
  const [limitNanos, takenNanos] = [nanosOf(limit), nanosOf(spent) + nanosOf(held)];
  if (limitNanos <= 0n) return 1;
  return Number((takenNanos * 10_000n) / limitNanos) / 10_000;
}

/** The fuller one of day and month. */
export function fullest({ day, month }: Limits): number {
  return Math.max(shareOf(day) ?? -1, shareOf(month) ?? -1);
}

/** Whoever is nearest to a limit first; the workspace stands above all. */
export function nearestFirst(all: readonly Limits[]): Limits[] {
  return all.toSorted((a, b) => fullest(b) - fullest(a) || nameOf(a).localeCompare(nameOf(b)));
}

export function nameOf({ of, member, key, key_name, workspace }: Limits): string {
  if (of === "workspace") return `All of ${workspace}`;
  return (of === "member" ? member : (key_name ?? key)) ?? "Not there any more";
}

export function toneOf(share: number): "accent" | "warn" | "bad" {
  if (share >= 1) return "bad";
  return share >= NEAR ? "warn" : "accent";
}
