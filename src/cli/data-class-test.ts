import { DETECTORS } from "../domain/data-classes/detectors.ts";
import type { Finding } from "../domain/data-classes/finding.ts";
import { scanText } from "../domain/data-classes/scan.ts";
import { BUILT_IN_CLASSES } from "../domain/data-classes/scheme.ts";
import { LIST_TERMS_MAX, TERM_CHARS_MAX, TermList } from "../domain/data-classes/term-list.ts";
import { pluralize } from "../kit/pluralize.ts";
import { CliError, type Invocation } from "./command.ts";
import { wholeText } from "./values.ts";

/** Special categories are found by words alone, and test numbers belong to no person: both only on demand. */
const DEFAULT_CLASSES = ["personal", "secret"];

/** Needs no running gateway: the text stays on this machine. */
export async function runDataClassTest({ options, format, shell }: Invocation): Promise<number> {
  const text = textOf(options);
  const classes = new Set(classesOf(options["class"]));
  const findings = scanText(text, { classes, lists: listsOf(options["terms"]) });
  if (format === "json") shell.stdout.write(`${JSON.stringify(documentOf(text, findings), null, 2)}\n`);
  else shell.stdout.write(`${linesOf(text, findings).join("\n")}\n`);
  return 0;
}

export async function runDetectors({ format, shell }: Invocation): Promise<number> {
  const data = DETECTORS.map(({ id, class: dataClass, version, label, confidence, name }) => ({
    id,
    class: dataClass,
    version,
    label,
    confidence,
    name,
  }));
  if (format === "json") shell.stdout.write(`${JSON.stringify({ data }, null, 2)}\n`);
  else
    shell.stdout.write(
      `${data.map((one) => `${one.class.padEnd(9)} ${one.id.padEnd(28)} ${one.name} (${one.confidence})`).join("\n")}\n`,
    );
  return 0;
}

function textOf({ text, file }: Invocation["options"]): string {
  if (typeof text === "string" && file === undefined) return text;
  if (typeof file === "string" && text === undefined) return wholeText(file);
  throw new CliError("Give either --text or --file.");
}

function classesOf(given: unknown): readonly string[] {
  if (typeof given !== "string") return DEFAULT_CLASSES;
  const names = given.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !BUILT_IN_CLASSES.some((known) => known === name));
  if (unknown !== undefined) throw new CliError(`--class: "${unknown}" is none of ${BUILT_IN_CLASSES.join(", ")}.`);
  return names;
}

/** One term on each line. */
function listsOf(file: unknown): TermList[] {
  if (typeof file !== "string") return [];
  const terms = wholeText(file)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const long = terms.findIndex((term) => term.length > TERM_CHARS_MAX);
  if (long >= 0) throw new CliError(`${file}: term ${long + 1} is longer than ${TERM_CHARS_MAX} characters.`);
  if (terms.length > LIST_TERMS_MAX) throw new CliError(`${file}: more than ${LIST_TERMS_MAX} terms.`);
  return [new TermList("terms", terms)];
}

function documentOf(text: string, findings: readonly Finding[]) {
  return {
    findings: findings.map(({ kind, start, end }) => ({
      class: kind.class,
      detector: kind.id,
      version: kind.version,
      confidence: kind.confidence,
      offset: start,
      length: end - start,
    })),
    counts: countsOf(findings),
    redacted: redacted(text, findings),
  };
}

function linesOf(text: string, findings: readonly Finding[]): string[] {
  const rows = findings.map(
    ({ kind, start, end }) =>
      `${String(start).padStart(6)}  ${kind.class.padEnd(9)} ${kind.name}, ${pluralize(end - start, "character")}`,
  );
  const counts = Object.entries(countsOf(findings)).map(([name, count]) => `${name}=${count}`);
  return findings.length === 0
    ? ["Nothing found."]
    : [...rows, "", counts.join(", "), "", redacted(text, findings).replace(/[^\P{Cc}\n\t]/gu, "?")];
}

function countsOf(findings: readonly Finding[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of findings) counts[kind.class] = (counts[kind.class] ?? 0) + 1;
  return counts;
}

/** Findings of several classes may overlap: the first label stands for all of them. */
function redacted(text: string, findings: readonly Finding[]): string {
  let out = "";
  let at = 0;
  for (const { kind, start, end } of findings) {
    if (start >= at) out += `${text.slice(at, start)}[${kind.label}]`;
    at = Math.max(at, end);
  }
  return out + text.slice(at);
}
