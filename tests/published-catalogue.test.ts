import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { catalogueHandlers } from "../src/app/surfaces/catalogue.ts";
import type { CatalogueSnapshot, FactSource } from "../src/domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../src/domain/catalogue/load.ts";
import { catalogueFiles } from "../src/io/catalogue-files.ts";
import { ask } from "./support/catalogue-handlers.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const NOW_MS = Date.parse("2026-11-18T12:00:00Z");

/** How curators write for each other: notes on their reading, internal codes, raw field values and instructions. */
const CURATOR_LANGUAGE: readonly RegExp[] = [
  /\bdoubts?:/i,
  /\b(not|was|were|be) (re-?)?read\b/i,
  /\bpages read\b/i,
  /\bin the sources?\b/i,
  /\bstored (page|part|copy|text|only)\b/i,
  /\bnot (identified|researched)\b/i,
  /\bindex id\b/i,
  /\bleft null\b/i,
  /\bas told\b/i,
  /\bset (both )?before (billing|use)\b/i,
  /\bspeaks\b/i,
  /\bD[1-4]\b/,
  /\bcommunity conversion\b/i,
  /\bladder\b/i,
  /\bwould lift\b/i,
  /\b[a-z]+(_[a-z]+)*=\w/,
  /\bR2=|\bn=\d/,
  /\.toml\b/,
  /\b(litellm|models\.dev) \S+\/\S+/,
  /\bx ?1\.\d/,
  /: check\b/i,
  /\bto verify\b/i,
  /\b(primary|secondary) (source|reading|evidence)s?\b/i,
  /;\s*secondary\b/i,
];

/** Members that hold identifiers, links and enumerations rather than text. */
const NOT_TEXT =
  /(^|_)(id|ids|slug|url|also|sources?|model|models|endpoint|upstream_model|levels?|kind|status|subject)$/;

function textsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") return NOT_TEXT.test(name) || /^https?:\/\/\S+$/.test(value) ? [] : [value];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([member, inner]) => textsIn(inner, member));
}

let snapshot: CatalogueSnapshot;
let published: unknown[];

beforeAll(async () => {
  const folders = [path.join(ROOT, "catalogue"), path.join(ROOT, "src/sandbox/catalogue")];
  const loaded = await loadCatalogue(folders, NOW_MS, catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  snapshot = loaded.snapshot;
  const handlers = catalogueHandlers({ snapshot: () => snapshot, nowMs: () => NOW_MS });
  const shown = [...snapshot.models.values()].filter(({ hidden }) => !hidden);
  published = await Promise.all([
    ...shown.map(async ({ id }) => (await ask(handlers, { id: "getPublicModel", params: { slug: id } })).body),
    ...[...snapshot.providers.keys()].map(
      async (slug) => (await ask(handlers, { id: "getPublicProvider", params: { slug } })).body,
    ),
    ask(handlers, { id: "listPublicModelCreators", query: "limit=1000" }).then(({ body }) => body),
    ask(handlers, { id: "listPublicSovereigntyLevels" }).then(({ body }) => body),
    ask(handlers, { id: "listPublicCapabilities", query: "limit=1000" }).then(({ body }) => body),
  ]);
});

describe("what the catalogue publishes", () => {
  test("PUB-03 has no curator language in any text", () => {
    const texts = new Set(textsIn(published));
    expect(texts.size).toBeGreaterThan(900);
    const found = [...texts].flatMap((text) =>
      CURATOR_LANGUAGE.filter((rule) => rule.test(text)).map((rule) => [text, rule]),
    );
    expect(found).toEqual([]);
  });

  test("PUB-03 finds curator language where it occurs", () => {
    const samples = [
      "Doubts: the statement was not read",
      "Speaks D1",
      "eu/jev (maker not identified)",
      "list price x 1.1",
      "trains=true is the default",
    ];
    for (const sample of samples)
      expect(
        CURATOR_LANGUAGE.some((rule) => rule.test(sample)),
        sample,
      ).toBe(true);
  });

  test("PUB-03 every statement is a short sentence with status, source and date", () => {
    const statements = [
      ...[...snapshot.providers.values()].flatMap(({ evidence, regions }) => [
        ...evidence,
        ...regions.flatMap((region) => region.evidence),
      ]),
      ...[...snapshot.endpoints.values()].flatMap(({ sovereignty }) => sovereignty.evidence),
      ...[...snapshot.models.values()].flatMap(({ evidence = [] }) => evidence),
    ];
    expect(statements.length).toBeGreaterThan(250);
    for (const statement of statements) {
      expect(statement.claim).toMatch(/^[A-Z0-9`].*[.)]$/);
      expectSource(statement);
    }
  });

  test("PUB-03 every price of a real provider has a status, a source and a date", () => {
    const rows = [...snapshot.endpoints.values()].filter(({ sandbox }) => !sandbox).flatMap(({ prices }) => prices);
    expect(rows.length).toBeGreaterThan(350);
    for (const { evidence } of rows) {
      if (evidence == null) throw new Error("a price without evidence");
      expectSource(evidence);
    }
  });

  test("PUB-03 a statement that holds for a region is written once, not on each endpoint", async () => {
    const own = new Map<string, number>();
    for (const { provider, region, sovereignty } of snapshot.endpoints.values()) {
      const shared = snapshot.providers.get(provider)?.regions.find(({ id }) => id === region)?.evidence ?? [];
      for (const one of sovereignty.evidence.filter((statement) => !shared.includes(statement))) {
        const key = `${provider}:${region} ${one.claim} ${one.url}`;
        own.set(key, (own.get(key) ?? 0) + 1);
      }
    }
    expect([...own].filter(([, count]) => count > 6)).toEqual([]);
  });
});

function expectSource({ status, url, seeAlso, read, kind, missing }: FactSource): void {
  expect(["verified", "claimed", "doubtful"]).toContain(status);
  for (const page of [url, ...seeAlso]) expect(page).toMatch(/^https?:\/\/[^\s/]+/);
  expect(read).toMatch(/^2026-\d{2}-\d{2}$/);
  if (status === "verified") expect(kind).toBe("primary");
  if (status === "doubtful") expect(missing).not.toBeNull();
}
