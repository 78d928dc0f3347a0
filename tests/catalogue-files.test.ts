import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import type { CatalogueSnapshot, Creator, Currency, Endpoint, Model } from "../src/domain/catalogue/catalogue.ts";
import { checkCatalogue, loadCatalogue } from "../src/domain/catalogue/load.ts";
import { formatProblem } from "../src/domain/catalogue/problems.ts";
import { FILE_SCHEMA_NAMES, printSchema } from "../src/domain/catalogue/schema.ts";
import { catalogueFiles } from "../src/io/catalogue-files.ts";
import { QUIRKS } from "../src/language/canon/quirks.ts";
import { REASONING_CONTROLS } from "../src/language/canon/reasoning-control.ts";
import { SEED_CATALOGUE, usesSamples } from "./support/recordings.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const SHIPPED = path.join(ROOT, "catalogue");
const SANDBOX = path.join(ROOT, "src/sandbox/catalogue");
const READ_ON_MS = Date.parse("2026-11-15T12:00:00Z");

async function load(...folders: string[]): Promise<CatalogueSnapshot> {
  const loaded = await loadCatalogue(folders, READ_ON_MS, catalogueFiles);
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return loaded.snapshot;
}

function dataFiles(): { name: string; schema: (typeof FILE_SCHEMA_NAMES)[number]; content: Record<string, unknown> }[] {
  const read = (name: string) => JSON.parse(readFileSync(path.join(SHIPPED, name), "utf8"));
  const room = (folder: string) => readdirSync(path.join(SHIPPED, folder)).map((name) => `${folder}/${name}`);
  return [
    ...room("providers").map((name) => ({ name, schema: "provider" as const, content: read(name) })),
    ...room("creators").map((name) => ({ name, schema: "creator" as const, content: read(name) })),
    { name: "currencies.json", schema: "currencies", content: read("currencies.json") },
    { name: "capabilities.json", schema: "capabilities", content: read("capabilities.json") },
  ];
}

describe("the shipped catalogue", () => {
  test("has no problem, alone and together with the simulated providers", async () => {
    expect((await checkCatalogue([SHIPPED], READ_ON_MS, catalogueFiles)).problems).toEqual([]);
    const both = await load(SHIPPED, SANDBOX);
    expect(both.models.get("sandbox/chat")).toMatchObject({ sandbox: true });
    expect(both.endpoints.size).toBeGreaterThan((await load(SHIPPED)).endpoints.size);
  });

  test("every file names its JSON Schema and satisfies it", () => {
    const ajv = new Ajv2020({ strict: false, formats: { date: /^\d{4}-\d{2}-\d{2}$/ } });
    const validators = Object.fromEntries(
      FILE_SCHEMA_NAMES.map((name) => [name, ajv.compile(JSON.parse(printSchema(name)))]),
    );
    for (const { name, schema, content } of dataFiles()) {
      const named = path.resolve(SHIPPED, path.dirname(name), String(content["$schema"]));
      expect(named, name).toBe(path.join(SHIPPED, `${schema}.schema.json`));
      const validate = validators[schema];
      expect(validate?.(content), `${name} ${JSON.stringify(validate?.errors)}`).toBe(true);
    }
  });

  test("no file has a null without meaning: absent is unknown", () => {
    for (const { name, content } of dataFiles()) {
      const nulls = JSON.stringify(content).match(/"[a-z_0-9]+":null/g) ?? [];
      expect(
        nulls.filter((found) => found !== '"base_url":null'),
        name,
      ).toEqual([]);
    }
  });

  test("a promotion with an end has a successor row", async () => {
    const rows = (await load(SHIPPED)).endpoints.get("google-ai-studio:global:google/gemini-4-argon")?.prices;
    expect(rows?.map(({ from }) => from)).toEqual([null, "2026-12-01"]);
    expect(rows?.map(({ inputPer1mTokens }) => inputPer1mTokens)).toEqual([
      { digits: 2n, scale: 0 },
      { digits: 4n, scale: 0 },
    ]);
  });
});

describe("the guide", () => {
  const guide = readFileSync(path.join(ROOT, "docs/guides/catalogue.md"), "utf8");

  test("explains every field of every file", () => {
    const fields = FILE_SCHEMA_NAMES.flatMap((name) => propertiesOf(JSON.parse(printSchema(name))));
    expect(fields.length).toBeGreaterThan(100);
    expect(fields.filter((field) => !guide.includes(`\`${field}\``))).toEqual([]);
  });

  test("explains every quirk and every way to set a model's effort", () => {
    expect([...QUIRKS, ...REASONING_CONTROLS].filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });

  test("has an example that works unchanged beside the shipped files", async () => {
    const [creator = "", provider = ""] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => match[1]);
    const added = new Map([
      [path.join(SHIPPED, "creators", "lab.json"), creator],
      [path.join(SHIPPED, "providers", "acme.json"), provider],
    ]);
    const files = {
      list: async (folder: string) => {
        const more = [...added.keys()]
          .filter((file) => path.dirname(file) === folder)
          .map((file) => path.basename(file));
        return [...((await catalogueFiles.list(folder)) ?? []), ...more];
      },
      read: async (file: string) => added.get(file) ?? catalogueFiles.read(file),
    };
    const loaded = await loadCatalogue([SHIPPED], READ_ON_MS, files);
    expect("problems" in loaded ? loaded.problems : []).toEqual([]);
    expect("snapshot" in loaded && loaded.snapshot.endpoints.get("acme:fr:lab/writer-2")?.prices).toHaveLength(2);
  });
});

