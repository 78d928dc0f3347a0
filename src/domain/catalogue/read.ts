import path from "node:path";
import type { z } from "zod";
import { merged, NOTHING_PARSED, type Parsed } from "./parsed.ts";
import { type CatalogueProblem, inside, type Place, parseAt, problemAt } from "./problems.ts";
import { CapabilitiesFile, CreatorFile, CurrenciesFile, ProviderFile } from "./schema.ts";
import { parseSeed } from "./seed.ts";
import { SEED_FILES, type SeedFileName } from "./seed-schema.ts";

/** How files are reached; handed in, so that nothing here touches a disk. */
export type CatalogueFiles = {
  /** Names in a folder; undefined when there is no such folder. */
  list(folder: string): Promise<readonly string[] | undefined>;
  read(file: string): Promise<string>;
};

export type ReadCatalogue = { readonly parsed: Parsed; readonly texts: readonly string[] };

/** Reads folders in the product's form or in the seven-file form, and puts them together. */
export async function readFolders(folders: readonly string[], files: CatalogueFiles): Promise<ReadCatalogue> {
  const read = await Promise.all(folders.map((folder) => readFolder(folder, files)));
  const parsed = merged(read.map((one) => one.parsed));
  const problems = [...parsed.problems, ...missingFiles(parsed, folders[0] ?? "")];
  return { parsed: { ...parsed, problems }, texts: read.flatMap(({ texts }) => texts) };
}

/** What every catalogue needs and no folder has: said once, not by every record that names something in it. */
function missingFiles({ providers, models, currencies, capabilities, problems }: Parsed, folder: string) {
  const needed = [
    { name: "currencies.json", isMissing: providers.length > 0 && currencies.length === 0 },
    {
      name: "capabilities.json",
      isMissing: capabilities.length === 0 && models.some(({ value }) => value.capabilities.length > 0),
    },
  ];
  return needed
    .filter(({ name, isMissing }) => isMissing && !problems.some(({ file }) => path.basename(file) === name))
    .map(({ name }) => problemAt({ file: path.join(folder, name), field: "" }, "is missing: copy the shipped one"));
}

async function readFolder(folder: string, files: CatalogueFiles): Promise<ReadCatalogue> {
  const names = await files.list(folder);
  if (names === undefined) return onlyProblem(folder, "is not a folder that can be read");
  if (names.includes("endpoints.json") && names.includes("providers.json")) return readSeed(folder, names, files);
  const parts = await Promise.all([
    ...names.filter(isDataFile).map((name) => readFile(path.join(folder, name), topFileReader(name), files)),
    ...["providers", "creators"].map((room) => readRoom(folder, room, names, files)),
  ]);
  const all = parts.flat();
  if (all.length === 0) return onlyProblem(folder, "holds no catalogue: expected providers/*.json and creators/*.json");
  return { parsed: merged(all.map(({ parsed }) => parsed)), texts: all.flatMap(({ texts }) => texts) };
}

function isDataFile(name: string): boolean {
  return name.endsWith(".json") && !name.endsWith(".schema.json");
}

async function readRoom(folder: string, room: string, names: readonly string[], files: CatalogueFiles) {
  if (!names.includes(room)) return [];
  const inRoom = (await files.list(path.join(folder, room))) ?? [];
  const reader = room === "providers" ? providerReader : creatorReader;
  return Promise.all(
    inRoom
      .filter(isDataFile)
      .toSorted()
      .map((name) => readFile(path.join(folder, room, name), reader, files)),
  );
}

type Reader = (raw: unknown, at: Place) => Parsed;

function topFileReader(name: string): Reader {
  if (name === "currencies.json") return currenciesReader;
  if (name === "capabilities.json") return capabilitiesReader;
  return (_raw, at) => problem(at, "is no catalogue file: put it into providers/ or creators/");
}

async function readFile(file: string, reader: Reader, files: CatalogueFiles): Promise<ReadCatalogue> {
  const at = { file, field: "" };
  const json = await readJson(file, files);
  if ("fault" in json) return onlyProblem(file, json.fault);
  return { parsed: reader(json.value, at), texts: [`${path.basename(file)}\n${json.text}`] };
}

type Json = { readonly value: unknown; readonly text: string } | { readonly fault: string };

async function readJson(file: string, files: CatalogueFiles): Promise<Json> {
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

function reading<T>(schema: z.ZodType<T>, build: (value: T, at: Place) => Partial<Parsed>): Reader {
  return (raw, at) => {
    const result = parseAt(schema, raw, at);
    if ("problems" in result) return { ...NOTHING_PARSED, problems: result.problems };
    return { ...NOTHING_PARSED, ...build(result.value, at) };
  };
}

const providerReader = reading(ProviderFile, ({ $schema: _, endpoints, ...facts }, at) => ({
  providers: [{ at, value: facts }],
  endpoints: endpoints.map((value, index) => ({ at: inside(at, "endpoints", index), value, provider: facts.slug })),
  problems: misnamed(facts.slug, at),
}));

const creatorReader = reading(CreatorFile, ({ $schema: _, families, ...facts }, at) => ({
  creators: [{ at, value: facts }],
  families: families.map(({ slug, name }, index) => ({
    at: inside(at, "families", index),
    value: { slug, name, creator: facts.slug },
  })),
  models: families.flatMap(({ slug: family, models }, index) =>
    models.map((value, position) => ({
      at: inside(at, "families", index, "models", position),
      value,
      creator: facts.slug,
      family,
    })),
  ),
  problems: misnamed(facts.slug, at),
}));

const currenciesReader = reading(CurrenciesFile, ({ currencies }, at) => ({
  currencies: currencies.map((value, index) => ({ at: inside(at, "currencies", index), value })),
}));

const capabilitiesReader = reading(CapabilitiesFile, ({ capabilities }, at) => ({
  capabilities: capabilities.map((value, index) => ({ at: inside(at, "capabilities", index), value })),
}));

/** One record, one file of its name: otherwise a second file could silently claim the same slug. */
function misnamed(slug: string, at: Place): CatalogueProblem[] {
  const expected = `${slug}.json`;
  if (path.basename(at.file) === expected) return [];
  return [problemAt(inside(at, "slug"), `is "${slug}", so the file must be named ${expected}`)];
}

async function readSeed(folder: string, names: readonly string[], files: CatalogueFiles): Promise<ReadCatalogue> {
  const missing = SEED_FILES.filter((name) => !names.includes(`${name}.json`));
  if (missing.length > 0) return onlyProblem(folder, `lacks ${missing.map((name) => `${name}.json`).join(", ")}`);
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
  const parsed = problems.length > 0 ? { ...NOTHING_PARSED, problems } : parseSeed(raw, fileOf);
  return { parsed, texts: texts.toSorted() };
}

function problem(at: Place, message: string): Parsed {
  return { ...NOTHING_PARSED, problems: [problemAt(at, message)] };
}

function onlyProblem(file: string, message: string): ReadCatalogue {
  return { parsed: problem({ file, field: "" }, message), texts: [] };
}
