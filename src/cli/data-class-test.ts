import { LIST_TERMS_MAX, termProblem } from "../domain/data-classes/custom-class.ts";
import { DETECTORS } from "../domain/data-classes/detectors.ts";
import type { Finding } from "../domain/data-classes/finding.ts";
import { scanText } from "../domain/data-classes/scan.ts";
import { BUILT_IN_CLASSES } from "../domain/data-classes/scheme.ts";
import { TermList } from "../domain/data-classes/term-list.ts";
import { pluralize } from "../kit/pluralize.ts";
import { makeClient } from "./client.ts";
import { CliError, type Invocation, type View } from "./command.ts";
import { asText } from "./print.ts";
import { columns } from "./rows.ts";
import { jsonFile, linesFile, wholeText } from "./values.ts";

/** Special categories are found by words alone, and test numbers belong to no person: both only on demand. */
const DEFAULT_CLASSES = ["personal", "secret"];

/** Without a workspace it needs no running gateway: the text stays on this machine. */
export async function runDataClassTest(invocation: Invocation): Promise<number> {
  const { args, options, format, shell } = invocation;
  if (typeof args[0] === "string") return runTrial(args[0], invocation);
  if (options["rules"] !== undefined) throw new CliError("--rules needs a workspace.");
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

function listsOf(file: unknown): TermList[] {
  if (typeof file !== "string") return [];
  const terms = linesFile(file);
  const bad = terms.findIndex((term) => termProblem(term) !== undefined);
  if (bad >= 0) throw new CliError(`${file}: term ${bad + 1} ${termProblem(terms[bad] ?? "")}.`);
  if (terms.length > LIST_TERMS_MAX) throw new CliError(`${file}: more than ${LIST_TERMS_MAX} terms.`);
  return [TermList.of("terms", terms)];
}

/** The workspace's rules and classes, as its gateway applies them. */
async function runTrial(workspace: string, { options, format, shell }: Invocation): Promise<number> {
  if (options["class"] !== undefined || options["terms"] !== undefined)
    throw new CliError("--class and --terms are for texts that stay on this machine: omit them, or the workspace.");
  const { rules } = options;
  const path = `/manage/workspaces/${encodeURIComponent(workspace)}/data-classes/test`;
  const body = { text: textOf(options), ...(typeof rules === "string" ? { data_classes: jsonFile(rules) } : {}) };
  const answer = await makeClient(shell.env).send("POST", path, body);
  shell.stdout.write(`${format === "json" ? JSON.stringify(answer, null, 2) : asText(answer, TRIAL)}\n`);
  return 0;
}

const TRIAL: View = {
  is: "record_with_tables",
  tables: [
    { at: "findings", columns: columns("class", "detector", "confidence", "offset", "length") },
    { at: "levels", columns: [...columns("level", "allowed", "action", "reason"), { title: "receives", at: "text" }] },
  ],
};

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
