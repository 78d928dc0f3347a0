import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { readConfig } from "../../src/settings/config.ts";

/** Values for a deployment's secrets: valid and unique. */
const SECRETS: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://gateway:secret@postgres:5432/gateway",
  DATABASE_MIGRATION_URL: "postgres://gateway_owner:secret@postgres:5432/gateway",
  REDIS_URL: "redis://:secret@valkey:6379/0",
  GATEWAY_ADMIN_TOKEN: "a".repeat(64),
  GATEWAY_MASTER_KEY: "b".repeat(64),
};

/**
 * The problems that the gateway finds in a deployment's settings. Files of secrets, which are elsewhere in a container,
 * are created here; variables that are no settings are left out.
 */
export function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-deployed-"));
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const setting = name.replace(/_FILE$/, "");
    const secret = name.endsWith("_FILE") ? SECRETS[setting] : undefined;
    if (secret !== undefined) writeFileSync(path.join(folder, setting), `${secret}\n`);
    given[name] = secret === undefined ? value : path.join(folder, setting);
  }
  try {
    return readConfig(given).warnings;
  } catch (error) {
    return error instanceof Error ? error.message.split("\n") : [String(error)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `NAME=value` lines as in environment files; commented-out examples count as well. */
export function readEnvFile(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^#?([A-Z][A-Z0-9_]*)=(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
}
