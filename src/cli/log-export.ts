import { once } from "node:events";
import { makeClient } from "./client.ts";
import type { Invocation } from "./command.ts";
import { eachPage, fieldsOf, fillPath, withQuery } from "./run-api.ts";
import { logFilters } from "./table.ts";

const REQUESTS = "/manage/workspaces/{workspace}/requests";

export async function runLogExport({ args, options, format }: Invocation): Promise<number> {
  const client = makeClient(process.env);
  const { path } = fillPath(REQUESTS, [{ name: "workspace" }], args);
  const filters = fieldsOf(logFilters, options);
  if (format === "json") {
    const data: unknown[] = [];
    for await (const page of eachPage(client, path, filters)) data.push(...page);
    await write(`${JSON.stringify({ data, next: null }, null, 2)}\n`);
    return 0;
  }
  // As it comes, so that a long log does not have to fit into memory.
  const rows = client.follow(withQuery(`${path}/export`, { ...filters, format: options["format"] }));
  for await (const piece of rows) await write(piece);
  return 0;
}

async function write(piece: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(piece)) await once(process.stdout, "drain");
}
