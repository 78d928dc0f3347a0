import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { type Called, type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { allProven } from "./proofs.ts";
import { connectedTo, QUIET } from "./scene.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** One scripted provider: how it serves its model, and its price. */
export type SurfaceHost = {
  /** Members of its endpoint, such as `rerank`. */
  readonly endpoint: Json;
  readonly price: Json;
  /** The model that it serves; by default one that all serve. */
  readonly model?: string;
  readonly upstreamModel?: string;
  readonly country?: string;
};

export type SurfaceScene = {
  readonly gateway: TestGateway;
  readonly tenant: Tenant;
  at(slug: string): Upstream;
  rowOf(called: Called): Promise<Json>;
  close(): Promise<void>;
};

/** Facts of the models in a scene. */
export type SceneModels = { readonly surfaces: readonly string[]; readonly id: string; readonly capability: string };

/** A gateway with its own catalogue: one model by default, and scripted providers that serve it. */
export async function openSurface(
  models: SceneModels,
  hosts: Readonly<Record<string, SurfaceHost>>,
  env: Readonly<Record<string, string>> = {},
): Promise<SurfaceScene> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "surface-test-"));
  await writeCatalogue(folder, models, hosts);
  const upstreams = new Map<string, Upstream>();
  for (const slug of Object.keys(hosts)) upstreams.set(slug, await startUpstream());
  const gateway = await startGateway({
    env: { ...connectedTo(upstreams), ...QUIET, GATEWAY_CATALOGUE_DIR: folder, ...env },
    prepare: allProven,
  });
  return {
    gateway,
    tenant: await gateway.tenant(),
    at(slug) {
      const upstream = upstreams.get(slug);
      if (upstream === undefined) throw new Error(`${slug} is not in this scene`);
      return upstream;
    },
    rowOf: (called) => gateway.manage("GET", `/requests/${called.headers.get("x-svc-request-id")}`),
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeCatalogue(
  folder: string,
  { surfaces, id, capability }: SceneModels,
  hosts: Readonly<Record<string, SurfaceHost>>,
): Promise<void> {
  for (const name of ["providers", "creators"]) await mkdir(path.join(folder, name));
  for (const name of ["currencies.json", "capabilities.json"])
    await copyFile(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  const write = (name: string, value: unknown) => writeFile(path.join(folder, name), JSON.stringify(value));
  const ids = new Set(Object.values(hosts).map(({ model = id }) => model));
  const models = [...ids].map((model) => ({
    id: model,
    name: model,
    surfaces,
    modalities_in: ["text", "image"],
    modalities_out: [],
    capabilities: [capability],
  }));
  await write("creators/lab.json", { slug: "lab", name: "The Lab", families: [{ slug: "lab", name: "Lab", models }] });
  for (const [slug, host] of Object.entries(hosts))
    await write(`providers/${slug}.json`, providerOf(slug, { model: id, ...host }, surfaces));
}

function providerOf(
  slug: string,
  { endpoint, price, model, upstreamModel = "lab-1", country = "FR" }: SurfaceHost,
  surfaces: readonly string[],
): Json {
  return {
    slug,
    name: slug,
    operator: slug,
    eea_operated: true,
    currency: "EUR",
    zero_data_retention: "yes",
    trains_on_data: "no",
    regions: [
      {
        id: "fr",
        name: "Paris",
        base_url: "https://api.acme.example/v1",
        countries: [country],
        countries_kind: "exact",
        level: "L3",
        level_reason: "shown",
      },
    ],
    evidence: [
      {
        subject: "location",
        status: "verified",
        claim: "hosted in Paris",
        url: "https://acme.example/trust",
        kind: "primary",
        read: "2026-11-15",
      },
    ],
    endpoints: [
      {
        model,
        region: "fr",
        upstream_model: upstreamModel,
        surfaces,
        prices: [{ currency: "EUR", ...price }],
        ...endpoint,
      },
    ],
  };
}
