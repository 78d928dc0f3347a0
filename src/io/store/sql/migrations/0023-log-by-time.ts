import type { Ddl } from "../engine.ts";

/** Time partitions of the request log, on an engine that has partitions. */
export function logByTime({ logPartitioning }: Ddl): string[] {
  return [...logPartitioning.change];
}

export function aheadOfLogByTime({ logPartitioning }: Ddl): string[] {
  return [...logPartitioning.ahead];
}
