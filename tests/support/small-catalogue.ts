import type { CatalogueFiles } from "../../src/domain/catalogue/read-folders.ts";
import type { CreatorFile, ProviderFile } from "../../src/domain/catalogue/schema.ts";

/** Midday of the day the sample's evidence was read. */
export const NOON_MS = Date.parse("2026-11-15T12:00:00Z");

export function sampleProvider(): ProviderFile {
  return {
    slug: "acme",
    name: "Acme Inference",
    operator: "Acme SAS",
    eea_operated: true,
    currency: "EUR",
    dialects: ["D1"],
    responses_api: true,
    zero_data_retention: "yes",
    trains_on_data: "no",
    regions: [
      {
        id: "fr",
        name: "Paris",
        base_url: "https://api.acme.example/v1",
        countries: ["FR"],
        countries_kind: "exact",
        level: "L3",
        level_reason: "shown",
      },
      {
        id: "us",
        name: "Ohio",
        base_url: "https://us.acme.example/v1",
        countries: ["US"],
        level: "L0",
        level_reason: "abroad",
      },
    ],
    evidence: [
      {
        subject: "location",
        claim: "Hosted in Paris.",
        status: "verified",
        url: "https://acme.example/trust",
        kind: "primary",
        read: "2026-11-15",
      },
    ],
    endpoints: [
      {
        model: "lab/writer",
        region: "fr",
        upstream_model: "writer-1",
        surfaces: ["chat"],
        prices: [{ currency: "EUR", input_per_1m_tokens: 0.1, output_per_1m_tokens: "0.30" }],
      },
      {
        model: "lab/vectors",
        region: "fr",
        upstream_model: "vectors-1",
        surfaces: ["embeddings"],
        prices: [{ currency: "USD", input_per_1m_tokens: 0.02 }],
      },
    ],
  };
}

export function sampleCreator(): CreatorFile {
  return {
    slug: "lab",
    name: "The Lab",
    country: "FR",
    families: [
      {
        slug: "writer",
        name: "Writer",
        models: [
          {
            id: "lab/writer",
            name: "Writer",
            release_date: "2026-05",
            surfaces: ["chat"],
            modalities_in: ["text"],
            modalities_out: ["text"],
            context_tokens: 32000,
            capabilities: ["tools"],
          },
        ],
      },
      {
        slug: "vectors",
        name: "Vectors",
        models: [
          {
            id: "lab/vectors",
            name: "Vectors",
            surfaces: ["embeddings"],
            modalities_in: ["text"],
            modalities_out: ["embedding"],
            capabilities: [],
          },
        ],
      },
    ],
  };
}

export function sampleFiles(): Record<string, unknown> {
  const rate = { symbol: "¤", decimals: 2, rate_date: "2026-11-14", rate_source: "made up for tests" };
  return {
    "providers/acme.json": sampleProvider(),
    "creators/lab.json": sampleCreator(),
    "currencies.json": {
      currencies: [
        { code: "EUR", name: "Euro", per_eur: 1, ...rate },
        { code: "USD", name: "Dollar", per_eur: "1.25", ...rate },
      ],
    },
    "capabilities.json": {
      capabilities: [{ slug: "tools", name: "Tools", group: "tools", description: "Calls functions." }],
    },
  };
}

/** The sample with one change to the provider's file. */
export function changedProvider(change: (file: Record<string, unknown> & ReturnType<typeof sampleProvider>) => void) {
  const file = { ...sampleProvider() };
  change(file);
  return { ...sampleFiles(), "providers/acme.json": file };
}

export function priceRow(row: Record<string, unknown>) {
  return changedProvider((file) => {
    const [first] = file.endpoints;
    if (first !== undefined) Object.assign(first, { prices: [row] });
  });
}

export function firstEndpoint(change: Record<string, unknown>) {
  return changedProvider((file) => {
    const [first] = file.endpoints;
    if (first !== undefined) Object.assign(first, change);
  });
}

export function firstRegion(change: Record<string, unknown>) {
  return changedProvider((file) => {
    const [first] = file.regions;
    if (first !== undefined) Object.assign(first, change);
  });
}

export function firstModel(change: Record<string, unknown>) {
  const file = sampleCreator();
  const model = file.families[0]?.models[0];
  if (model !== undefined) Object.assign(model, change);
  return { ...sampleFiles(), "creators/lab.json": file };
}

/** A folder that exists in memory only; text stays as it is, anything else is written as JSON. */
export function memoryFiles(folder: string, files: Readonly<Record<string, unknown>>): CatalogueFiles {
  const texts = new Map(
    Object.entries(files).map(([name, content]) => [
      `${folder}/${name}`,
      typeof content === "string" ? content : JSON.stringify(content),
    ]),
  );
  return {
    async list(wanted) {
      const inside = [...texts.keys()].filter((name) => name.startsWith(`${wanted}/`));
      if (inside.length === 0) return undefined;
      return [...new Set(inside.map((name) => name.slice(wanted.length + 1).split("/")[0] ?? ""))];
    },
    async read(file) {
      const text = texts.get(file);
      if (text === undefined) throw new Error(`there is no file ${file}`);
      return text;
    },
  };
}
