import { addressOf, type LooseArgs, type OperationId } from "./client.ts";
import { OPERATIONS } from "./operations.gen.ts";

/** The call as a command, for people who want to do it again without the portal. A token stands where the cookie did. */
export function curlOf(id: OperationId, args: LooseArgs): string {
  return curlTo(OPERATIONS[id].method, addressOf(id, args), args.body, "TOKEN");
}

export function curlTo(method: string, path: string, body?: unknown, tokenName?: string): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(`${location.origin}${path}`)}`];
  if (tokenName !== undefined) lines.push(`-H "Authorization: Bearer $${tokenName}"`);
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
