import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";

/** A value of a template: anything YAML can express. */
type Value = string | number | boolean | null | undefined | readonly Value[] | { readonly [name: string]: Value };
type Scope = { readonly dot: Value; readonly names: ReadonlyMap<string, Value> };

type Piece =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "print"; readonly code: string }
  | { readonly is: "define"; readonly name: string; readonly body: readonly Piece[] }
  | { readonly is: "if"; readonly code: string; readonly yes: readonly Piece[]; readonly otherwise: readonly Piece[] }
  | { readonly is: "range"; readonly names: readonly string[]; readonly code: string; readonly body: readonly Piece[] };

const ACTION = /\{\{(-?)\s*(.*?)\s*(-?)\}\}/gs;
/** A string, a parenthesis, or a word. */
const WORD = /"(?:[^"\\]|\\.)*"|[()]|[^\s()]+/g;

export type Chart = {
  /** Every object that the templates make, by kind and name. */
  render(values: object): Map<string, Record<string, Value>>;
  notes(values: object): string;
  readonly values: Record<string, Value>;
};

/**
 * Renders a chart that uses a small part of Go's templates: values, if and else, range, define and include, and the
 * functions below. Anything else throws, so that what is rendered here means the same to Helm.
 */
export function openChart(folder: string): Chart {
  const read = (file: string) => readFileSync(path.join(folder, file), "utf8");
  const chart = parse(read("Chart.yaml"));
  const templates = path.join(folder, "templates");
  const parts = new Map<string, readonly Piece[]>();
  for (const name of readdirSync(templates).filter((one) => one.endsWith(".tpl"))) {
    const text = read(path.join("templates", name));
    for (const piece of parseTemplate(text)) if (piece.is === "define") parts.set(piece.name, piece.body);
  }
  const scopeOf = (values: object): Scope => {
    const release = { Name: "gw", Namespace: "gateway", Service: "Helm" };
    const dot = {
      Values: merged(parse(read("values.yaml")), values),
      Chart: { AppVersion: chart.appVersion },
      Release: release,
    };
    return { dot, names: new Map() };
  };
  return {
    values: parse(read("values.yaml")),
    notes: (values) => run(parseTemplate(read("templates/NOTES.txt")), scopeOf(values), parts),
    render(values) {
      const made = new Map<string, Record<string, Value>>();
      for (const name of readdirSync(templates).filter((one) => one.endsWith(".yaml"))) {
        const text = run(parseTemplate(read(path.join("templates", name))), scopeOf(values), parts);
        for (const document of parseAllDocuments(text, { strict: true, uniqueKeys: true })) {
          if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]?.message}\n${text}`);
          const object = document.toJS();
          if (object !== null) made.set(`${object.kind}/${object.metadata.name}`, object);
        }
      }
      return made;
    },
  };
}

function merged(base: Value, over: unknown): Value {
  if (!isMap(base) || !isMap(over)) return over === undefined ? base : JSON.parse(JSON.stringify(over));
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}

function isMap(value: unknown): value is { readonly [name: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseTemplate(text: string): readonly Piece[] {
  const tokens: ({ text: string } | { code: string })[] = [];
  let at = 0;
  let trimNext = false;
  const push = (raw: string, trimEnd: boolean) => {
    const left = trimNext ? raw.trimStart() : raw;
    tokens.push({ text: trimEnd ? left.trimEnd() : left });
  };
  for (const match of text.matchAll(ACTION)) {
    push(text.slice(at, match.index), match[1] === "-");
    trimNext = match[3] === "-";
    tokens.push({ code: match[2] ?? "" });
    at = match.index + match[0].length;
  }
  push(text.slice(at), false);
  let next = 0;
  const block = (): { pieces: Piece[]; ended: string | undefined } => {
    const pieces: Piece[] = [];
    for (; next < tokens.length; ) {
      const token = tokens[next];
      next += 1;
      if (token === undefined) break;
      if ("text" in token) pieces.push({ is: "text", text: token.text });
      else if (token.code === "end" || token.code === "else") return { pieces, ended: token.code };
      else pieces.push(action(token.code, block));
    }
    return { pieces, ended: undefined };
  };
  const { pieces, ended } = block();
  if (ended !== undefined) throw new Error(`a stray ${ended}`);
  return pieces;
}

function action(code: string, block: () => { pieces: Piece[]; ended: string | undefined }): Piece {
  if (code.startsWith("if ")) {
    const then = block();
    const otherwise = then.ended === "else" ? block() : { pieces: [], ended: then.ended };
    if (otherwise.ended !== "end") throw new Error(`no end for: ${code}`);
    return { is: "if", code: code.slice(3), yes: then.pieces, otherwise: otherwise.pieces };
  }
  const range = /^range (\$\w+)(?:, (\$\w+))? := (.*)$/.exec(code);
  if (range !== null) {
    const { pieces, ended } = block();
    if (ended !== "end") throw new Error(`no end for: ${code}`);
    const names = [range[1], range[2]].filter((name) => name !== undefined);
    return { is: "range", names, code: range[3] ?? "", body: pieces };
  }
  const define = /^define "([\w.]+)"$/.exec(code);
  if (define !== null) return { is: "define", name: define[1] ?? "", body: block().pieces };
  if (/^(?:range|with|define|block|template|else|\$\w+ :?=)\b/.test(code))
    throw new Error(`not in this subset: ${code}`);
  return { is: "print", code };
}

function run(pieces: readonly Piece[], scope: Scope, parts: ReadonlyMap<string, readonly Piece[]>): string {
  return pieces
    .map((piece): string => {
      if (piece.is === "text") return piece.text;
      if (piece.is === "define") return "";
      const value = pipeline(piece.code, scope, parts);
      if (piece.is === "print") return printed(value, piece.code);
      if (piece.is === "if") return run(isTrue(value) ? piece.yes : piece.otherwise, scope, parts);
      const entries: [Value, Value][] = Array.isArray(value)
        ? value.map((item, index) => [index, item])
        : Object.entries(isMap(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1));
      return entries
        .map(([key, item]) => {
          const given = piece.names.length === 2 ? [key, item] : [item];
          const names = new Map([...scope.names, ...piece.names.map((name, index) => [name, given[index]] as const)]);
          return run(piece.body, { ...scope, names }, parts);
        })
        .join("");
    })
    .join("");
}

function printed(value: Value, code: string): string {
  if (value === undefined || value === null || typeof value === "object") throw new Error(`nothing to print: ${code}`);
  return String(value);
}

/** Truth in Go's templates: nil, zero, false and empty are false. */
function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== "" && value !== 0 && value !== false;
}

function pipeline(code: string, scope: Scope, parts: ReadonlyMap<string, readonly Piece[]>): Value {
  return code.split(" | ").reduce<{ value: Value; isFirst: boolean }>(
    (before, stage) => ({
      value: command(stage.match(WORD) ?? [], scope, parts, before.isFirst ? [] : [before.value]),
      isFirst: false,
    }),
    { value: undefined, isFirst: true },
  ).value;
}

function command(
  words: readonly string[],
  scope: Scope,
  parts: ReadonlyMap<string, readonly Piece[]>,
  last: readonly Value[],
): Value {
  const [name = "", ...rest] = words;
  if (rest.length === 0 && last.length === 0) return term(name, scope);
  const args: Value[] = [];
  for (let at = 0; at < rest.length; at += 1) {
    if (rest[at] === "(") {
      const end = closing(rest, at);
      args.push(command(rest.slice(at + 1, end), scope, parts, []));
      at = end;
    } else args.push(term(rest[at] ?? "", scope));
  }
  args.push(...last);
  if (name === "include") {
    const part = parts.get(String(args[0]));
    if (part === undefined) throw new Error(`no part ${args[0]}`);
    return run(part, { ...scope, dot: args[1] }, parts);
  }
  const work = FUNCTIONS[name];
  if (work === undefined) throw new Error(`not in this subset: ${words.join(" ")}`);
  return work(...args);
}

/** The parenthesis that closes the one at this place. */
function closing(words: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < words.length; at += 1) {
    if (words[at] === "(") depth += 1;
    if (words[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`no parenthesis closes: ${words.join(" ")}`);
}

function term(word: string, { dot, names }: Scope): Value {
  if (word.startsWith('"')) return JSON.parse(word);
  if (/^-?\d+$/.test(word)) return Number(word);
  if (word === "." || word === "$") return dot;
  const [, variable, fields = ""] = /^(\$\w+)?((?:\.\w+)*)$/.exec(word) ?? [];
  if (variable === undefined && fields === "") throw new Error(`not in this subset: ${word}`);
  if (variable !== undefined && !names.has(variable)) throw new Error(`no ${variable} here`);
  const path = fields.split(".").slice(1);
  return path.reduce<Value>(
    (value, name) => {
      // A name that is missing in values.yaml is a mistake: Helm would print nothing.
      if (!isMap(value) || !(name in value)) throw new Error(`no value ${word}`);
      return value[name];
    },
    variable === undefined ? dot : names.get(variable),
  );
}

const FUNCTIONS: Readonly<Record<string, (...args: Value[]) => Value>> = {
  not: (value) => !isTrue(value),
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1),
  or: (...values) => values.find(isTrue) ?? values.at(-1),
  eq: (one, other) => one === other,
  ne: (one, other) => one !== other,
  gt: (one, other) => Number(one) > Number(other),
  int: (value) => Number(value),
  contains: (part, text) => String(text).includes(String(part)),
  fail: (message) => {
    throw new Error(String(message));
  },
  quote: (value) => JSON.stringify(String(value)),
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  trunc: (length, value) => String(value).slice(0, Number(length)),
  trimSuffix: (suffix, value) => {
    const [text, end] = [String(value), String(suffix)];
    return text.endsWith(end) ? text.slice(0, -end.length) : text;
  },
  add: (...numbers) => numbers.reduce<number>((sum, value) => sum + Number(value), 0),
  div: (one, other) => Math.trunc(Number(one) / Number(other)),
  mul: (...numbers) => numbers.reduce<number>((product, value) => product * Number(value), 1),
  toYaml: (value) => stringify(value).trimEnd(),
  nindent: (spaces, value) => `\n${String(value).replace(/^/gm, " ".repeat(Number(spaces)))}`,
};
