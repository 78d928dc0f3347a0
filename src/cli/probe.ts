import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { makeClient } from "./client.ts";
import { CliError, type Invocation } from "./command.ts";
import { cell, rowsAt } from "./print.ts";
import { fieldsOf } from "./run-api.ts";
import { probeFlags } from "./table-proofs.ts";

/** Probes endpoints one after the other and prints each result. Exits with 1 when one failed. */
export async function runProbe({ options, format, shell }: Invocation): Promise<number> {
  const client = makeClient(shell.env);
  const fields = fieldsOf(probeFlags, options);
  const made: JsonObject[] = [];
  for (const target of await probeTargets(client, fields)) {
    const answer = await client.send("POST", "/manage/probes", target);
    for (const proof of rowsAt(answer, "data")) {
      if (!isJsonObject(proof)) continue;
      made.push(proof);
      if (format === "text") shell.stdout.write(`${lineOf(proof)}\n`);
    }
  }
  const isFailed = ({ result }: JsonObject) => result !== "proven";
  const ok = !made.some(isFailed);
  if (format === "json") shell.stdout.write(`${JSON.stringify({ ok, data: made }, null, 2)}\n`);
  else if (made.length === 0) shell.stdout.write("No connected endpoint serves decisions or speech.\n");
  else shell.stdout.write(`${made.length - made.filter(isFailed).length} of ${made.length} proven\n`);
  return ok ? 0 : 1;
}

async function probeTargets(
  client: ReturnType<typeof makeClient>,
  { endpoint, surface }: Readonly<Record<string, unknown>>,
): Promise<readonly JsonObject[]> {
  if (endpoint !== undefined) return [{ endpoint, ...(surface === undefined ? {} : { surface }) }];
  const rows = rowsAt(await client.send("GET", "/manage/proofs"), "data");
  return rows.flatMap((row) => {
    if (!isJsonObject(row)) throw new CliError("The gateway does not support proofs.");
    const isWanted = surface === undefined || row["surface"] === surface;
    return isWanted ? [{ endpoint: row["endpoint"], surface: row["surface"] }] : [];
  });
}

function lineOf({ result, endpoint, surface, reason, duration_ms }: JsonObject): string {
  const shown = cell(result).padEnd("proven".length);
  return `${shown}  ${cell(surface)}  ${cell(endpoint)}  ${cell(reason)} (${cell(duration_ms)} ms)`;
}
