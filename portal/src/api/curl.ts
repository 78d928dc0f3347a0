import { type OperationId, type UntypedArgs, urlOf } from "./client.ts";
import { OPERATIONS } from "./operations.gen.ts";

/** The call as a curl command, with a token in place of the session cookie. */
export function curlOf(id: OperationId, args: UntypedArgs): string {
  return curlTo(OPERATIONS[id].method, urlOf(id, args), args.body, "TOKEN");
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
