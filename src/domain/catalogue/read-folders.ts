import path from "node:path";
import type { z } from "zod";
import { type CatalogueProblem, childLocation, parseAt, problemAt, type SourceLocation } from "./problems.ts";
import { type CatalogueRecords, mergeRecords, NO_RECORDS } from "./records.ts";
import { CapabilitiesFile, CreatorFile, CurrenciesFile, ProviderFile } from "./schema.ts";
import { parseSeed } from "./seed.ts";
import { SEED_FILES, type SeedFileName } from "./seed-schema.ts";

/** File access, injected so that this module does no I/O itself. */
export type CatalogueFiles = {
  /** File names; undefined when the folder does not exist. */
  list(folder: string): Promise<readonly string[] | undefined>;
  read(file: string): Promise<string>;
};

export type CatalogueSources = { readonly parsed: CatalogueRecords; readonly texts: readonly string[] };

/** Reads and merges folders in the native layout or in the seven-file layout. */
export async function readFolders(folders: readonly string[], files: CatalogueFiles): Promise<CatalogueSources> {
  const read = await Promise.all(folders.map((folder) => readFolder(folder, files)));
  const parsed = mergeRecords(read.map((source) => source.parsed));
  const problems = [...parsed.problems, ...missingFiles(parsed, folders[0] ?? "")];
  return { parsed: { ...parsed, problems }, texts: read.flatMap(({ texts }) => texts) };
}

/** Reported once, not by every record that refers to a missing file. */
function missingFiles({ providers, models, currencies, capabilities, problems }: CatalogueRecords, folder: string) {
  const needed = [
    { name: "currencies.json", isMissing: providers.length > 0 && currencies.length === 0 },
    {
      name: "capabilities.json",
      isMissing: capabilities.length === 0 && models.some(({ value }) => value.capabilities.length > 0),
    },
  ];
  return needed
    .filter(({ name, isMissing }) => isMissing && !problems.some(({ file }) => path.basename(file) === name))
    .map(({ name }) => problemAt({ file: path.join(folder, name), field: "" }, "is missing: copy the bundled one"));
}

async function readFolder(folder: string, files: CatalogueFiles): Promise<CatalogueSources> {
  const names = await files.list(folder);
  if (names === undefined) return problemSource(folder, "is not a readable folder");
  if (names.includes("endpoints.json") && names.includes("providers.json")) return readSeed(folder, names, files);
  const parts = await Promise.all([
    ...names.filter(isDataFile).map((name) => readFile(path.join(folder, name), topLevelParser(name), files)),
    ...["providers", "creators"].map((room) => readSubfolder(folder, room, names, files)),
  ]);
  const all = parts.flat();
  if (all.length === 0)
    return problemSource(folder, "is not a catalogue: expected providers/*.json and creators/*.json");
  return { parsed: mergeRecords(all.map(({ parsed }) => parsed)), texts: all.flatMap(({ texts }) => texts) };
}

function isDataFile(name: string): boolean {
  return name.endsWith(".json") && !name.endsWith(".schema.json");
}

async function readSubfolder(folder: string, subfolder: string, names: readonly string[], files: CatalogueFiles) {
  if (!names.includes(subfolder)) return [];
  const fileNames = (await files.list(path.join(folder, subfolder))) ?? [];
  const reader = subfolder === "providers" ? parseProviderFile : parseCreatorFile;
  return Promise.all(
    fileNames
      .filter(isDataFile)
      .toSorted()
      .map((name) => readFile(path.join(folder, subfolder, name), reader, files)),
  );
}

type FileParser = (raw: unknown, at: SourceLocation) => CatalogueRecords;

function topLevelParser(name: string): FileParser {
  if (name === "currencies.json") return parseCurrenciesFile;
  if (name === "capabilities.json") return parseCapabilitiesFile;
  return (_raw, at) => singleProblem(at, "is not a catalogue file: move it to providers/ or creators/");
}

async function readFile(file: string, reader: FileParser, files: CatalogueFiles): Promise<CatalogueSources> {
  const at = { file, field: "" };
  const json = await readJson(file, files);
  if ("fault" in json) return problemSource(file, json.fault);
  return { parsed: reader(json.value, at), texts: [`${path.basename(file)}\n${json.text}`] };
}

