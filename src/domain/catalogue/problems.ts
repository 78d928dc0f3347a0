import type { z } from "zod";

/** A file and the path of a field in it, such as `endpoints[3].prices[0].currency`. */
export type SourceLocation = { readonly file: string; readonly field: string };

/** A problem in a catalogue file; the message says what to write. */
export type CatalogueProblem = SourceLocation & { readonly message: string };

/** A value with its source location. */
export type WithLocation<T> = { readonly at: SourceLocation; readonly value: T };

export function problemAt(at: SourceLocation, message: string): CatalogueProblem {
  return { file: at.file, field: at.field, message };
}

/** One line for a terminal. */
export function formatProblem({ file, field, message }: CatalogueProblem): string {
  return field === "" ? `${file}: ${message}` : `${file}: ${field}: ${message}`;
}

export function childLocation(at: SourceLocation, ...path: readonly PropertyKey[]): SourceLocation {
  return { file: at.file, field: path.reduce<string>(appendKey, at.field) };
}

function appendKey(field: string, key: PropertyKey): string {
  if (typeof key === "number") return `${field}[${key}]`;
  const name = String(key);
  return field === "" ? name : `${field}.${name}`;
}

type CatalogueParseResult<T> = { readonly value: T } | { readonly problems: readonly CatalogueProblem[] };

/** Validates `raw`, or returns every problem with its location. */
export function parseAt<T>(schema: z.ZodType<T>, raw: unknown, at: SourceLocation): CatalogueParseResult<T> {
  const result = schema.safeParse(raw);
  if (result.success) return { value: result.data };
  return { problems: result.error.issues.flatMap((issue) => issueProblems(issue, at)) };
}

/** Free text of earlier formats, and the structured field that replaces it. */
const REPLACED_FIELDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...["note", "notes", "logprobs_note"].map((name) => [
    name,
    "free notes are not supported: add an evidence entry with subject, claim, status, url, kind and read",
  ]),
  ...["source", "source_date", "source_kind", "basis", "conflict"].map((name) => [
    name,
    "is replaced by evidence: write its status, url, kind and read, and what is missing",
  ]),
]);

function issueProblems(issue: z.core.$ZodIssue, at: SourceLocation): CatalogueProblem[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) =>
      problemAt(
        childLocation(at, ...issue.path, key),
        REPLACED_FIELDS[key] ?? "is not a known field: remove it or correct its name",
      ),
    );
  return [problemAt(childLocation(at, ...issue.path), issueMessage(issue))];
}

function issueMessage(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.message.includes("received undefined")
        ? `is missing; it must be ${withArticle(issue.expected)}`
        : `must be ${withArticle(issue.expected)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    default:
      return issue.message;
  }
}

function withArticle(expected: string): string {
  const name = expected === "int" ? "whole number" : expected;
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}
