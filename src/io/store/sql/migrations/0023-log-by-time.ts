import type { Ddl } from "../engine.ts";

/** The request log in partitions by time, where the engine has such: what is old leaves as a whole. */
export function logByTime({ logByTime }: Ddl): string[] {
  return [...logByTime.change];
}

export function aheadOfLogByTime({ logByTime }: Ddl): string[] {
  return [...logByTime.ahead];
}
