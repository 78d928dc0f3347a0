import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { type DatabaseAddress, readDatabaseAddress } from "../../src/io/store/sql/postgres/address.ts";
import { migratePostgres } from "../../src/io/store/sql/postgres/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { unusedPort } from "./upstream.ts";

const PACKAGES = "/usr/lib/postgresql";
/** Runs gateways, and owns nothing. */
export const APP_ROLE = "runs_gateways";
/** A canary: no output of a gateway may contain it. */
export const PASSWORD = "canary-of-the-database-9f86d081884c";
const READY_MS_MAX = 25_000;
/** As PostgreSQL stores the password. Its 4,096 iterations take as long as the rest of a connection, on both sides. */
const VERIFIER = scramVerifier(PASSWORD, 1);

/** Programs of the newest PostgreSQL in the folder of Debian's packages. */
const programs = readdirIfThere(PACKAGES)
  .map(Number)
  .filter((version) => existsSync(path.join(PACKAGES, String(version), "bin/initdb")))
  .sort((a, b) => b - a)
  .slice(0, 1)
  .map((version) => ({ version, folder: path.join(PACKAGES, String(version), "bin") }))[0];

/** Tests on PostgreSQL are skipped where it is not installed; `npm test` reports it, and installs it as root. */
export const hasPostgres = programs !== undefined;

