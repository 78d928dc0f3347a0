import { readFileSync } from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import path from "node:path";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { eventually } from "./eventually.ts";
import { type Called, type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { allProven } from "./proofs.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** A model of the shipped catalogue that four connected providers serve. */
export const MODEL = "openai/gpt-oss-120b";

/** The providers of a scene: each gets a scripted upstream. */
export type Provider =
  | "alibaba"
  | "cohere"
  | "deepinfra"
  | "deepseek"
  | "openai"
  | "azure"
  | "groq"
  | "mistral"
  | "ovhcloud"
  | "scaleway"
  | "ionos"
  | "nebius"
  | "cerebras"
  | "together"
  | "zai"
  | "google-ai-studio"
  | "anthropic"
  | "aws-bedrock";

/** The operator's credential of a provider. No caller may ever see it. */
export const credentialOf = (provider: string) => `operator-canary-${provider}-5d41402abc4b2a76`;

export type Scene = {
  readonly gateway: TestGateway;
  /** The scripted upstream of a provider of this scene. */
  at(provider: Provider): Upstream;
  /** POST /v1/chat/completions, complete or read to the end of its stream. */
  chat(key: string, body?: Record<string, unknown> | string, headers?: Record<string, string>): Promise<Called>;
  /** The same, read piece by piece. */
  open(key: string, body: Record<string, unknown>): Promise<OpenChat>;
  wallet(tenant: Tenant): Promise<{ balance: string; held: string; currency: string }>;
  /** A row of the request log with its decision. */
  row(requestId: string): Promise<Json>;
  rows(tenant: Tenant): Promise<Json[]>;
  /** Log rows once there are this many: a disconnected client does not see when its request is over. */
  rowsOnce(tenant: Tenant, count: number): Promise<Json[]>;
  charges(tenant: Tenant): Promise<{ id: string; nanos: bigint }[]>;
  close(): Promise<void>;
};

/** A gateway in this process with scripted upstreams instead of real providers. */
export async function openScene(providers: readonly Provider[], env: Record<string, string> = {}): Promise<Scene> {
  const upstreams = new Map<Provider, Upstream>();
  for (const provider of providers) upstreams.set(provider, await startUpstream());
  const gateway = await startGateway({ env: { ...connectedTo(upstreams), ...QUIET, ...env }, prepare: allProven });
  const at = (provider: Provider) => {
    const upstream = upstreams.get(provider);
    if (upstream === undefined) throw new Error(`${provider} is not in this scene`);
    return upstream;
  };
  const rows = async (tenant: Tenant): Promise<Json[]> =>
    (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1000`)).data;
  return {
    gateway,
    at,
    chat: (key, body = {}, headers = {}) =>
      gateway.call(key, "/v1/chat/completions", {
        body: typeof body === "string" ? body : chatBody(body),
        headers,
      }),
    open: (key, body) => openChat(gateway.url, key, chatBody(body)),
    wallet: (tenant) => gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`),
    row: (requestId) => gateway.manage("GET", `/requests/${requestId}`),
    rows,
    rowsOnce: (tenant, count) =>
      eventually(
        async () => {
          const found = await rows(tenant);
          if (found.length < count) throw new Error(`${found.length} of ${count} rows`);
          return found;
        },
        { interval: 25 },
      ),
    charges: (tenant) => chargesOf(gateway, tenant),
    async close() {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await gateway.close();
    },
  };
}

/** Scripted failures are many and concurrent: by default they open no circuit and use up no retry budget. */
export const QUIET = {
  GATEWAY_ASIDE_FAILURES: "0",
  GATEWAY_RETRY_PERCENT: "100",
  GATEWAY_SANDBOX: "off",
  GATEWAY_RPM_LIVE: "1000000",
  GATEWAY_RPM_IP: "0",
  GATEWAY_DRAIN_TIMEOUT_MS: "1000",
};

/** Settings that put upstreams in place of catalogue providers. */
export function connectedTo(upstreams: ReadonlyMap<string, Pick<Upstream, "baseUrl">>): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [provider, { baseUrl }] of upstreams) {
    const name = provider.toUpperCase().replaceAll("-", "_");
    env[`PROVIDER_${name}_API_KEY`] = credentialOf(provider);
    env[`PROVIDER_${name}_BASE_URL`] = baseUrl;
  }
  return env;
}

export function chatBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: MODEL, messages: [{ role: "user", content: "Say hello." }], ...more };
}

/** The data of a stream's events in order, without comments. */
export function eventsOf(text: string): string[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => block.slice("data: ".length));
}

/** The JSON events of a stream, without its end marker. */
export function chunksOf(text: string): Json[] {
  return eventsOf(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));
}

/** The text of a stream. */
export function contentOf(text: string): string {
  return chunksOf(text)
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? "")
    .join("");
}

