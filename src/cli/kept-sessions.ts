import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { CliError } from "./command.ts";

type Env = Readonly<Record<string, string | undefined>>;

const SessionFile = z.object({
  sessions: z.record(z.string(), z.object({ token: z.string(), email: z.string() })),
});
type Sessions = z.infer<typeof SessionFile>["sessions"];

/** Of whom a session is, and what it is known by. */
export type StoredSession = Sessions[string];

/** Where `gateway login` keeps sessions, one for each gateway; only its owner may read it. */
function fileOf(env: Env): string | undefined {
  const config = env["XDG_CONFIG_HOME"] || (env["HOME"] ? path.join(env["HOME"], ".config") : env["APPDATA"]);
  return config === undefined || config === "" ? undefined : path.join(config, "inference-gateway", "sessions.json");
}

export function readSession(env: Env, base: string): StoredSession | undefined {
  return readAll(env)[base];
}

export function storeSession(env: Env, base: string, session: StoredSession | undefined): void {
  const file = fileOf(env);
  if (file === undefined) throw new CliError("The session cannot be stored: set HOME or XDG_CONFIG_HOME.");
  const { [base]: _, ...others } = readAll(env);
  const sessions = session === undefined ? others : { ...others, [base]: session };
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}.tmp`;
  writeFileSync(fresh, `${JSON.stringify({ sessions }, null, 2)}\n`, { mode: 0o600 });
  chmodSync(fresh, 0o600);
  renameSync(fresh, file);
}

function readAll(env: Env): Sessions {
  const file = fileOf(env);
  if (file === undefined) return {};
  try {
    return SessionFile.parse(JSON.parse(readFileSync(file, "utf8"))).sessions;
  } catch {
    return {};
  }
}
