import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Client } from "pg";
import { onTestFinished } from "vitest";
import { type DatabaseAddress, readDatabaseAddress } from "../../src/io/store/sql/postgres/address.ts";
import { eventually } from "./eventually.ts";
import { tempFolder } from "./journal-fixture.ts";
import { unusedPort } from "./upstream.ts";

/** Tests behind a pooler are skipped where it is not installed; `npm test` reports it, and installs it as root. */
export const hasPgbouncer = spawnSync("pgbouncer", ["--version"], { stdio: "ignore" }).status === 0;

/** A PgBouncer in front of a database, until the test ends. */
export async function startPgbouncer(
  { url }: DatabaseAddress,
  mode: "session" | "transaction" | "statement",
  poolSize = 20,
): Promise<DatabaseAddress> {
  const folder = tempFolder("gateway-pgbouncer-");
  onTestFinished(() => folder.remove());
  const port = await unusedPort();
  const { hostname, port: serverPort, pathname, username, password } = new URL(url);
  const file = path.join(folder.path, "pgbouncer.ini");
  writeFileSync(
    file,
    [
      "[databases]",
      `* = host=${hostname} port=${serverPort} user=${username} password=${password}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      `pool_mode = ${mode}`,
      `default_pool_size = ${poolSize}`,
      "auth_type = any",
      "ignore_startup_parameters = extra_float_digits,statement_timeout,idle_in_transaction_session_timeout",
      "",
    ].join("\n"),
  );
  for (const readable of [folder.path, file]) chmodSync(readable, 0o755);
  const unprivileged = process.getuid?.() === 0 ? ["--user", "nobody"] : [];
  const child = spawn("pgbouncer", [...unprivileged, file], { stdio: ["ignore", "ignore", "ignore"] });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const read = readDatabaseAddress(`postgres://${username}@127.0.0.1:${port}${pathname}`);
  if ("problem" in read) throw new Error(read.problem);
  await eventually(async () => {
    const client = new Client({ connectionString: read.url });
    await client.connect();
    await client.end();
  });
  return read;
}
