import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A secret from the settings, or one that is made at the first start and kept in a file only its owner can read. */
export function keptSecret(dataDir: string, name: string, given: string | null, make: () => string): string {
  if (given !== null) return given;
  const file = path.join(dataDir, name);
  try {
    const kept = readFileSync(file, "utf8").trim();
    if (kept !== "") return kept;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const made = make();
  writeFileSync(file, `${made}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  return made;
}

export const makeMasterKey = (): string => randomBytes(32).toString("base64");

/** 32 bytes in base64 or hex; undefined when it is neither. */
export function readMasterKey(text: string): Buffer | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  return bytes.length === 32 ? bytes : undefined;
}
