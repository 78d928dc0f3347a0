import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import type { EndpointEntry, PriceEntry } from "../../src/domain/catalogue/schema.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { eventually } from "./eventually.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { allProven } from "./proofs.ts";
import { connectedTo, nanosOf, QUIET } from "./scene.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** Providers that only tests know, each in its own country; `nowhere` does not declare one. */
const COUNTRIES = { alpha: "FR", beta: "DE", gamma: "US", nowhere: undefined } as const;
export type SpeechProvider = keyof typeof COUNTRIES;

export type SpeechRow = {
  readonly model: string;
  readonly provider: SpeechProvider;
  readonly speech: NonNullable<EndpointEntry["speech"]>;
  readonly price: Omit<PriceEntry, "currency">;
  readonly maxOutputTokens?: number;
};

type Facts = SpeechRow["speech"];

/** Raw samples, in Gemini's format. */
export const RAW: Facts = { interface: "gemini", formats: ["wav", "pcm"] };
/** All but aac, in Mistral's. */
export const FIVE: Facts = { interface: "mistral", formats: ["mp3", "opus", "flac", "wav", "pcm"] };
/** All six formats and both settings, in OpenAI's format. */
export const EVERYTHING: Facts = {
  interface: "openai",
  formats: ["mp3", "opus", "aac", "flac", "wav", "pcm"],
  speed: true,
  instructions: true,
};

export type SpeechScene = {
  readonly gateway: TestGateway;
  at(provider: SpeechProvider): Upstream;
  speak(key: string, body: Record<string, unknown>, headers?: Record<string, string>): Promise<SpeechResponse>;
  row(id: string): Promise<Json>;
  rowsOnce(tenant: Tenant, count: number): Promise<Json[]>;
  /** All charges of a tenant, in nano-units. */
  charged(tenant: Tenant): Promise<bigint[]>;
  close(): Promise<void>;
};

export type SpeechResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The body of an error. */
  readonly error: Json;
  readonly id: string;
};

/** A gateway with its own catalogue, whose providers are scripted upstreams. */
export async function openSpeech(rows: readonly SpeechRow[], env: Record<string, string> = {}): Promise<SpeechScene> {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-speech-"));
  const upstreams = new Map<SpeechProvider, Upstream>();
  for (const { provider } of rows) if (!upstreams.has(provider)) upstreams.set(provider, await startUpstream());
  writeCatalogue(folder, rows);
  const settings = { ...connectedTo(upstreams), ...QUIET, GATEWAY_CATALOGUE_DIR: folder, ...env };
  const gateway = await startGateway({ env: settings, prepare: allProven });
  const rowsOf = async (tenant: Tenant): Promise<Json[]> =>
    (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1000`)).data;
  return {
    gateway,
    at(provider) {
      const upstream = upstreams.get(provider);
      if (upstream === undefined) throw new Error(`${provider} is not in this scene`);
      return upstream;
    },
    speak: (key, body, headers) => speak(gateway.url, key, body, headers),
    row: (id) => gateway.manage("GET", `/requests/${id}`),
    rowsOnce: (tenant, count) =>
      eventually(
        async () => {
          const found = await rowsOf(tenant);
          if (found.length < count) throw new Error(`${found.length} of ${count} rows`);
          return found;
        },
        { interval: 25 },
      ),
    async charged(tenant) {
      const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?limit=1000`);
      return data.filter((entry: Json) => entry.kind === "charge").map((entry: Json) => -nanosOf(entry.amount));
    },
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function speak(
  origin: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<SpeechResponse> {
  const response = await fetch(`${origin}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const error = response.status === 200 ? undefined : JSON.parse(bytes.toString()).error;
  const id = response.headers.get("x-svc-request-id") ?? "";
  return { status: response.status, headers: response.headers, bytes, error, id };
}

export type OpenSpeech = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly response: IncomingMessage;
  /** The next bytes. */
  chunk(): Promise<Buffer>;
  /** Resolves when the response is over: `whole`, or `cut` when the connection broke. */
  readonly over: Promise<"whole" | "cut">;
  hangUp(): void;
};

/** A call whose response is not read until the test does. */
export function openSpeechCall(origin: string, key: string, body: unknown): Promise<OpenSpeech> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenSpeech>();
  const request = httpRequest(`${origin}/v1/audio/speech`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  request.on("error", reject);
  request.on("response", (response) => {
    response.on("error", () => undefined);
    const { promise: over, resolve: ended } = Promise.withResolvers<"whole" | "cut">();
    response.on("close", () => ended(response.complete ? "whole" : "cut"));
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      response,
      chunk: () =>
        new Promise((come) => {
          response.once("data", (bytes: Buffer) => {
            response.pause();
            come(bytes);
          });
          response.resume();
        }),
      over,
      hangUp: () => void request.destroy(),
    });
  });
  request.end(JSON.stringify(body));
  return promise;
}

function writeCatalogue(folder: string, rows: readonly SpeechRow[]): void {
  for (const name of ["currencies.json", "capabilities.json"])
    cpSync(path.join(PROJECT_ROOT, "catalogue", name), path.join(folder, name));
  const models = [...new Set(rows.map(({ model }) => model))].map((id) => ({
    id,
    name: id,
    surfaces: ["speech"],
    modalities_in: ["text"],
    modalities_out: ["audio"],
    capabilities: ["speech"],
  }));
  const write = (name: string, value: unknown) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), JSON.stringify(value));
  };
  write("creators/voice.json", { slug: "voice", name: "Voice", families: [{ slug: "voice", name: "Voice", models }] });
  for (const provider of new Set(rows.map((row) => row.provider))) {
    const country = COUNTRIES[provider];
    write(`providers/${provider}.json`, {
      slug: provider,
      name: provider,
      operator: provider,
      eea_operated: true,
      currency: "EUR",
      regions: [
        {
          id: "main",
          name: "main",
          base_url: "https://example.invalid/v1",
          ...(country === undefined ? { countries: [] } : { countries: [country], countries_kind: "exact" }),
          level: "L0",
          level_reason: "made up for a test",
        },
      ],
      evidence: [
        {
          subject: "location",
          status: "verified",
          claim: "none",
          url: "https://example.invalid",
          kind: "primary",
          read: "2026-11-15",
        },
      ],
      endpoints: rows.filter((row) => row.provider === provider).map(endpointOf),
    });
  }
}

function endpointOf({ model, speech, price, maxOutputTokens }: SpeechRow): EndpointEntry {
  return {
    model,
    region: "main",
    upstream_model: `${model.split("/")[1]}-upstream`,
    surfaces: ["speech"],
    speech,
    prices: [{ currency: "EUR", ...price }],
    ...(maxOutputTokens === undefined ? {} : { limits: { max_output_tokens: maxOutputTokens } }),
  };
}
