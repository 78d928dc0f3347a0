import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { ensureDataDir } from "../io/data-dir.ts";
import { JOURNAL_FOLDER } from "../io/journal/ingest-pipeline.ts";
import { masterKeyOf } from "../io/master-keys.ts";
import { parseMasterKey } from "../io/secret-files.ts";
import { DATABASE_FILE } from "../io/store/sql/sqlite/open.ts";
import { workerFolders } from "../io/workers/worker-folders.ts";
import { pluralize } from "../kit/pluralize.ts";
import { dataDirOf, settingOf } from "./client.ts";
import { CliError, type Invocation } from "./command.ts";

const MASTER_KEY_FILES = ["master-key", "master-key.next"];
/** Segments and dead letters: no other copy exists. */
const JOURNAL_FILE = /\.journal(?:\.|$)|\.jsonl$/;
/** How often the copy is repeated because the master key was rotated meanwhile. */
const TRIES_MAX = 3;
/** The whole store in one step: what is written meanwhile is not in it, and restarts it no more than once. */
const PAGES_AT_ONCE = 2 ** 31 - 1;

type Saved = {
  readonly folder: string;
  readonly store_bytes: number;
  readonly journal_files: number;
  readonly secrets: readonly string[];
};

/**
 * A copy of the data folder that a gateway starts from, made while another one works on it. The journal comes first: a
 * record that is moved into the store meanwhile is then in both, and counts once. The other way round it could be in
 * neither.
 */
export async function runBackup({ args, options, format, shell }: Invocation): Promise<number> {
  const { env, stdout } = shell;
  if (settingOf(env, "DATABASE_URL") !== undefined)
    throw new CliError(
      "The store is in PostgreSQL (DATABASE_URL): back it up with pg_dump; see docs/guides/backup.md.",
    );
  const dataDir = dataDirOf(env);
  const store = path.join(dataDir, DATABASE_FILE);
  if (!existsSync(store))
    throw new CliError(`There is no store in ${dataDir}. Set DATA_DIR to the data folder of the gateway.`);
  const folder = emptyFolder(path.resolve(String(args[0])));
  const journal = journalFiles(dataDir).filter((file) => copyIfThere(dataDir, folder, file));
  // A key from the settings is kept where those are; a file that is left of before opens nothing.
  const isFile = settingOf(env, "GATEWAY_MASTER_KEY") === undefined;
  const wanted = options["withoutSecrets"] === true ? [] : ["admin-token", ...(isFile ? MASTER_KEY_FILES : [])];
  const secrets = await copyWithSecrets(dataDir, folder, wanted);
  const bytes = statSync(path.join(folder, DATABASE_FILE)).size;
  const saved = { folder, store_bytes: bytes, journal_files: journal.length, secrets };
  stdout.write(format === "json" ? `${JSON.stringify(saved, null, 2)}\n` : `${wordsOf(saved).join("\n")}\n`);
  return 0;
}

function wordsOf({ folder, store_bytes, journal_files, secrets }: Saved): string[] {
  const lines = [
    `Saved in ${folder}: the store (${store_bytes} bytes, verified) and ${pluralize(journal_files, "journal file")}.`,
  ];
  if (secrets.length > 0)
    lines.push(`It contains secrets: ${secrets.join(", ")}. Store it where only operators can read it.`);
  if (!secrets.includes("master-key"))
    lines.push("The master key is not included. Keep it elsewhere: encrypted data cannot be read without it.");
  return lines;
}

/** A backup never goes into one that is there: half of the one and half of the other would be neither. */
function emptyFolder(folder: string): string {
  const unusable = ensureDataDir(folder);
  if (unusable !== undefined) throw new CliError(`${folder} cannot be used (${unusable}). Choose a writable folder.`);
  if (readdirSync(folder).length > 0) throw new CliError(`${folder} is not empty. Choose a new or empty folder.`);
  return folder;
}

/** Every worker process has a folder of its own for them. A backup that lies in the data folder has its own, too. */
function journalFiles(dataDir: string): string[] {
  return [dataDir, ...workerFolders(dataDir)].flatMap((home) => {
    const folder = path.join(home, JOURNAL_FOLDER);
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder, { encoding: "utf8" }).filter((name) => JOURNAL_FILE.test(name));
    return names.map((name) => path.join(path.relative(dataDir, folder), name));
  });
}

/** The store with the master key that opens it: if the key is rotated between the two, both are copied again. */
async function copyWithSecrets(dataDir: string, folder: string, wanted: readonly string[]): Promise<string[]> {
  const copy = path.join(folder, DATABASE_FILE);
  for (let tries = 1; ; tries += 1) {
    await copyStore(path.join(dataDir, DATABASE_FILE), copy);
    const files = wanted.filter((file) => copyIfThere(dataDir, folder, file));
    const keys = files.filter((file) => MASTER_KEY_FILES.includes(file));
    if (
      keys.length === 0 ||
      opens(
        copy,
        keys.map((file) => path.join(folder, file)),
      )
    )
      return files;
    for (const file of keys) rmSync(path.join(folder, file));
    if (tries === TRIES_MAX) return files.filter((file) => !keys.includes(file));
    rmSync(copy);
  }
}

/** Whether each data key is wrapped by one of these; which one wrapped those of older versions is not written down. */
function opens(store: string, keyFiles: readonly string[]): boolean {
  const held = keyFiles.flatMap((file) => parseMasterKey(readFileSync(file, "utf8").trim()) ?? []);
  const ids = new Set(held.map((bytes) => masterKeyOf(bytes).id));
  const copy = new DatabaseSync(store, { readOnly: true });
  try {
    const rows = copy.prepare("select distinct master_key from data_keys where master_key is not null").all();
    return rows.every(({ master_key: id }) => ids.has(String(id)));
  } finally {
    copy.close();
  }
}

/** False when it has gone meanwhile: a segment whose records are all in the store is removed. */
function copyIfThere(from: string, to: string, file: string): boolean {
  const target = path.join(to, file);
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  try {
    copyFileSync(path.join(from, file), target);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

async function copyStore(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
  try {
    await backup(source, to, { rate: PAGES_AT_ONCE });
  } finally {
    source.close();
  }
  // Others may be let into the folder later: the file is for this user alone, as in DATA_DIR.
  chmodSync(to, 0o600);
  const copy = new DatabaseSync(to);
  try {
    const found = copy.prepare("pragma quick_check(1)").all()[0]?.["quick_check"];
    if (found !== "ok")
      throw new CliError(`The copy of the store is damaged (${found}). Check the disk, then try again.`);
    // One file instead of three: what is carried elsewhere is whole.
    copy.exec("pragma journal_mode = delete");
  } finally {
    copy.close();
  }
}
