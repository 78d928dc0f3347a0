import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { endpointId, type Parsed } from "../src/domain/catalogue/parsed.ts";
import { sayProblem } from "../src/domain/catalogue/problems.ts";
import { readFolders } from "../src/domain/catalogue/read.ts";
import { catalogueFiles } from "../src/io/catalogue-files.ts";
import { corrected } from "./catalogue-corrections.ts";

/**
 * Turns a catalogue of seven flat lists into the product's own files: one per provider with its endpoints and
 * evidence, one per creator with its families and models.
 *
 *   node scripts/catalogue-import.ts SEED_FOLDER [TARGET_FOLDER]
 */
const LINE_MAX = 118;

/** JSON in which what fits on one line stands on one line. */
function print(value: unknown, indent = ""): string {
  const flat = flatten(value);
  if (flat.length + indent.length <= LINE_MAX || typeof value !== "object" || value === null) return flat;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    const scalars = value.every((inner) => typeof inner !== "object");
    const items = value.map((inner) => print(inner, deeper));
    return `[\n${scalars ? wrapped(items, deeper) : items.map((item) => deeper + item).join(",\n")}\n${indent}]`;
  }
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => `${deeper}${JSON.stringify(key)}: ${print(inner, deeper)}`);
  return `{\n${members.join(",\n")}\n${indent}}`;
}

function flatten(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatten).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  if (members.length === 0) return "{}";
  return `{ ${members.map(([key, inner]) => `${JSON.stringify(key)}: ${flatten(inner)}`).join(", ")} }`;
}

function wrapped(items: readonly string[], indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const [index, item] of items.entries()) {
    const piece = index === items.length - 1 ? item : `${item},`;
    if (line !== indent && line.length + piece.length + 1 > LINE_MAX) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? piece : ` ${piece}`;
  }
  return [...lines, line].join("\n");
}

function byKey<T>(list: readonly T[], key: (item: T) => string): T[] {
  return list.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function filesOf(parsed: Parsed): Map<string, unknown> {
  const files = new Map<string, unknown>();
  for (const { value } of parsed.providers) {
    const { regions, evidence, notes, ...facts } = value;
    const endpoints = parsed.endpoints.filter(({ provider }) => provider === value.slug);
    files.set(`providers/${value.slug}.json`, {
      $schema: "../provider.schema.json",
      ...facts,
      notes,
      regions,
      evidence,
      endpoints: byKey(endpoints, (row) => endpointId(row.provider, row.value)).map((row) => row.value),
    });
  }
  for (const { value } of parsed.creators) {
    const families = byKey(
      parsed.families.filter((family) => family.value.creator === value.slug),
      (row) => row.value.slug,
    );
    files.set(`creators/${value.slug}.json`, {
      $schema: "../creator.schema.json",
      ...value,
      families: families.map(({ value: { slug, name } }) => ({
        slug,
        name,
        models: byKey(
          parsed.models.filter((model) => model.family === slug),
          (row) => row.value.id,
        ).map((row) => row.value),
      })),
    });
  }
  files.set("currencies.json", {
    $schema: "./currencies.schema.json",
    currencies: byKey(parsed.currencies, (row) => row.value.code).map((row) => row.value),
  });
  files.set("capabilities.json", {
    $schema: "./capabilities.schema.json",
    capabilities: byKey(parsed.capabilities, (row) => row.value.slug).map((row) => row.value),
  });
  return files;
}

const [seed, target = path.resolve(import.meta.dirname, "../catalogue")] = process.argv.slice(2);
if (seed === undefined) {
  console.error("usage: node scripts/catalogue-import.ts SEED_FOLDER [TARGET_FOLDER]");
  process.exit(2);
}
const { parsed } = await readFolders([seed], catalogueFiles);
if (parsed.problems.length > 0) {
  for (const problem of parsed.problems) console.error(sayProblem(problem));
  process.exit(1);
}
const files = filesOf(corrected(parsed));
for (const folder of ["providers", "creators"]) await mkdir(path.join(target, folder), { recursive: true });
for (const [name, content] of files) await writeFile(path.join(target, name), `${print(content)}\n`);
console.log(`${files.size} files written to ${target}`);
