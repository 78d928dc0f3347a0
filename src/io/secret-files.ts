import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";

/** A secret from the settings, or one that is made at the first start and kept in a file only its owner can read. */
export async function loadOrCreateSecret(
  dataDir: string,
  name: string,
  given: string | null,
  make: () => string,
): Promise<string> {
  return given ?? loadOrCreateSecretFile(path.join(dataDir, name), make);
}

/** What the file holds; it is made when there is none. Two that make it at once get the same one. */
export async function loadOrCreateSecretFile(file: string, make: () => string): Promise<string> {
  const kept = await readSecret(file);
  if (kept !== undefined && kept !== "") return kept;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const made = make();
  const fresh = await writeTempFile(file, made);
  try {
    // An empty file is what a crash left of an older version's.
    if (kept === "") await rename(fresh, file);
    else await link(fresh, file);
  } catch (error) {
    // Another one's is in place; whoever saw that may have cleared this one away.
    if (!["EEXIST", "ENOENT"].includes(String(codeOf(error)))) throw error;
    const theirs = await readSecret(file);
    if (theirs !== undefined && theirs !== "") return theirs;
    throw error;
  } finally {
    await rm(fresh, { force: true });
  }
  await syncDirectory(path.dirname(file));
  return made;
}

/** The secret in a file; undefined when there is no such file. */
export async function readSecret(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A whole file beside another, on the disk before it resolves; who reads the other never sees half of it. */
export async function writeTempFile(file: string, text: string): Promise<string> {
  const fresh = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  const handle = await open(fresh, "wx", 0o600);
  try {
    // The system's mask may have taken more than was asked.
    await handle.chmod(0o600);
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return fresh;
}

/** What was renamed, linked or removed in a folder survives a power cut once this resolves. */
export async function syncDirectory(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

export const generateMasterKey = (): string => randomBytes(32).toString("base64");

/** 32 bytes in base64 or hex; undefined when it is neither. */
export function parseMasterKey(text: string): Buffer | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  return bytes.length === 32 ? bytes : undefined;
}
