import type { Writable } from "node:stream";
import type { JsonObject } from "../kit/json.ts";

/** One command as data: the command line is a table on top of the management API. */
export type Flag = {
  /** As commander writes it: `--rpm <n>`. */
  readonly flags: string;
  /** The field of the body or query it fills; `policy.floor` is a field inside another, WHOLE_BODY all of them. */
  readonly field: string;
  readonly says: string;
  readonly read?: (text: string) => unknown;
  /** The command makes no sense without it. */
  readonly needed?: "always";
};

export const WHOLE_BODY = "*";

export type Positional = {
  readonly name: string;
  readonly says?: string;
  readonly read?: (text: string) => unknown;
  /** It may be left out. */
  readonly needed?: "never";
};

/** A long value is cut, unless it must be read whole. */
export type Column = { readonly title: string; readonly at: string; readonly cut?: "never" };

/** What a person sees; with `--json` the document itself is printed. */
export type View =
  | { readonly is: "record" }
  /** `also`: members beside the list that are shown after it. `none`: what to know when the list is empty. */
  | {
      readonly is: "table";
      readonly columns: readonly Column[];
      readonly also?: readonly string[];
      readonly none?: string;
    }
  /** A record, followed by tables of its lists. */
  | { readonly is: "record_with_tables"; readonly tables: readonly { at: string; columns: readonly Column[] }[] };

export type ApiCall = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * `{name}` is filled from the argument of that name; the other arguments go where the flags go. What stands in brackets
   * around a flag's name is left out without the flag.
   */
  readonly path: string;
  readonly sends: "body" | "query" | "nothing";
};

export type ApiCommand = {
  /** `key create`. */
  readonly words: string;
  readonly says: string;
  readonly args: readonly Positional[];
  readonly flags: readonly Flag[];
  readonly call: ApiCall;
  /** What to do when no flag is given: send all the same, refuse, or only read. */
  readonly bare: "send" | "refuse" | "read";
  /** One page, or all pages concatenated. */
  readonly pages: "one" | "all";
  readonly view: View;
  /** Said to a person after success; with `when` only if the answer has something in that field. */
  readonly note?: { readonly says: string | ((answer: JsonObject) => string); readonly when?: string };
  /** Exit 1 when the answer's `ok` is false. */
  readonly verdict?: "ok";
};

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command is typed: the process itself is one. */
export type Shell = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
};

export type Invocation = {
  readonly args: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly format: "json" | "text";
  readonly shell: Shell;
};

/** Something the person who typed the command has to put right: printed without a stack, exit 1. */
export class CliError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CliError";
  }
}

/** What was typed is not enough, or not what is wanted: nothing was tried. */
export class UsageError extends CliError {}

/** The name commander keeps a flag's value under: `--allow-models <m>` is allowModels. */
export function optionName(flags: string): string {
  const long = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  return long.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
