import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CreatorFile, type PriceEntry, ProviderFile } from "../src/domain/catalogue/schema.ts";
import { FAULT_MODELS, SPEECH_FAULT_MODELS } from "../src/sandbox/fault-injection.ts";
import { EFFORTS_BY_MODEL, PROVIDER_PROFILES, SANDBOX_SLUGS, VISION_MODELS } from "../src/sandbox/provider-profiles.ts";

const folder = new URL("../src/sandbox/catalogue/", import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const creator = CreatorFile.parse(read("creators/sandbox.json"));
const models = new Map(creator.families.flatMap((family) => family.models.map((model) => [model.id, model])));

/** A price as the guide writes it. */
function shown(price: PriceEntry): string {
  if (price.per_minute_audio !== undefined) return `${price.per_minute_audio} ${price.currency} a minute`;
  if (price.per_1m_characters !== undefined) return `${price.per_1m_characters} ${price.currency} a million characters`;
  if (price.per_1k_search_units !== undefined)
    return `${price.per_1k_search_units} ${price.currency} a thousand search units`;
  if (price.per_image !== undefined) return `${price.per_image} ${price.currency} an image`;
  const images = price.image_prices?.map(({ per_image: amount }) => Number(amount));
  if (images !== undefined) return `${Math.min(...images)} to ${Math.max(...images)} ${price.currency} an image`;
  const output = price.image_output_per_1m_tokens ?? price.output_per_1m_tokens ?? price.audio_output_per_1m_tokens;
  const input = price.input_per_1m_tokens;
  return `${output === undefined ? input : `${input} / ${output}`} ${price.currency}`;
}

describe("the sandbox's catalogue files", () => {
  test("there is one file for every simulated provider and no other", () => {
    const files = readdirSync(new URL("providers/", folder)).sort();
    expect(files).toEqual(SANDBOX_SLUGS.map((slug) => `${slug}.json`).sort());
  });

  test.each(SANDBOX_SLUGS)("%s lists exactly the models of its server, and is marked as simulated", (slug) => {
    const provider = ProviderFile.parse(read(`providers/${slug}.json`));
    expect(provider.slug).toBe(slug);
    expect(provider.sandbox).toBe(true);
    expect(provider.name).toContain("simulated");
    expect(provider.data_residency).toContain("Simulated");
    expect(provider.regions.every((region) => region.level_reason?.startsWith("Simulated"))).toBe(true);
    const served = [...PROVIDER_PROFILES[slug].models, ...FAULT_MODELS, ...SPEECH_FAULT_MODELS].sort();
    expect(provider.endpoints.map((endpoint) => endpoint.upstream_model).sort()).toEqual(served);
    for (const endpoint of provider.endpoints) {
      expect(endpoint.upstream_model).toBe(endpoint.model);
      expect(endpoint.features?.image_input).toBe(VISION_MODELS.has(endpoint.model));
      expect(models.get(endpoint.model)?.sandbox).toBe(true);
    }
  });

  test("the effort values are those that its servers accept", () => {
    const listed = [...models.values()].flatMap(({ id, efforts }) => (efforts === undefined ? [] : [[id, efforts]]));
    expect(Object.fromEntries(listed)).toEqual(EFFORTS_BY_MODEL);
  });

  test("models that fail on purpose are hidden, and only those", () => {
    const hidden = [...models.values()].filter((model) => model.hidden === true).map((model) => model.id);
    expect(hidden.sort()).toEqual([...FAULT_MODELS, ...SPEECH_FAULT_MODELS].sort());
  });

  test("the guide's tables match the files and the pace table", () => {
    const guide = readFileSync(new URL("../docs/guides/sandbox.md", import.meta.url), "utf8");
    const providers = SANDBOX_SLUGS.map((slug) => ProviderFile.parse(read(`providers/${slug}.json`)));
    for (const { slug, regions, ...facts } of providers) {
      const pace = PROVIDER_PROFILES[SANDBOX_SLUGS.find((one) => one === slug) ?? "sandbox-us"].pace;
      const { zero_data_retention: retention, trains_on_data: trains } = facts;
      expect(guide).toContain(
        `| \`${slug}\` | ${regions[0]?.level} | ${regions[0]?.countries[0]} | ${retention} | ${trains} | ${pace.firstTokenMs} ms | ${pace.betweenTokensMs} ms |`,
      );
    }
    for (const model of models.values()) {
      const cells = providers.map(({ endpoints }) => {
        const price = endpoints.find((endpoint) => endpoint.model === model.id)?.prices?.[0];
        return price === undefined ? "–" : shown(price);
      });
      const row = `| \`${model.id}\` | ${cells.join(" | ")} | ${seen(model.id, providers)} |`;
      expect(guide).toContain(model.hidden === true ? `| \`${model.id}\` |` : row);
    }
  });
});

/** Whether images can be sent to a model; a decision model may take them at some providers only. */
function seen(model: string, providers: readonly ProviderFile[]): string {
  const serving = providers.flatMap(({ slug, endpoints }) =>
    endpoints
      .filter((endpoint) => endpoint.model === model)
      .map(({ decisions }) => ({ slug, sees: decisions?.images !== undefined })),
  );
  if (!serving.some(({ sees }) => sees)) return VISION_MODELS.has(model) ? "yes" : "no";
  const withoutVision = serving.filter(({ sees }) => !sees).map(({ slug }) => `\`${slug}\``);
  return withoutVision.length === 0 ? "yes" : `yes, but ${withoutVision.join(", ")}`;
}
