import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { RerankEntry } from "../../src/domain/catalogue/rerank-support.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { type Called, type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { connectedTo, QUIET } from "./scene.ts";
import { type ReplySource, startUpstream, type Upstream } from "./upstream.ts";

/** One scripted provider: its wire format, and its price in EUR. */
export type RerankHost = {
  readonly facts: RerankEntry;
  readonly price: { readonly per_1k_search_units: number } | { readonly input_per_1m_tokens: number };
  /** The model that it serves; by default one that all serve. */
  readonly model?: string;
  readonly upstreamModel?: string;
  readonly country?: string;
};

export type RerankScene = {
  readonly gateway: TestGateway;
  readonly tenant: Tenant;
  at(slug: string): Upstream;
  /** POST /v1/rerank by default for `lab/ranker`. */
  rank(body: Record<string, unknown>, version?: "v1" | "v2", key?: string): Promise<Called>;
  rowOf(called: Called): Promise<Json>;
  close(): Promise<void>;
};

const MODEL = "lab/ranker";

/** A gateway with its own catalogue: one model, and scripted providers that serve it, cheapest first. */
export async function openRerank(
  hosts: Readonly<Record<string, RerankHost>>,
  env: Readonly<Record<string, string>> = {},
): Promise<RerankScene> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "rerank-test-"));
  await writeCatalogue(folder, hosts);
  const upstreams = new Map<string, Upstream>();
  for (const slug of Object.keys(hosts)) upstreams.set(slug, await startUpstream());
  const gateway = await startGateway({
    env: { ...connectedTo(upstreams), ...QUIET, GATEWAY_CATALOGUE_DIR: folder, ...env },
  });
  const tenant = await gateway.tenant();
  return {
    gateway,
    tenant,
    at(slug) {
      const upstream = upstreams.get(slug);
      if (upstream === undefined) throw new Error(`${slug} is not in this scene`);
      return upstream;
    },
    rank: (body, version = "v1", key = tenant.key) =>
      gateway.call(key, `/${version}/rerank`, { body: { model: MODEL, ...body } }),
    rowOf: (called) => gateway.manage("GET", `/requests/${called.headers.get("x-svc-request-id")}`),
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeCatalogue(folder: string, hosts: Readonly<Record<string, RerankHost>>): Promise<void> {
  for (const name of ["providers", "creators"]) await mkdir(path.join(folder, name));
  for (const name of ["currencies.json", "capabilities.json"])
    await copyFile(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  const write = (name: string, value: unknown) => writeFile(path.join(folder, name), JSON.stringify(value));
  const ids = new Set(Object.values(hosts).map(({ model = MODEL }) => model));
  const models = [...ids].map((id) => ({
    id,
    name: "Ranker",
    surfaces: ["rerank"],
    modalities_in: ["text"],
    modalities_out: [],
    capabilities: ["reranking"],
  }));
  await write("creators/lab.json", {
    slug: "lab",
    name: "The Lab",
    families: [{ slug: "ranker", name: "Ranker", models }],
  });
  for (const [slug, host] of Object.entries(hosts)) await write(`providers/${slug}.json`, providerOf(slug, host));
}

function providerOf(
  slug: string,
  { facts, price, model = MODEL, upstreamModel = "ranker-1", country = "FR" }: RerankHost,
): Json {
  return {
    slug,
    name: slug,
    operator: slug,
    eea_operated: true,
    currency: "EUR",
    zero_data_retention: "yes",
    trains_on_data: "no",
    rerank: facts,
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
        surfaces: ["rerank"],
        prices: [{ currency: "EUR", ...price }],
      },
    ],
  };
}

/** The score of a document of {@link lettersRanked}: the more letters, the better. */
export const scoreOf = (text: string) => text.length / 1000;

/** Replies in the format of an interface: documents with more letters are more relevant. */
export function lettersRanked(format: RerankEntry["interface"], units: object = {}): ReplySource {
  return ({ json }) => {
    const sent: Json = json;
    const texts: string[] = sent.documents ?? sent.texts;
    const ranked = texts
      .map((text, index) => ({ index, score: scoreOf(text) }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, sent.top_n ?? sent.top_k);
    if (format === "tei") return { json: ranked, headers: { "x-compute-tokens": "30" } };
    const results = ranked.map(({ index, score }) => ({ index, relevance_score: score }));
    const usage = { total_tokens: 30 };
    if (format === "voyage") return { json: { object: "list", data: results, model: "ranker-1", usage } };
    if (format === "jina" || format === "vllm") return { json: { model: "ranker-1", results, usage } };
    if (format === "bedrock_cohere") return { json: { results } };
    return {
      json: {
        id: "c-1",
        results,
        meta: { api_version: { version: "2" }, billed_units: { search_units: 1, ...units } },
      },
    };
  };
}
