import { writeFileSync } from "node:fs";
import { makeClient } from "./client.ts";
import { CliError, type Invocation, type Shell } from "./command.ts";
import { asText } from "./print.ts";
import { columns } from "./rows.ts";
import { fieldsOf, fillPath, withQuery } from "./run-api.ts";
import { evidencePeriod } from "./table-capture.ts";

const amounts = ["served", "input_tokens", "output_tokens", "cost"] as const;

export async function runEvidence({ args, options, format, shell }: Invocation): Promise<number> {
  const { path } = fillPath("/manage/workspaces/{workspace}/evidence", [{ name: "workspace" }], args);
  const client = makeClient(shell.env);
  const period = fieldsOf(evidencePeriod, options);
  const file = options["html"];
  if (typeof file === "string") {
    const pieces: Uint8Array[] = [];
    for await (const piece of client.follow(withQuery(path, { ...period, format: "html" }))) pieces.push(piece);
    if (file === "-") shell.stdout.write(Buffer.concat(pieces));
    else write(shell, file, Buffer.concat(pieces));
    return 0;
  }
  const report = await client.send("GET", withQuery(path, period));
  const tables = [
    ...["by_level", "by_country", "by_provider"].map((at) => ({ at, columns: columns("name", ...amounts) })),
    { at: "served", columns: columns("policy_version", "environment", "endpoint", "level", "countries", ...amounts) },
    { at: "data_classes", columns: columns("name", "requests", "summary") },
    { at: "refused", columns: columns("policy_version", "rule", "requests") },
    { at: "policies", columns: columns("subject", "key_name", "version", "in_force_from", "policy", "requests") },
    { at: "capture_windows", columns: columns("id", "opened_at", "closes_at", "reason", "items") },
  ];
  const { routers: _, evidence: __, ...short } = report;
  const text =
    format === "json" ? JSON.stringify(report, null, 2) : asText(short, { is: "record_with_tables", tables });
  shell.stdout.write(`${text}\n`);
  return 0;
}

function write({ stderr }: Shell, file: string, page: Buffer): void {
  try {
    writeFileSync(file, page);
  } catch (error) {
    throw new CliError(`${file} cannot be written (${error instanceof Error ? error.message : String(error)}).`);
  }
  stderr.write(`Report written to ${file}.\n`);
}