type JsonFile = { readonly value: unknown; readonly text: string } | { readonly fault: string };

async function readJson(file: string, files: CatalogueFiles): Promise<JsonFile> {
  let text: string;
  try {
    text = await files.read(file);
  } catch {
    return { fault: "cannot be read" };
  }
  try {
    return { value: JSON.parse(text), text };
  } catch (error) {
    return { fault: `is not valid JSON: ${error instanceof Error ? error.message : "it cannot be parsed"}` };
  }
}

function fileParser<T>(
  schema: z.ZodType<T>,
  build: (value: T, at: SourceLocation) => Partial<CatalogueRecords>,
): FileParser {
  return (raw, at) => {
    const result = parseAt(schema, raw, at);
    if ("problems" in result) return { ...NO_RECORDS, problems: result.problems };
    return { ...NO_RECORDS, ...build(result.value, at) };
  };
}

const parseProviderFile = fileParser(ProviderFile, ({ $schema: _, endpoints, ...facts }, at) => ({
  providers: [{ at, value: facts }],
  endpoints: endpoints.map((value, index) => ({
    at: childLocation(at, "endpoints", index),
    value,
    provider: facts.slug,
  })),
  problems: fileNameProblems(facts.slug, at),
}));

const parseCreatorFile = fileParser(CreatorFile, ({ $schema: _, families, ...facts }, at) => ({
  creators: [{ at, value: facts }],
  families: families.map(({ slug, name }, index) => ({
    at: childLocation(at, "families", index),
    value: { slug, name, creator: facts.slug },
  })),
  models: families.flatMap(({ slug: family, models }, index) =>
    models.map((value, position) => ({
      at: childLocation(at, "families", index, "models", position),
      value,
      creator: facts.slug,
      family,
    })),
  ),
  problems: fileNameProblems(facts.slug, at),
}));

const parseCurrenciesFile = fileParser(CurrenciesFile, ({ currencies }, at) => ({
  currencies: currencies.map((value, index) => ({ at: childLocation(at, "currencies", index), value })),
}));

const parseCapabilitiesFile = fileParser(CapabilitiesFile, ({ capabilities }, at) => ({
  capabilities: capabilities.map((value, index) => ({ at: childLocation(at, "capabilities", index), value })),
}));

/** Each record has a file of its own name; otherwise a second file could silently claim the same slug. */
function fileNameProblems(slug: string, at: SourceLocation): CatalogueProblem[] {
  const expected = `${slug}.json`;
  if (path.basename(at.file) === expected) return [];
  return [problemAt(childLocation(at, "slug"), `is "${slug}", so the file must be named ${expected}`)];
}

async function readSeed(folder: string, names: readonly string[], files: CatalogueFiles): Promise<CatalogueSources> {
  const missing = SEED_FILES.filter((name) => !names.includes(`${name}.json`));
  if (missing.length > 0) return problemSource(folder, `lacks ${missing.map((name) => `${name}.json`).join(", ")}`);
  const texts: string[] = [];
  const problems: CatalogueProblem[] = [];
  const raw: Partial<Record<SeedFileName, unknown>> = {};
  await Promise.all(
    SEED_FILES.map(async (name) => {
      const file = path.join(folder, `${name}.json`);
      const json = await readJson(file, files);
      if ("fault" in json) {
        problems.push({ file, field: "", message: json.fault });
        return;
      }
      raw[name] = json.value;
      texts.push(`${name}\n${json.text}`);
    }),
  );
  const fileOf = (name: SeedFileName) => path.join(folder, `${name}.json`);
  const parsed = problems.length > 0 ? { ...NO_RECORDS, problems } : parseSeed(raw, fileOf);
  return { parsed, texts: texts.toSorted() };
}

function singleProblem(at: SourceLocation, message: string): CatalogueRecords {
  return { ...NO_RECORDS, problems: [problemAt(at, message)] };
}

function problemSource(file: string, message: string): CatalogueSources {
  return { parsed: singleProblem({ file, field: "" }, message), texts: [] };
}
