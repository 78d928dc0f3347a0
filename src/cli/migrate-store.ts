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
  throw new UsageError("Say where to: --to postgres://user:password@host:5432/database, or --to-file with that in it.");
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
    `${pluralize(rows, "row")} of ${pluralize(tables.length, "table")}, from ${dataDir} to ${to}`,
    `checked: rows of every table, every wallet against its ledger, the newest request, ${pluralize(secrets, "secret")} opened`,
  ];
  if (replayed > 0) lines.push(`in the journal only, and in both stores now: ${pluralize(replayed, "request")}`);
  for (const problem of audit) lines.push(`already so before: ${problem}`);
  if (dryRun) return [...lines, "This was a trial: nothing was kept there but empty tables."];
  return [
    ...lines,
    "",
    "Set next, and start the gateway:",
    `  DATABASE_URL             ${to}, with its password`,
    masterKeyFile === null
      ? "  GATEWAY_MASTER_KEY       as it is set now"
      : `  GATEWAY_MASTER_KEY_FILE  ${masterKeyFile}`,
    `  GATEWAY_ADMIN_TOKEN_FILE ${dataDir}/admin-token, or GATEWAY_ADMIN_TOKEN as it is set now`,
    "With two roles, DATABASE_URL is the address with gateway_app, and DATABASE_MIGRATION_URL this one, for the first start.",
    "Keep DATA_DIR: the journal is there. The embedded store in it is as it was; do not serve from it again.",
  ];
}
