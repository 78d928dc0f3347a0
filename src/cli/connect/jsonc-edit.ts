import { CliError } from "../command.ts";

/** A value of JSON with comments, by where it stands in the text. Only objects are looked into. */
type Node = { readonly start: number; readonly end: number; readonly members: readonly Member[] | null };
type Member = { readonly key: string; readonly keyStart: number; readonly value: Node };

const INDENT = "  ";
const DEPTH_MAX = 64;

/**
 * Sets one value inside a JSON document (comments and trailing commas are allowed) and leaves every other character
 * as it was; undefined takes the member out. An empty text is an empty object.
 */
export function setJson(text: string, path: readonly string[], value: unknown): string {
  const source = text.trim() === "" ? "{}\n" : text;
  let node = new Reader(source).document();
  for (const [depth, name] of path.entries()) {
    if (node.members === null) throw new CliError(`${path.slice(0, depth).join(".") || "the file"} is not an object.`);
    const found = node.members.find(({ key }) => key === name);
    if (found === undefined)
      return value === undefined ? source : insert(source, node, name, nested(path.slice(depth + 1), value));
    if (depth === path.length - 1)
      return value === undefined ? remove(source, node, found) : replace(source, found, value);
    node = found.value;
  }
  return source;
}

/** The value at a path; undefined when there is none. */
export function readJson(text: string, path: readonly string[]): unknown {
  if (text.trim() === "") return undefined;
  let node: Node | undefined = new Reader(text).document();
  for (const name of path) node = node?.members?.find(({ key }) => key === name)?.value;
  return node === undefined ? undefined : plainValue(text.slice(node.start, node.end));
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}

function replace(text: string, member: Member, value: unknown): string {
  const { start, end } = member.value;
  return text.slice(0, start) + written(value, indentAt(text, member.keyStart)) + text.slice(end);
}

function insert(text: string, node: Node, name: string, value: unknown): string {
  const outer = indentAt(text, node.start);
  const first = node.members?.[0];
  const last = node.members?.at(-1);
  if (first === undefined || last === undefined) {
    const inner = outer + INDENT;
    const comments = text.slice(node.start + 1, node.end - 1).trimEnd();
    const member = `${JSON.stringify(name)}: ${written(value, inner)}`;
    return `${text.slice(0, node.start + 1)}${comments}\n${inner}${member}\n${outer}${text.slice(node.end - 1)}`;
  }
  const isOnLines = text.slice(node.start, first.keyStart).includes("\n");
  const inner = isOnLines ? indentAt(text, first.keyStart) : outer;
  const member = `${JSON.stringify(name)}: ${written(value, inner)}`;
  const comma = commaAfter(text, last.value.end);
  const at = comma === undefined ? last.value.end : comma + 1;
  // A list that ended with a comma goes on ending with one.
  const [before, after] = comma === undefined ? [",", ""] : ["", ","];
  return `${text.slice(0, at)}${before}${isOnLines ? `\n${inner}` : " "}${member}${after}${text.slice(at)}`;
}

function remove(text: string, node: Node, member: Member): string {
  const members = node.members ?? [];
  const index = members.indexOf(member);
  const next = members[index + 1];
  if (next !== undefined) return text.slice(0, member.keyStart) + text.slice(next.keyStart);
  const before = members[index - 1];
  const end = (commaAfter(text, member.value.end) ?? member.value.end - 1) + 1;
  if (before !== undefined) return text.slice(0, before.value.end) + text.slice(member.value.end);
  return text.slice(0, node.start + 1) + text.slice(end).trimStart();
}

function written(value: unknown, indent: string): string {
  return JSON.stringify(value, null, INDENT).replaceAll("\n", `\n${indent}`);
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[\t ]*/.exec(line)?.[0] ?? "";
}

function commaAfter(text: string, from: number): number | undefined {
  const at = skipBlank(text, from);
  return text[at] === "," ? at : undefined;
}

/** Comments taken out, so that JSON.parse reads it. */
function plainValue(text: string): unknown {
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const blankEnd = skipBlank(text, at);
    if (blankEnd > at) {
      plain += " ";
      at = blankEnd;
      continue;
    }
    const end = text[at] === '"' ? stringEnd(text, at) : at + 1;
    const isTrailing = text[at] === "," && /[}\]]/.test(text[skipBlank(text, at + 1)] ?? "");
    if (!isTrailing) plain += text.slice(at, end);
    at = end;
  }
  return JSON.parse(plain);
}

/** Past spaces and comments. */
function skipBlank(text: string, from: number): number {
  let at = from;
  for (;;) {
    while (/\s|\uFEFF/.test(text[at] ?? "")) at += 1;
    if (text.startsWith("//", at)) {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
    } else if (text.startsWith("/*", at)) {
      const end = text.indexOf("*/", at + 2);
      at = end < 0 ? text.length : end + 2;
    } else return at;
  }
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  throw new CliError("a string has no end.");
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Node {
    this.#skip();
    const node = this.#value(0);
    this.#skip();
    if (node.members === null) throw new CliError("it does not begin with {.");
    if (this.#at < this.#text.length) throw this.#bad();
    return node;
  }

  #skip(): void {
    this.#at = skipBlank(this.#text, this.#at);
  }

  #bad(): CliError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new CliError(`line ${line} is not JSON.`);
  }

  #value(depth: number): Node {
    if (depth > DEPTH_MAX) throw new CliError("it is nested too deeply.");
    const start = this.#at;
    const first = this.#text[start];
    if (first === "{") return { start, members: this.#object(depth), end: this.#at };
    if (first === "[") this.#array(depth);
    else if (first === '"') this.#at = stringEnd(this.#text, start);
    else {
      const word = /^[\w.+-]+/.exec(this.#text.slice(start, start + 64))?.[0];
      if (word === undefined) throw this.#bad();
      this.#at += word.length;
    }
    return { start, members: null, end: this.#at };
  }

  #object(depth: number): Member[] {
    const members: Member[] = [];
    this.#at += 1;
    for (;;) {
      this.#skip();
      if (this.#text[this.#at] === "}") break;
      const keyStart = this.#at;
      if (this.#text[keyStart] !== '"') throw this.#bad();
      this.#at = stringEnd(this.#text, keyStart);
      const key = String(JSON.parse(this.#text.slice(keyStart, this.#at)));
      this.#skip();
      if (this.#text[this.#at] !== ":") throw this.#bad();
      this.#at += 1;
      this.#skip();
      members.push({ key, keyStart, value: this.#value(depth + 1) });
      if (!this.#goesOn("}")) break;
    }
    this.#at += 1;
    return members;
  }

  #array(depth: number): void {
    this.#at += 1;
    for (;;) {
      this.#skip();
      if (this.#text[this.#at] === "]") break;
      this.#value(depth + 1);
      if (!this.#goesOn("]")) break;
    }
    this.#at += 1;
  }

  /** Past a comma; false at the closing bracket. */
  #goesOn(close: string): boolean {
    this.#skip();
    if (this.#text[this.#at] === close) return false;
    if (this.#text[this.#at] !== ",") throw this.#bad();
    this.#at += 1;
    return true;
  }
}
