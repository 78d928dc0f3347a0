import { type Config, ConfigError } from "../settings/config.ts";

const DISK_FULL = /ENOSPC|EDQUOT|database or disk is full/;
const STORE_CORRUPT = /file is not a database|database disk image is malformed/;

/** Replaces an error that an operator can fix by one that names the setting and the next step. */
export function explainStartFailure(error: unknown, { DATA_DIR }: Pick<Config, "DATA_DIR">): unknown {
  const message = error instanceof Error ? error.message : "";
  if (DISK_FULL.test(message))
    return new ConfigError([`DATA_DIR: the disk of ${DATA_DIR} is full; free some space and start again`]);
  const corruption = STORE_CORRUPT.exec(message)?.[0];
  if (corruption === undefined) return error;
  return new ConfigError([
    `DATA_DIR: the store in ${DATA_DIR} cannot be read (${corruption}); restore a backup, see docs/guides/backup.md`,
  ]);
}

/** The same for an address that cannot be bound. */
export function explainListenFailure(error: unknown, { HOST, PORT }: Pick<Config, "HOST" | "PORT">): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new ConfigError([`PORT: ${PORT} on ${HOST} is in use by another program; stop it, or use another port`]);
  if (code === "EACCES")
    return new ConfigError([`PORT: this user is not permitted to open port ${PORT}; use 1024 or higher`]);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new ConfigError([`HOST: this machine has no address ${HOST}; use one of its addresses, such as 127.0.0.1`]);
  return error;
}
