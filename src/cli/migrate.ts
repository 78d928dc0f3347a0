import { migrateDatabase } from "../bootstrap/store.ts";
import { pluralize } from "../kit/pluralize.ts";
import { readConfig } from "../settings/config.ts";
import { CliError, type Invocation } from "./command.ts";

/** Before the gateways of a new version start: in a job of Kubernetes, or with the owner's URL that gateways do not get. */
export async function runMigrate({ format, shell }: Invocation): Promise<number> {
  const warn = (_detail: object, message: string) => void shell.stderr.write(`warning: ${message}\n`);
  const migrated = await migrateDatabase(readConfig(shell.env), { info: () => {}, warn, error: warn });
  if (migrated === null)
    throw new CliError("DATABASE_URL is not set: the embedded store is migrated when the gateway starts.");
  const { database, applied } = migrated;
  const text =
    applied === 0 ? `${database} was up to date` : `${database} is up to date after ${pluralize(applied, "migration")}`;
  shell.stdout.write(format === "json" ? `${JSON.stringify(migrated, null, 2)}\n` : `${text}\n`);
  return 0;
}
