import { migrateStore, type StoreMigrationReport } from "../bootstrap/migrate-store.ts";
import { readDatabaseAddress } from "../io/store/sql/postgres/address.ts";
import { pluralize } from "../kit/pluralize.ts";
import { type Invocation, type Shell, UsageError } from "./command.ts";
import { textFile } from "./values.ts";

/** On a terminal the line changes; elsewhere one in a while is enough. */
const SAY_EVERY_MS = 5_000;

/** Needs no running gateway, and refuses while one has the folder. Nothing is there until everything is. */
export async function runMigrateStore({ options, format, shell }: Invocation): Promise<number> {
  const to = readDatabaseAddress(addressOf(options));
  if ("problem" in to) throw new UsageError(`--to: ${to.problem}.`);
  const dryRun = options["dryRun"] === true;
  const from = typeof options["from"] === "string" ? options["from"] : undefined;
  const line = progressLine(format, shell);
  const warn = (_detail: object, message: string) => void shell.stderr.write(`warning: ${message}\n`);
  const log = { info: () => {}, warn, error: warn };
  const moved = await migrateStore({ env: shell.env, from, to, dryRun, progress: line.show, log });
  line.end();
  const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0);
  if (format === "json") shell.stdout.write(`${JSON.stringify(documentOf(moved, to.shown, dryRun, rows), null, 2)}\n`);
  else shell.stdout.write(`${wordsOf(moved, to.shown, dryRun, rows).join("\n")}\n`);
  return 0;
}

function addressOf({ to, toFile }: Invocation["options"]): string {
  if (typeof to === "string") return to;
  if (typeof toFile === "string") return textFile(toFile);
  throw new UsageError(
    "Specify the target with --to postgres://user:password@host:5432/database, or --to-file <file>.",
  );
}

function progressLine(format: Invocation["format"], { stderr }: Shell) {
  let printedAtMs = Number.NEGATIVE_INFINITY;
  return {
    show(table: string, done: number, of: number): void {
      if (format === "json") return;
      const text = `${table} ${done.toLocaleString("en")} of ${of.toLocaleString("en")}`;
      if (stderr.isTTY) stderr.write(`\r\x1b[K${text}`);
      else if (performance.now() - printedAtMs >= SAY_EVERY_MS) {
        printedAtMs = performance.now();
        stderr.write(`${text}\n`);
      }
    },
    end(): void {
      if (format !== "json" && stderr.isTTY) stderr.write("\r\x1b[K");
    },
  };
}

function documentOf(
  { tables, audit, dataDir, replayed, secrets }: StoreMigrationReport,
  to: string,
  dryRun: boolean,
  rows: number,
) {
  return { from: dataDir, to, dry_run: dryRun, rows, tables, replayed, secrets_opened: secrets, audit };
}

function wordsOf(moved: StoreMigrationReport, to: string, dryRun: boolean, rows: number): string[] {
  const { tables, audit, dataDir, replayed, secrets, masterKeyFile } = moved;
  const filled = tables.filter((table) => table.rows > 0);
  const width = Math.max(0, ...filled.map(({ name }) => name.length));
  const lines = [
    ...filled.map(({ name, rows: count }) => `${name.padEnd(width)}  ${count.toLocaleString("en")}`),
    `${pluralize(rows, "row")} in ${pluralize(tables.length, "table")}, from ${dataDir} to ${to}`,
    `Verified: row counts of all tables, wallets against the ledger, the newest request, and ${pluralize(secrets, "decrypted secret")}`,
  ];
  if (replayed > 0) lines.push(`Replayed from the journal into both stores: ${pluralize(replayed, "request")}`);
  for (const problem of audit) lines.push(`Existing problem: ${problem}`);
  if (dryRun) return [...lines, "Dry run: the target has only empty tables."];
  return [
    ...lines,
    "",
    "Set these, then start the gateway:",
    `  DATABASE_URL             ${to}, with its password`,
    masterKeyFile === null ? "  GATEWAY_MASTER_KEY       unchanged" : `  GATEWAY_MASTER_KEY_FILE  ${masterKeyFile}`,
    `  GATEWAY_ADMIN_TOKEN_FILE ${dataDir}/admin-token, or GATEWAY_ADMIN_TOKEN unchanged`,
    "With two roles, use gateway_app in DATABASE_URL, and this URL in DATABASE_MIGRATION_URL for the first start.",
    "Keep DATA_DIR: it has the journal. The embedded store in it is unchanged; do not use it again.",
  ];
}
