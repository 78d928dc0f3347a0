import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { EmbeddingsEntry } from "../../src/domain/catalogue/embeddings-support.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { type Called, type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { connectedTo, QUIET } from "./scene.ts";
import { type ReplySource, startUpstream, type Upstream } from "./upstream.ts";

/** One scripted provider: its dialect, and its price per million tokens in EUR. */
export type Host = {
  readonly facts: EmbeddingsEntry;
  readonly price: number;
  /** The model that it serves; by default one that all serve. */
  readonly model?: string;
  readonly upstreamModel?: string;
  readonly contextTokens?: number;
  /** Its compute country; France by default. */
  readonly country?: string;
};

export type EmbeddingScene = {
  readonly gateway: TestGateway;
  readonly tenant: Tenant;
  at(slug: string): Upstream;
  /** POST /v1/embeddings, by default for `lab/vectors`. */
  embed(body: Record<string, unknown>, headers?: Record<string, string>): Promise<Called>;
  /** The log row of a response. */
  rowOf(called: Called): Promise<Json>;
  close(): Promise<void>;
};

const MODEL = "lab/vectors";

/** A gateway with its own catalogue: one model, and scripted providers that serve it, cheapest first. */
export async function openEmbeddings(
  hosts: Readonly<Record<string, Host>>,
  given: { readonly env?: Record<string, string>; readonly dimensions?: number } = {},
): Promise<EmbeddingScene> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "embeddings-test-"));
  await writeCatalogue(folder, hosts, given.dimensions);
  const upstreams = new Map<string, Upstream>();
  for (const slug of Object.keys(hosts)) upstreams.set(slug, await startUpstream());
  const gateway = await startGateway({
    env: {
      ...connectedTo(upstreams),
      ...QUIET,
      GATEWAY_CATALOGUE_DIR: folder,
      ...given.env,
    },
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
    embed: (body, headers = {}) =>
      gateway.call(tenant.key, "/v1/embeddings", { body: { model: MODEL, ...body }, headers }),
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
  hosts: Readonly<Record<string, Host>>,
  dimensions: number | undefined,
): Promise<void> {
  for (const name of ["providers", "creators"]) await mkdir(path.join(folder, name));
  for (const name of ["currencies.json", "capabilities.json"])
    await copyFile(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  const write = (name: string, value: unknown) => writeFile(path.join(folder, name), JSON.stringify(value));
  const ids = new Set(Object.values(hosts).map(({ model = MODEL }) => model));
  const models = [...ids].map((id) => ({
    id,
    name: "Vectors",
    surfaces: ["embeddings"],
    modalities_in: ["text"],
    modalities_out: ["embedding"],
    capabilities: ["embeddings"],
    embedding_dimensions: dimensions,
  }));
  await write("creators/lab.json", {
    slug: "lab",
    name: "The Lab",
    families: [{ slug: "vectors", name: "Vectors", models }],
  });
  for (const [slug, host] of Object.entries(hosts)) await write(`providers/${slug}.json`, providerOf(slug, host));
}

function providerOf(slug: string, host: Host): Json {
  const { facts, price, model = MODEL, upstreamModel = "vectors-1", contextTokens, country = "FR" } = host;
  return {
    slug,
    name: slug,
    operator: slug,
    eea_operated: true,
    currency: "EUR",
    zero_data_retention: "yes",
    trains_on_data: "no",
    embeddings: facts,
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
        surfaces: ["embeddings"],
        limits: contextTokens === undefined ? undefined : { context_tokens: contextTokens },
        prices: [{ currency: "EUR", input_per_1m_tokens: price }],
      },
    ],
  };
}

/** A vector that identifies its text: the character codes as 32-bit floats. */
export function vectorOf(text: string, dimensions = 4): number[] {
  let sum = 7;
  for (const char of text) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 100_003;
  return Array.from({ length: dimensions }, (_, at) => Math.fround((sum + at) / 100_003));
}

export function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * 4);
  return bytes.toString("base64");
}

export function floatsOf(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}

/** Replies in OpenAI's format, for any form of input, with rows in the order that `order` gives. */
export function openaiList(order: (rows: Json[]) => Json[] = (rows) => rows, usage: unknown = undefined): ReplySource {
  return ({ json }) => {
    const { input, dimensions, encoding_format: encoding }: Json = json;
    const texts: string[] = (typeof input === "string" ? [input] : input).map(String);
    const rows = texts.map((text, index) => {
      const vector = vectorOf(text, dimensions);
      return { object: "embedding", index, embedding: encoding === "base64" ? base64Of(vector) : vector };
    });
    const reported =
      usage === undefined ? { prompt_tokens: texts.length * 10, total_tokens: texts.length * 10 } : usage;
    return {
      json: {
        object: "list",
        data: order(rows),
        model: "vectors-1",
        ...(reported === null ? {} : { usage: reported }),
      },
    };
  };
}
