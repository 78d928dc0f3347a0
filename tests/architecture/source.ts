import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../..");

export type Import = {
  /** A file of the project, relative to its root, or the name of a package. */
  readonly target: string;
  readonly kind: "types" | "values";
  /** Names between the braces; empty for a default, namespace or bare import. */
  readonly names: readonly string[];
};

export type Source = {
  /** Relative to the project's root, with forward slashes. */
  readonly file: string;
  readonly lineCount: number;
  /** The code with comments blanked. */
  readonly code: string;
  /** The code with comments and the insides of strings and patterns blanked. */
  readonly bare: string;
  readonly imports: readonly Import[];
};

/** Every TypeScript file of the product; tests are not part of it, nor is what only declares types of others. */
export function readSources(folder = "src"): Source[] {
  const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => /(?<!\.test|\.d)\.tsx?$/.test(name))
    .sort()
    .map((name) => readSource(path.posix.join(folder, name.split(path.sep).join("/"))));
}

function readSource(file: string): Source {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const { code, bare } = blank(text);
  return { file, lineCount: text.split("\n").length - 1, code, bare, imports: importsOf(file, code, bare) };
}

const STATIC_IMPORT =
  /^[ \t]*(?:import|export)\s+(?<type>type\s+)?(?<clause>[\w*{][^;"']*?)\s+from\s+["'](?<from>[^"']+)["']/gm;
const OTHER_IMPORT = /^[ \t]*import\s+["'](?<bare>[^"']+)["']|\bimport\(\s*["'](?<dynamic>[^"']+)["']/gm;

export function importsOf(file: string, code: string, bare: string): Import[] {
  const found: Import[] = [];
  for (const match of code.matchAll(STATIC_IMPORT)) {
    const { type, clause = "", from = "" } = match.groups ?? {};
    const inBraces = /\{([^}]*)\}/.exec(clause)?.[1];
    const names = (inBraces ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
    const onlyTypes = type !== undefined || (names.length > 0 && names.every((name) => name.startsWith("type ")));
    found.push({ target: resolve(file, from), kind: onlyTypes ? "types" : "values", names: names.map(firstName) });
  }
  for (const match of code.matchAll(OTHER_IMPORT)) {
    // Inside a string it is text, not an import: there the word is blanked.
    if (
      bare
        .slice(match.index, match.index + match[0].length)
        .trimStart()
        .startsWith("import") === false
    )
      continue;
    found.push({ target: resolve(file, match.groups?.bare ?? match.groups?.dynamic ?? ""), kind: "values", names: [] });
  }
  return found;
}

function firstName(specifier: string): string {
  return specifier.replace(/^type\s+/, "").replace(/\s+as\s.*$/s, "");
}

function resolve(file: string, target: string): string {
  return target.startsWith(".") ? path.posix.normalize(path.posix.join(path.posix.dirname(file), target)) : target;
}

/** A pattern begins at a `/` only: without the lookahead, the text before every character would be searched. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|(?=\/[^/*])(?<=(?:^|[(,=:[!&|?{};+\-*%<>~^]|\breturn|\bcase)\s*)\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g;

/** Stands between two strings: nothing that is searched for contains it. */
const CUT = "\u0001";

type Parts = {
  /** The code with comments blanked. */
  readonly code: string;
  /** And with the insides of strings and patterns blanked. */
  readonly bare: string;
  /** Comments alone, in their lines. */
  readonly comments: string;
  /** Strings, templates and patterns alone. */
  readonly strings: string;
};

/** Offsets in `code` and `bare` are those of the text. */
export function blank(text: string): Parts {
  const [code, bare, comments, strings]: [string[], string[], string[], string[]] = [[], [], [], []];
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const between = text.slice(end, index);
    const isComment = /^\/[/*]/.test(token);
    code.push(between, isComment ? spaces(token) : token);
    bare.push(between, withoutInside(token));
    comments.push(lineBreaks(between), isComment ? token : lineBreaks(token));
    strings.push(between.replace(/\S+/g, CUT), isComment ? " " : insideOf(token));
    end = index + token.length;
  }
  const rest = text.slice(end);
  return {
    code: code.join("") + rest,
    bare: bare.join("") + rest,
    comments: comments.join("") + lineBreaks(rest),
    strings: strings.join(""),
  };
}

const spaces = (token: string) => token.replace(/[^\n]+/g, ({ length }) => " ".repeat(length));
const lineBreaks = (token: string) => token.replace(/[^\n]+/g, " ");

function insideOf(token: string): string {
  if (token.startsWith("/")) return token;
  return CUT + token.slice(1, -1).replace(/\$\{[^}]*\}/g, CUT) + CUT;
}

function withoutInside(token: string): string {
  if (token.startsWith("/")) return spaces(token);
  // What a template computes is code; what it says is not.
  if (token.startsWith("`")) return token.replace(/\$\{[^}]*\}|[^\n]/g, (part) => (part.length > 1 ? part : " "));
  return `"${spaces(token.slice(1, -1))}"`;
}
