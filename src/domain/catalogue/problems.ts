import type { z } from "zod";

/** Where something stands: a file and the path to a field in it, `endpoints[3].prices[0].currency`. */
export type Place = { readonly file: string; readonly field: string };

/** One thing that is wrong with a catalogue, in words that say what to write. */
export type CatalogueProblem = Place & { readonly message: string };

/** A value together with where it was read. */
export type Located<T> = { readonly at: Place; readonly value: T };

export function problemAt(at: Place, message: string): CatalogueProblem {
  return { file: at.file, field: at.field, message };
}

/** One line for a terminal. */
export function sayProblem({ file, field, message }: CatalogueProblem): string {
  return field === "" ? `${file}: ${message}` : `${file}: ${field}: ${message}`;
}

export function inside(at: Place, ...path: readonly PropertyKey[]): Place {
  return { file: at.file, field: path.reduce<string>(joined, at.field) };
}

function joined(field: string, key: PropertyKey): string {
  if (typeof key === "number") return `${field}[${key}]`;
  const name = String(key);
  return field === "" ? name : `${field}.${name}`;
}

type Parsed<T> = { readonly value: T } | { readonly problems: readonly CatalogueProblem[] };

/** `unknown` to a type, or every fault of it by name. */
export function parseAt<T>(schema: z.ZodType<T>, raw: unknown, at: Place): Parsed<T> {
  const result = schema.safeParse(raw);
  if (result.success) return { value: result.data };
  return { problems: result.error.issues.flatMap((issue) => problemsOf(issue, at)) };
}

function problemsOf(issue: z.core.$ZodIssue, at: Place): CatalogueProblem[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) =>
      problemAt(inside(at, ...issue.path, key), "is not a field of the format; remove it or correct its name"),
    );
  return [problemAt(inside(at, ...issue.path), wordsOf(issue))];
}

function wordsOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.message.includes("received undefined")
        ? `is missing; it must be ${article(issue.expected)}`
        : `must be ${article(issue.expected)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    default:
      return issue.message;
  }
}

function article(expected: string): string {
  const name = expected === "int" ? "whole number" : expected;
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}
