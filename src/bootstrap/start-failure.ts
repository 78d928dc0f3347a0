import { type Config, ConfigError } from "../settings/config.ts";

const FULL = /ENOSPC|EDQUOT|database or disk is full/;
const DAMAGED = /file is not a database|database disk image is malformed/;

/** What stopped the start in words that say what to do; any other error as it is. */
export function cannotStart(error: unknown, { DATA_DIR }: Pick<Config, "DATA_DIR">): unknown {
  const said = error instanceof Error ? error.message : "";
  if (FULL.test(said))
    return new ConfigError([`DATA_DIR: the disk of ${DATA_DIR} is full; make room there and start again`]);
  const damage = DAMAGED.exec(said)?.[0];
  if (damage === undefined) return error;
  return new ConfigError([
    `DATA_DIR: the store in ${DATA_DIR} cannot be read (${damage}); restore a backup, see docs/guides/backup.md`,
  ]);
}