export type OpenChat = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything read so far. */
  readonly text: string;
  /** Resolves once the text read so far contains this; rejects when the response ends before. */
  until(part: string): Promise<void>;
  /** Resolves when the response is over: `whole`, or `cut` when the connection broke. */
  readonly over: Promise<"whole" | "cut">;
  /** The response as it comes; nothing is read from it by default. */
  readonly response: IncomingMessage;
  hangUp(): void;
};

/** A call whose response is read piece by piece; with `unread` it is not read until the test does. */
export function openChat(
  origin: string,
  key: string,
  body: unknown,
  reading: "read" | "unread" = "read",
): Promise<OpenChat> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenChat>();
  const request = startChat(origin, key, body);
  request.on("error", reject);
  request.on("response", (response) => resolve(follow(request, response, reading)));
  return promise;
}

/** Sends a call and returns the request itself, for callers that disconnect before any response. */
export function startChat(
  origin: string,
  key: string,
  body: unknown,
  end: "finished" | "unfinished" = "finished",
): ClientRequest {
  const request = httpRequest(`${origin}/v1/chat/completions`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  request.on("error", () => undefined);
  if (end === "finished") request.end(JSON.stringify(body));
  else request.write(JSON.stringify(body));
  return request;
}

function follow(request: ClientRequest, response: IncomingMessage, reading: "read" | "unread"): OpenChat {
  let text = "";
  const watchers = new Set<() => void>();
  const { promise: over, resolve } = Promise.withResolvers<"whole" | "cut">();
  if (reading === "read") response.setEncoding("utf8");
  response.on("error", () => undefined);
  response.on("close", () => {
    resolve(response.complete ? "whole" : "cut");
    for (const watcher of watchers) watcher();
  });
  if (reading === "read")
    response.on("data", (chunk: string) => {
      text += chunk;
      for (const watcher of watchers) watcher();
    });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get text() {
      return text;
    },
    until: (part) =>
      new Promise((found, lost) => {
        const check = () => {
          if (text.includes(part)) {
            watchers.delete(check);
            found();
          } else if (response.closed) lost(new Error(`the answer ended without ${JSON.stringify(part)}`));
        };
        watchers.add(check);
        check();
      }),
    over,
    response,
    hangUp: () => void request.destroy(),
  };
}

async function chargesOf(gateway: TestGateway, tenant: Tenant): Promise<{ id: string; nanos: bigint }[]> {
  const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?limit=1000`);
  return data
    .filter((entry: Json) => entry.kind === "charge")
    .map((entry: Json) => ({ id: entry.id, nanos: -nanosOf(entry.amount) }));
}

/** A decimal string of the management API in nano-units. */
export function nanosOf(amount: string): bigint {
  const [whole = "0", fraction = ""] = amount.replace("-", "").split(".");
  const nanos = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
  return amount.startsWith("-") ? -nanos : nanos;
}

export type Used = {
  readonly input: number;
  readonly cached?: number;
  readonly written?: number;
  /** The part of the cache write that is kept for an hour. */
  readonly hourLong?: number;
  readonly output: number;
};

const MICRO = 1_000_000n;

/** The cost of a request by the catalogue's files, independent of the gateway's own code. */
export function costNanos(provider: Provider, used: Used, currency = "EUR", model = MODEL): bigint {
  const price = readCatalogue(`providers/${provider}.json`).endpoints.find((one: Json) => one.model === model)
    .prices[0];
  const { cached = 0, written = 0, hourLong = 0 } = used;
  const input = micro(price.input_per_1m_tokens);
  const perMillion =
    BigInt(used.input - cached - written) * input +
    BigInt(cached) * (price.cached_read_per_1m_tokens === undefined ? input : micro(price.cached_read_per_1m_tokens)) +
    BigInt(hourLong) * micro(price.cache_write_1h_per_1m_tokens ?? price.cache_write_per_1m_tokens ?? 0) +
    BigInt(written - hourLong) *
      (price.cache_write_per_1m_tokens === undefined ? input : micro(price.cache_write_per_1m_tokens)) +
    BigInt(used.output) * micro(price.output_per_1m_tokens);
  const numerator = perMillion * 1_000_000_000n * perEur(currency);
  const denominator = MICRO * MICRO * perEur(price.currency);
  return (2n * numerator + denominator) / (2n * denominator);
}

function perEur(currency: string): bigint {
  if (currency === "EUR") return MICRO;
  return micro(readCatalogue("currencies.json").currencies.find((one: Json) => one.code === currency).per_eur);
}

function micro(value: number): bigint {
  return BigInt(Math.round(value * 1e6));
}

function readCatalogue(file: string): Json {
  return JSON.parse(readFileSync(path.join(PROJECT_ROOT, "catalogue", file), "utf8"));
}
