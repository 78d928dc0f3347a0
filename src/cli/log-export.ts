import { once } from "node:events";
import { makeClient } from "./client.ts";
import type { Flag, Invocation, Shell } from "./command.ts";
import { eachPage, fieldsOf, fillPath, withQuery } from "./run-api.ts";
import { logFilters } from "./table.ts";
import { entryFilters } from "./table-money.ts";

const REQUESTS = "/manage/workspaces/{workspace}/requests";

const ENTRIES = "/manage/workspaces/{workspace}/wallet/entries";

export function runLogExport(invocation: Invocation): Promise<number> {
  return runExport(REQUESTS, logFilters, invocation);
}

export function runWalletExport(invocation: Invocation): Promise<number> {
  return runExport(ENTRIES, entryFilters, invocation);
}

async function runExport(list: string, flags: readonly Flag[], invocation: Invocation): Promise<number> {
  const { args, options, format, shell } = invocation;
  const client = makeClient(shell.env);
  const { path } = fillPath(list, [{ name: "workspace" }], args);
  const filters = fieldsOf(flags, options);
  if (format === "json") {
    const data: unknown[] = [];
    for await (const page of eachPage(client, path, filters)) data.push(...page);
    await write(shell, `${JSON.stringify({ data, next: null }, null, 2)}\n`);
    return 0;
  }
  // As it comes, so that a long log does not have to fit into memory.
  const rows = client.follow(withQuery(`${path}/export`, { ...filters, format: options["format"] }));
  for await (const piece of rows) await write(shell, piece);
  return 0;
}

async function write({ stdout }: Shell, piece: string | Uint8Array): Promise<void> {
  if (!stdout.write(piece)) await once(stdout, "drain");
}
