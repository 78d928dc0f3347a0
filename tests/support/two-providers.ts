import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { EndpointEntry } from "../../src/domain/catalogue/schema.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { type Called, type Json, startGateway, type TestGateway } from "./gateway.ts";
import { allProven } from "./proofs.ts";
import { connectedTo, QUIET } from "./scene.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** `open` is in the EEA with every promise; `shut` is abroad with none, so that each rule of policy excludes it. */
export const PROVIDERS = ["open", "shut"] as const;
export type TwoProviders = (typeof PROVIDERS)[number];

/** A model of which `open` lacks something that `shut` has. */
export type SharedModel = {
  readonly name: string;
  readonly model?: Record<string, unknown>;
  readonly surface: string;
  /** Of both endpoints. */
  readonly endpoint?: Partial<EndpointEntry>;
  readonly open?: Partial<EndpointEntry>;
  readonly shut?: Partial<EndpointEntry>;
};

export type TwoProviderScene = {
  readonly gateway: TestGateway;
  readonly folder: string;
  at(provider: TwoProviders): Upstream;
  call(key: string, route: string, body: unknown): Promise<Called>;
  close(): Promise<void>;
};

/** Each model is served as `lab/<name>` by both providers, as `lab/<name>-open` and `lab/<name>-shut` by one. */
export async function openTwoProviders(models: readonly SharedModel[]): Promise<TwoProviderScene> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-two-providers-"));
  writeCatalogue(folder, models);
  const upstreams = new Map<string, Upstream>();
  for (const provider of PROVIDERS) upstreams.set(provider, await startUpstream());
  const gateway = await startGateway({
    env: { ...connectedTo(upstreams), ...QUIET, GATEWAY_CATALOGUE_DIR: folder },
    prepare: allProven,
  });
  return {
    gateway,
    folder,
    at(provider) {
      const upstream = upstreams.get(provider);
      if (upstream === undefined) throw new Error(`${provider} is not here`);
      return upstream;
    },
    call: (key, route, body) => gateway.call(key, route, body === undefined ? {} : { body }),
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const PROMISES = {
  open: { eea_operated: true, zero_data_retention: "yes", trains_on_data: "no" },
  shut: { eea_operated: false, zero_data_retention: "no", trains_on_data: "yes" },
} as const;
const REGIONS = {
  open: { countries: ["FR"], level: "L3" },
  shut: { countries: ["US"], level: "L0" },
} as const;

function writeCatalogue(folder: string, models: readonly SharedModel[]): void {
  for (const name of ["currencies.json", "capabilities.json"])
    cpSync(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  for (const name of ["creators", "providers"]) mkdirSync(path.join(folder, name));
  for (const provider of PROVIDERS)
    writeFileSync(
      path.join(folder, "providers", `${provider}.json`),
      JSON.stringify({
        slug: provider,
        name: provider,
        operator: provider,
        currency: "EUR",
        ...PROMISES[provider],
        regions: [
          {
            id: "one",
            name: "One",
            base_url: "https://example.invalid/v1",
            countries_kind: "exact",
            level_reason: "made up for a test",
            ...REGIONS[provider],
          },
        ],
        evidence: [
          {
            subject: "location",
            status: "verified",
            claim: "made up",
            url: "https://example.invalid",
            kind: "primary",
            read: "2026-11-15",
          },
        ],
        endpoints: models.flatMap((shared) =>
          ["", `-${provider}`].map((suffix) => endpointOf(shared, `${shared.name}${suffix}`, provider)),
        ),
      }),
    );
  const families = [
    {
      slug: "lab-all",
      name: "All",
      models: models.flatMap((shared) => ["", "-open", "-shut"].map((suffix) => modelOf(shared, suffix))),
    },
  ];
  writeFileSync(path.join(folder, "creators", "lab.json"), JSON.stringify({ slug: "lab", name: "Lab", families }));
}

function modelOf({ name, model, surface }: SharedModel, suffix: string): Json {
  return {
    id: `lab/${name}${suffix}`,
    name: `${name}${suffix}`,
    surfaces: [surface],
    modalities_in: ["text"],
    modalities_out: ["text"],
    context_tokens: 100_000,
    capabilities: [],
    ...model,
  };
}

function endpointOf(shared: SharedModel, name: string, provider: TwoProviders): Json {
  return {
    model: `lab/${name}`,
    region: "one",
    upstream_model: `up/${name}`,
    surfaces: [shared.surface],
    dialects: ["D1"],
    prices: [{ currency: "EUR", input_per_1m_tokens: 1, output_per_1m_tokens: 1 }],
    ...shared.endpoint,
    ...shared[provider],
  };
}