export type Cluster = {
  /** Its data folder. */
  readonly data: string;
  /** The URL of a new database: empty, or with the tables of the last migration. */
  database(content: "empty" | "migrated"): Promise<DatabaseAddress>;
  /** The URL of the same database for the role that runs gateways; exists once a database was migrated. */
  asApp(address: DatabaseAddress): DatabaseAddress;
  /** Deletes every row of a migrated database: half of the work of a new one. */
  empty(address: DatabaseAddress): Promise<void>;
  /** Runs statements directly, without the store. */
  query(address: DatabaseAddress, statement: string): Promise<Record<string, unknown>[]>;
  /** `immediate` is a crash: nothing is written back, the next start recovers. */
  stop(how: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
};

/** A PostgreSQL on a free port of loopback, with its data in a folder that is removed with it. */
export async function startCluster(): Promise<Cluster> {
  if (programs === undefined) throw new Error("PostgreSQL is not installed");
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-postgres-"));
  const data = path.join(folder, "data");
  cpSync(initialised(programs.folder, programs.version), data, { recursive: true });
  giveTo(folder, owner());
  const server = new Server(programs.folder, data, await unusedPort());
  await server.start();
  await onServer(server.address("postgres"), `alter role postgres password '${VERIFIER}'`);
  let databases = 0;
  let template: Promise<string> | undefined;
  // Files are copied in half the time of writing their pages to the log.
  const copying = programs.version >= 15 ? "strategy file_copy" : "";
  const create = async (from: string) => {
    databases += 1;
    const name = `test_${databases}`;
    await onServer(server.address("postgres"), `create database ${name} template ${from} ${copying}`);
    return name;
  };
  const migrated = async () => {
    const name = await create("template1");
    const role = `create role ${APP_ROLE} login password '${VERIFIER}'`;
    await onServer(server.address("postgres"), role);
    await migratePostgres(server.address(name), { clock: systemClock }, APP_ROLE);
    return name;
  };
  return {
    data,
    async database(content) {
      if (content === "empty") return server.address(await create("template1"));
      template ??= migrated();
      return server.address(await create(await template));
    },
    asApp: ({ url, shown }) => ({
      url: url.replace("//postgres:", `//${APP_ROLE}:`),
      shown: shown.replace("//postgres@", `//${APP_ROLE}@`),
    }),
    async empty(address) {
      await onServer(address, EMPTY);
    },
    query: (address, statement) => onServer(address, statement),
    stop: (how) => server.stop(how),
    start: () => server.start(),
    async close() {
      await server.stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Bypasses the triggers that protect the ledger. Most tables are empty, and tell so by their size. */
const EMPTY = `do $$ declare one record; begin
  set local session_replication_role = replica;
  for one in select oid::regclass as name, relkind from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname <> 'schema_migrations'
      and (relkind = 'S' or pg_relation_size(oid) > 0)
  loop
    execute format(case one.relkind when 'r' then 'delete from only %s' else 'alter sequence %s restart' end, one.name);
  end loop;
end $$`;

class Server {
  readonly #programs: string;
  readonly #data: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  constructor(programFolder: string, data: string, port: number) {
    this.#programs = programFolder;
    this.#data = data;
    this.#port = port;
  }

  address(database: string): DatabaseAddress {
    const read = readDatabaseAddress(`postgres://postgres:${PASSWORD}@127.0.0.1:${this.#port}/${database}`);
    if ("problem" in read) throw new Error(read.problem);
    return read;
  }

  async start(): Promise<void> {
    const settings = {
      port: this.#port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      // The machine stays up when the server is killed: these tests do not need fsync.
      fsync: "off",
      full_page_writes: "off",
      max_connections: 60,
      shared_buffers: "32MB",
      autovacuum: "off",
      jit: "off",
    };
    const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    // The shell in between ends the server when its input ends, as it does when the tests are killed.
    const script = '"$@" & read _; kill -QUIT $!; wait $!';
    const command = [path.join(this.#programs, "postgres"), "-D", this.#data, ...given];
    const child = spawn("/bin/sh", ["-c", script, "sh", ...command], {
      ...owner(),
      cwd: this.#data,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#child = child;
    const deadline = performance.now() + READY_MS_MAX;
    for (;;) {
      try {
        await onServer(this.address("postgres"), "select 1");
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await sleep(20);
    }
  }

  async stop(how: "fast" | "immediate"): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const exited = once(child, "exit");
    const file = path.join(this.#data, "postmaster.pid");
    if (existsSync(file)) process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), SIGNALS[how]);
    while (existsSync(file)) await sleep(10);
    child.stdin?.end();
    await exited;
  }
}

const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

async function onServer({ url }: DatabaseAddress, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query(statement);
    return rows;
  } finally {
    await client.end();
  }
}

function scramVerifier(password: string, iterations: number): string {
  const salt = Buffer.from("postgres-of-tests");
  const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const storedKey = createHash("sha256").update(hmac(salted, "Client Key")).digest("base64");
  const serverKey = hmac(salted, "Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

/** A cluster as `initdb` creates it, created once and then copied. It sorts by language, as many servers do. */
function initialised(programFolder: string, version: number): string {
  const language = version >= 15 ? ["--locale-provider=icu", "--icu-locale=en"] : [];
  const wanted = ["-U", "postgres", "-A", "scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", ...language];
  const cache = path.join(PROJECT_ROOT, "node_modules/.cache/postgres");
  const name = sha256Hex(JSON.stringify([version, process.getuid?.(), PASSWORD, wanted])).slice(0, 16);
  const made = path.join(cache, name);
  if (existsSync(made)) return made;
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-initdb-"));
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  giveTo(folder, owner());
  const data = path.join(folder, "data");
  const { status, stderr } = spawnSync(
    path.join(programFolder, "initdb"),
    ["-D", data, `--pwfile=${passwordFile}`, ...wanted],
    { ...owner(), cwd: folder, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
  mkdirSync(cache, { recursive: true });
  const copy = `${made}.${process.pid}`;
  cpSync(data, copy, { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  try {
    renameSync(copy, made);
  } catch {
    // Another test file was faster.
    rmSync(copy, { recursive: true, force: true });
  }
  return made;
}

/** PostgreSQL refuses to run as root. */
function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const [, , uid, gid] = ["postgres", "nobody"].flatMap((name) => users.filter(([user]) => user === name))[0] ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function giveTo(folder: string, { uid, gid }: ReturnType<typeof owner>): void {
  if (uid === undefined || gid === undefined) return;
  chownSync(folder, uid, gid);
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { recursive: true })) chownSync(path.join(folder, String(entry)), uid, gid);
}

function readdirIfThere(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