function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own =
    "properties" in schema && typeof schema.properties === "object" ? Object.keys(schema.properties ?? {}) : [];
  return [...own, ...Object.values(schema).flatMap(propertiesOf)];
}

/** Free text may be reworded on import; everything with an effect must be the same. */
function effectiveFields({
  prices,
  baseUrl: _baseUrl,
  // The seven-file form has no field for request wording.
  thinking: _thinking,
  structuredOutput: _structuredOutput,
  quirks: _quirks,
  anthropicBetas: _anthropicBetas,
  features: { forcedTools: _forcedTools, ...features },
  ...others
}: Endpoint) {
  const { reason: _reason, evidence: _evidence, ...sovereignty } = others.sovereignty;
  const rest = { ...others, sovereignty, features: withoutCorrected(others.id, features) };
  const [first] = prices;
  if (first === undefined) return { ...rest, price: null };
  // The seven-file form has one price for cache writes, and none for separately billed usage.
  const { evidence: _source, cacheWrite1hPer1mTokens: _hourLong, extras: _extras, ...price } = first;
  return { ...rest, price };
}

/** Unknown to the import: which IONOS models call tools and which Mistral models reason, by the provider's guide, and that Nova 2 Lite takes no cache marks. */
function withoutCorrected(id: string, features: Partial<Endpoint["features"]>) {
  const { tools, reasoning, promptCaching, ...rest } = features;
  if (id.startsWith("ionos:")) return { ...rest, promptCaching, reasoning };
  if (id.endsWith(":amazon/nova-2-lite")) return { ...rest, tools, reasoning };
  return id.startsWith("mistral:") && id.endsWith("/mistral-small-2603") ? { ...rest, promptCaching, tools } : features;
}

/** Nor does it have one for effort levels. */
function withoutWords({
  evidence: _evidence,
  sources: _sources,
  benchmarks: _benchmarks,
  efforts: _efforts,
  quality,
  ...rest
}: Model) {
  return { ...rest, quality: quality === null ? null : { ...quality, metric: null } };
}

/** Models of these surfaces are newer than the seven files. */
const NEWER = /rerank|moderation|image_generation|gpt-image/;

/** Entries of the shipped catalogue that the seed has too: all of them, unless the seed is the sample. */
function covered<T>(shipped: ReadonlyMap<string, T>, seed: ReadonlyMap<string, T>): [string, T][] {
  return [...shipped].filter(([id]) => seed.has(id) || !(usesSamples || NEWER.test(id)));
}

describe("the seven-file form", () => {
  test("gives the same models, endpoints and prices as the product's own files", async () => {
    const [seed, shipped] = [await load(SEED_CATALOGUE), await load(SHIPPED)];
    expect(seed.endpoints.size).toBeGreaterThan(10);
    const models = covered(shipped.models, seed.models).map(([, model]) => withoutWords(model));
    expect(models).toEqual([...seed.models.values()].map(withoutWords));
    const endpoints = covered(shipped.endpoints, seed.endpoints).map(([, endpoint]) => effectiveFields(endpoint));
    expect(endpoints).toEqual([...seed.endpoints.values()].map(effectiveFields));
    const facts = ([slug, { name: _name, ...rest }]: [string, Creator]) => [slug, rest];
    expect(covered(shipped.creators, seed.creators).map(facts)).toEqual([...seed.creators].map(facts));
    expect(covered(shipped.families, seed.families)).toEqual([...seed.families]);
    const rates = ([code, { rateSource: _source, ...rest }]: [string, Currency]) => [code, rest];
    expect(covered(shipped.currencies, seed.currencies).map(rates)).toEqual([...seed.currencies].map(rates));
    expect(covered(shipped.capabilities, seed.capabilities)).toEqual([...seed.capabilities]);
  });

  test("differs in addresses only where the import corrects them", async () => {
    const [seed, shipped] = [await load(SEED_CATALOGUE), await load(SHIPPED)];
    const regionOf = ({ provider, region }: Endpoint) => `${provider}:${region}`;
    const moved = covered(shipped.endpoints, seed.endpoints)
      .map(([, endpoint]) => endpoint)
      .filter(({ id, baseUrl }) => seed.endpoints.get(id)?.baseUrl !== baseUrl);
    const corrected = [
      "aws-bedrock:eu-north-1",
      "aws-bedrock:eu-west-1",
      "cohere:global",
      "infercom:de-muc",
      "privatemode:eu",
    ];
    const seeded = new Set([...seed.endpoints.values()].map(regionOf));
    expect([...new Set(moved.map(regionOf))].toSorted()).toEqual(corrected.filter((region) => seeded.has(region)));
  });

  test("is validated the same way: a problem names its file and row", async () => {
    const broken = {
      ...catalogueFiles,
      read: async (file: string) => {
        const text = await catalogueFiles.read(file);
        return file.endsWith("endpoints.json") ? text.replace('"D1"', '"D7"') : text;
      },
    };
    const loaded = await loadCatalogue([SEED_CATALOGUE], READ_ON_MS, broken);
    const problems = "problems" in loaded ? loaded.problems.map(formatProblem) : [];
    expect(problems).toEqual([expect.stringMatching(/endpoints\.json: \[0\]\.dialects\[0\]: must be one of D1/)]);
  });
});
