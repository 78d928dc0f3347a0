import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { type Client, makeClient } from "./client.ts";
import {
  type ApiCommand,
  CliError,
  type Flag,
  type Invocation,
  optionName,
  type Positional,
  WHOLE_BODY,
} from "./command.ts";
import { asText, rowsAt } from "./print.ts";
import { LIFTED } from "./values.ts";

/** Most pages a command puts together. */
const PAGES_MAX = 1000;
const PAGE_ROWS = 1000;

export async function runApi(command: ApiCommand, invocation: Invocation): Promise<number> {
  const { format, shell } = invocation;
  const client = makeClient(shell.env);
  const answer = await ask(client, command, invocation);
  const text = format === "json" ? JSON.stringify(answer, null, 2) : asText(answer, command.view);
  shell.stdout.write(`${text}\n`);
  const { note } = command;
  if (note !== undefined && format === "text" && (note.when === undefined || isSet(answer[note.when])))
    shell.stderr.write(`\n${typeof note.says === "string" ? note.says : note.says(answer)}\n`);
  return command.verdict === "ok" && answer["ok"] !== true ? 1 : 0;
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

async function ask(client: Client, command: ApiCommand, { args, options }: Invocation): Promise<JsonObject> {
  const { method, sends } = command.call;
  const flagFields = fieldsOf(command.flags, options);
  const { path, flags, rest } = placeFields(command, args, flagFields);
  const isBare = Object.keys(flags).length === 0;
  if (isBare && command.bare === "read") return client.send("GET", path);
  const fields = { ...rest, ...flags };
  if (sends === "body") return client.send(method, path, fields);
  if (sends === "nothing") return client.send(method, path);
  if (command.pages === "one") return client.send(method, withQuery(path, fields));
  return { data: await allRows(client, path, fields), next: null };
}

const OPTIONAL = /\[([^\]]*\{(\w+)\}[^\]]*)\]/g;

/** Flags that name a part of the path go there, the others where the command sends its fields. */
function placeFields({ call, args: named }: ApiCommand, args: readonly unknown[], fields: Record<string, unknown>) {
  const inPath = Object.keys(fields).filter((name) => call.path.includes(`{${name}}`));
  const { path, rest } = fillPath(
    call.path.replace(OPTIONAL, (_, part: string, name: string) => (fields[name] === undefined ? "" : part)),
    [...named, ...inPath.map((name) => ({ name }))],
    [...args, ...inPath.map((name) => fields[name])],
  );
  const flags = Object.fromEntries(Object.entries(fields).filter(([name]) => !inPath.includes(name)));
  return { path, rest, flags };
}

export function fillPath(template: string, named: readonly Positional[], args: readonly unknown[]) {
  const rest: Record<string, unknown> = {};
  let path = template;
  for (const [index, { name }] of named.entries()) {
    const value = args[index];
    if (!path.includes(`{${name}}`)) {
      if (value !== undefined) rest[name] = value === LIFTED ? null : value;
    }
    // An empty segment, `.` or `..` would make another path of it.
    else if (typeof value !== "string" || /^\.{0,2}$/.test(value)) throw new CliError(`Enter the ${name}.`);
    else path = path.replace(`{${name}}`, encodeURIComponent(value));
  }
  return { path, rest };
}

export function fieldsOf(flags: readonly Flag[], options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const flag of flags) {
    const option = options[optionName(flag.flags)];
    if (option === undefined) continue;
    const value = option === LIFTED ? null : option;
    const [name = "", inner] = flag.field.split(".");
    if (flag.field === WHOLE_BODY) Object.assign(fields, value);
    else if (inner === undefined) fields[name] = value;
    else fields[name] = { ...(isJsonObject(fields[name]) ? fields[name] : {}), [inner]: value };
  }
  return fields;
}

export function withQuery(path: string, fields: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Every page, one after the other: newest first, as the pages come. */
export async function* eachPage(client: Client, path: string, fields: Readonly<Record<string, unknown>>) {
  let cursor: unknown = null;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const place = typeof cursor === "string" ? { cursor } : {};
    const page = await client.send("GET", withQuery(path, { ...fields, limit: PAGE_ROWS, ...place }));
    yield rowsAt(page, "data");
    cursor = page["next"];
    if (typeof cursor !== "string") return;
  }
  throw new CliError(`There are more than ${PAGES_MAX * PAGE_ROWS} rows. Narrow the period with --since and --until.`);
}

async function allRows(client: Client, path: string, fields: Readonly<Record<string, unknown>>): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const page of eachPage(client, path, fields)) rows.push(...page);
  return rows;
}
