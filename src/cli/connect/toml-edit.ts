import { CliError } from "../command.ts";

/** One statement of a TOML file: a header, a pair (over as many lines as its value has), or a blank or comment line. */
type Statement = {
  readonly is: "header" | "pair" | "other";
  /** Of a header the table, of a pair the key inside its table. */
  readonly path: readonly string[];
  /** The table a pair stands in. */
  readonly table: readonly string[];
  readonly start: number;
  readonly end: number;
};

const same = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((part, index) => part === b[index]);
const isWithin = (path: readonly string[], outer: readonly string[]) => same(path.slice(0, outer.length), outer);

/** Sets a pair of the root table (`toml` is the value as it is written there); undefined takes it out. */
export function setRootPair(text: string, key: string, toml: string | undefined): string {
  const statements = read(text);
  const found = statements.find(({ is, table, path }) => is === "pair" && table.length === 0 && same(path, [key]));
  const line = toml === undefined ? "" : `${key} = ${toml}\n`;
  if (found !== undefined) return text.slice(0, found.start) + line + text.slice(found.end);
  // Root pairs stand before the first table.
  const lastPair = statements.findLast(({ is, table }) => is === "pair" && table.length === 0);
  const at = lastPair?.end ?? 0;
  const isJoined = at > 0 && text[at - 1] !== "\n";
  return line === "" ? text : `${text.slice(0, at)}${isJoined ? "\n" : ""}${line}${text.slice(at)}`;
}

/** The value of a root pair as it is written. */
export function readRootPair(text: string, key: string): string | undefined {
  const found = read(text).find(({ is, table, path }) => is === "pair" && table.length === 0 && same(path, [key]));
  const pair = found === undefined ? undefined : text.slice(found.start, found.end);
  return pair?.slice(pair.indexOf("=") + 1).trim();
}

/** A table with its pairs as they are written; undefined when there is none. */
export function readTable(text: string, table: readonly string[]): string | undefined {
  const { start, end } = spanOf(text, table) ?? {};
  return start === undefined ? undefined : text.slice(start, end);
}

/** Puts a table in place of the one of that name, or at the end; undefined takes it out. */
export function setTable(text: string, table: readonly string[], body: string | undefined): string {
  refuseInline(text, table);
  const span = spanOf(text, table);
  if (span !== undefined) return text.slice(0, span.start) + (body ?? "") + text.slice(span.end);
  if (body === undefined) return text;
  const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return `${text}${gap}${body}`;
}

/** From the header to the last pair of it and of the tables inside it: comments behind belong to what follows. */
function spanOf(text: string, table: readonly string[]): { start: number; end: number } | undefined {
  const statements = read(text);
  const first = statements.findIndex(({ is, path }) => is === "header" && same(path, table));
  const header = statements[first];
  if (header === undefined) return undefined;
  let end = header.end;
  for (const { is, path, end: past } of statements.slice(first + 1)) {
    if (is === "header" && !isWithin(path, table)) break;
    if (is !== "other") end = past;
  }
  return { start: header.start, end };
}

/** The same table written as dotted keys or inside braces: that is for a person to change. */
function refuseInline(text: string, table: readonly string[]): void {
  const clash = read(text).find(({ is, table: outer, path }) => {
    if (is !== "pair") return false;
    const whole = [...outer, ...path];
    return !isWithin(outer, table) && (isWithin(whole, table) || isWithin(table, whole));
  });
  if (clash !== undefined)
    throw new CliError(
      `${[...clash.table, ...clash.path].join(".")} is written in a form this command does not change.`,
    );
}

function read(text: string): Statement[] {
  const statements: Statement[] = [];
  let table: readonly string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = statementEnd(text, start);
    const line = text.slice(start, end).trimStart();
    if (line.startsWith("[")) {
      table = parts(line.replace(/^\[+\s*/, ""), "]");
      statements.push({ is: "header", path: table, table: [], start, end });
    } else if (line === "" || line.startsWith("#")) statements.push({ is: "other", path: [], table, start, end });
    else statements.push({ is: "pair", path: parts(line, "="), table, start, end });
    start = end;
  }
  return statements;
}

/** Keys by dots, bare or in quotes, up to the sign that ends them. */
function parts(line: string, stop: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < line.length && line[at] !== stop) {
    const key = /^\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))\s*\.?/.exec(line.slice(at));
    if (key === null) throw new CliError(`this line is not TOML: ${line.split("\n")[0]?.slice(0, 40) ?? ""}`);
    found.push(key[1] ?? key[2] ?? key[3] ?? "");
    at += key[0].length;
  }
  return found;
}

/** Past the line end that ends the statement: not one inside a string of several lines or inside brackets. */
function statementEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "#") at = lineEnd(text, at) - 1;
    else if (sign === '"' || sign === "'") at = stringEnd(text, at, sign) - 1;
    else if (sign === "[" || sign === "{") depth += 1;
    else if (sign === "]" || sign === "}") depth -= 1;
    else if (sign === "\n" && depth <= 0) return at + 1;
  }
  return text.length;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function stringEnd(text: string, start: number, quote: string): number {
  const triple = quote.repeat(3);
  const close = text.startsWith(triple, start) ? triple : quote;
  for (let at = start + close.length; at < text.length; at += 1) {
    if (text[at] === "\\" && quote === '"') at += 1;
    else if (text.startsWith(close, at)) return at + close.length;
    else if (text[at] === "\n" && close.length === 1) break;
  }
  throw new CliError("a string has no end.");
}
