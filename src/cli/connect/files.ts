import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { CliError } from "../command.ts";

const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** What stood there before the first connect; an empty one says that there was no file. */
export function backupOf(file: string): string {
  return `${file}.before-gateway`;
}

export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new CliError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Whole or not at all, readable by its owner alone, through a link to the file it names. */
export function writePrivate(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: FOLDER_MODE });
  const target = existsSync(file) ? realpathSync(file) : file;
  const fresh = `${target}.new-${process.pid}`;
  try {
    writeFileSync(fresh, text, { mode: PRIVATE_MODE });
    chmodSync(fresh, PRIVATE_MODE);
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw new CliError(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Keeps the first state only: a second connect must not take the first one's work for the original. */
export function keepBackup(file: string): string {
  const backup = backupOf(file);
  if (existsSync(backup)) return backup;
  writePrivate(backup, readIfThere(file) ?? "");
  const mode = modeOf(file);
  if (mode !== undefined) chmodSync(backup, mode);
  return backup;
}

/** Puts a text back with the rights the file had, or removes the file when it had not been there. */
export function putBack(file: string, text: string, mode: number | undefined): void {
  if (text === "") rmSync(file, { force: true });
  else {
    writePrivate(file, text);
    if (mode !== undefined) chmodSync(file, mode);
  }
}

export function modeOf(file: string): number | undefined {
  return existsSync(file) ? statSync(file).mode & 0o777 : undefined;
}

export function removeFile(file: string): void {
  rmSync(file, { force: true });
}
