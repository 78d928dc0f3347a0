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

/** A volume of a container usually belongs to root, and the gateway runs as another user. */
export function explainUnusableFolder(folder: string, code: string, uid: number | undefined): string {
  const reason = `DATA_DIR: ${folder} cannot be used (${code})`;
  if (uid === undefined || !/EACCES|EPERM|EROFS/.test(code)) return `${reason}; set it to a writable folder`;
  return `${reason}: it is not writable for uid ${uid}, which runs this gateway (the image: uid 10001); chown -R ${uid} the folder or volume, in Kubernetes set fsGroup, or set DATA_DIR to a writable folder`;
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
