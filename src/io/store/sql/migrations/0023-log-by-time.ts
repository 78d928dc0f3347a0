import type { Ddl } from "../engine.ts";

/** The request log in partitions by time, where the engine has such: what is old leaves as a whole. */
export function logByTime({ logPartitioning }: Ddl): string[] {
  return [...logPartitioning.change];
}

export function aheadOfLogByTime({ logPartitioning }: Ddl): string[] {
  return [...logPartitioning.ahead];
}
