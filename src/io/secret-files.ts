import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";

/** A secret from the settings, or one that the first start generates and stores in a file with mode 0600. */
export async function loadOrCreateSecret(
  dataDir: string,
  name: string,
  configured: string | null,
  generate: () => string,
): Promise<string> {
  return configured ?? loadOrCreateSecretFile(path.join(dataDir, name), generate);
}

/** Concurrent first starts get the same secret. */
export async function loadOrCreateSecretFile(file: string, generate: () => string): Promise<string> {
  const stored = await readSecret(file);
  if (stored !== undefined && stored !== "") return stored;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const secret = generate();
  const tempFile = await writeTempFile(file, secret);
  try {
    // A crash of an older version can leave an empty file.
    if (stored === "") await rename(tempFile, file);
    else await link(tempFile, file);
  } catch (error) {
    // A concurrent start won; it may also have removed this temporary file.
    if (!["EEXIST", "ENOENT"].includes(String(codeOf(error)))) throw error;
    const winner = await readSecret(file);
    if (winner !== undefined && winner !== "") return winner;
    throw error;
  } finally {
    await rm(tempFile, { force: true });
  }
  await syncDirectory(path.dirname(file));
  return secret;
}

/** Undefined when the file does not exist. */
export async function readSecret(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes and syncs a temporary file in the same folder, for an atomic rename or link. */
export async function writeTempFile(file: string, text: string): Promise<string> {
  const tempFile = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  const handle = await open(tempFile, "wx", 0o600);
  try {
    // The umask may have removed more bits.
    await handle.chmod(0o600);
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return tempFile;
}

/** Makes renames, links and removals in a folder durable. */
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
