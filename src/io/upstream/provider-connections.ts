import type { CatalogueSnapshot, Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import { RAW_PREDICT } from "../../language/dialects/messages/upstream/raw-predict.ts";
import type { AddressResolver } from "./connections.ts";
import { credentialSecrets } from "./credential-secrets.ts";
import { PlatformConnections } from "./platform-connections.ts";

/** The operator's provider settings by upper-case slug; base URLs also by region. */
export type ProviderSettings = {
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly credentials: ReadonlyMap<string, string>;
  readonly baseUrls: ReadonlyMap<string, string>;
  /** The default key pair for AWS providers without a key of their own. */
  readonly aws: Extract<Credential, { kind: "aws" }>["keys"] | null;
};

/** A slug as part of a setting name: upper-case, `-` as `_`. */
function settingName(slug: string): string {
  return slug.toUpperCase().replaceAll("-", "_");
}

const SANDBOX_TOKEN: Credential = { kind: "bearer", token: "sandbox" };

type Minted = Extract<Credential, { kind: "minted" }>;

/** The path of a project's models at a cloud; undefined if the endpoint has no project path. */
function projectPath(endpoint: Endpoint, project: string): string | undefined {
  const { region } = endpoint;
  const publisher = publisherOf(endpoint);
  if (publisher === undefined) return undefined;
  return `/v1/projects/${encodeURIComponent(project)}/locations/${region}/publishers/${publisher}`;
}

function publisherOf({ dialects: [dialect], embeddings, quirks }: Endpoint): "google" | "anthropic" | undefined {
  if (dialect === "D3" || embeddings?.interface === "vertex") return "google";
  return dialect === "D2" && quirks?.includes(RAW_PREDICT) ? "anthropic" : undefined;
}

/** Providers with models in cloud projects, which accept service accounts. */
export function projectProviders(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  const inProjects = [...snapshot.endpoints.values()].filter((endpoint) => projectPath(endpoint, "any") !== undefined);
  return new Set(inProjects.map(({ provider }) => provider));
}

const BARE_ORIGIN = /^https?:\/\/[^/]+\/?$/;

/** Providers with models in projects only: their base URLs are incomplete without one, and a plain key names none. */
function projectOnlyProviders(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  const inProjects = [...snapshot.endpoints.values()].filter(
    (endpoint) => BARE_ORIGIN.test(endpoint.baseUrl ?? "") && projectPath(endpoint, "any") !== undefined,
  );
  return new Set(inProjects.map(({ provider }) => provider));
}

/** Project-only providers for which the operator set no complete base URL, so that plain keys are unusable. */
export function serviceAccountOnlyProviders(
  { baseUrls }: Pick<ProviderSettings, "baseUrls">,
  snapshot: CatalogueSnapshot,
): ReadonlySet<string> {
  const addressed = new Set([...baseUrls.keys()].map((name) => name.split("__")[0]));
  return new Set([...projectOnlyProviders(snapshot)].filter((slug) => !addressed.has(settingName(slug))));
}

/** The setting that connects each provider, except simulated ones. */
export function connectionSettings(snapshot: CatalogueSnapshot): ReadonlyMap<string, string> {
  const accounts = projectOnlyProviders(snapshot);
  const real = [...snapshot.providers.values()].filter(({ sandbox }) => !sandbox);
  return new Map(
    real.map(({ slug }) => [slug, providerSetting(slug, accounts.has(slug) ? "CREDENTIALS_FILE" : "API_KEY")]),
  );
}

function providerSetting(slug: string, what: "API_KEY" | "CREDENTIALS_FILE"): string {
  return `PROVIDER_${settingName(slug)}_${what}`;
}

/** Problems of API keys that are set for providers which accept service accounts only. */
export function unusableKeySettings(settings: ProviderSettings, snapshot: CatalogueSnapshot): string[] {
  return [...serviceAccountOnlyProviders(settings, snapshot)].flatMap((slug) => {
    const set = settings.apiKeys.has(settingName(slug)) && !settings.credentials.has(settingName(slug));
    if (!set) return [];
    const instead = providerSetting(slug, "CREDENTIALS_FILE");
    return [
      `${providerSetting(slug, "API_KEY")}: ${slug} does not support plain keys: set ${instead} to the key file of a service account`,
    ];
  });
}

export function createAddressResolver(
  settings: Pick<ProviderSettings, "baseUrls">,
  sandboxOrigins: Readonly<Record<string, string>>,
): AddressResolver {
  return (endpoint, credential) => {
    const { provider, region, baseUrl } = endpoint;
    const sandbox = sandboxOrigins[provider];
    if (sandbox !== undefined) return `${sandbox}/v1`;
    const name = settingName(provider);
    const base = settings.baseUrls.get(`${name}__${settingName(region)}`) ?? settings.baseUrls.get(name) ?? baseUrl;
    if (base === null || credential?.kind !== "minted") return base ?? undefined;
    const inProjects = projectPath(endpoint, credential.project);
    return inProjects === undefined ? undefined : `${base}${inProjects}`;
  };
}

/** Providers whose requests are signed with an AWS key pair. */
export function sigV4Providers(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  return new Set(
    [...snapshot.endpoints.values()].filter(({ dialects }) => dialects[0] === "D4").map(({ provider }) => provider),
  );
}

/** The platform's connections from the operator's settings, plus the running simulated providers. */
export function createPlatformConnections(
  settings: ProviderSettings,
  snapshot: () => CatalogueSnapshot,
  sandboxOrigins: Readonly<Record<string, string>>,
  minted: ReadonlyMap<string, Minted> = new Map(),
): PlatformConnections {
  const named = new Map<string, { credential: Credential; setting: string }>();
  const fallback = new Map<string, Credential>();
  const simulated = new Map<string, Credential>();
  const sigV4 = sigV4Providers(snapshot());
  for (const { slug, sandbox } of snapshot().providers.values()) {
    const name = settingName(slug);
    const token = settings.apiKeys.get(name);
    const account = minted.get(name);
    if (sandbox) {
      if (sandboxOrigins[slug] !== undefined) simulated.set(slug, SANDBOX_TOKEN);
    } else if (account !== undefined)
      named.set(slug, { credential: account, setting: providerSetting(slug, "CREDENTIALS_FILE") });
    else if (token !== undefined)
      named.set(slug, { credential: { kind: "bearer", token }, setting: providerSetting(slug, "API_KEY") });
    else if (settings.aws !== null && sigV4.has(slug)) fallback.set(slug, { kind: "aws", keys: settings.aws });
  }
  const addresses = createAddressResolver(settings, sandboxOrigins);
  const pair = settings.aws === null ? [] : credentialSecrets({ kind: "aws", keys: settings.aws });
  const secrets = [...settings.apiKeys.values(), ...pair];
  return new PlatformConnections({ named, fallback, simulated, secrets }, snapshot, addresses);
}

/** Settings for providers that are not in the catalogue, usually mistyped slugs. */
export function unknownProviderSettings(settings: ProviderSettings, snapshot: CatalogueSnapshot): string[] {
  const known = new Set<string>();
  for (const provider of snapshot.providers.values()) {
    known.add(settingName(provider.slug));
    for (const region of provider.regions) known.add(`${settingName(provider.slug)}__${settingName(region.id)}`);
  }
  const { apiKeys, credentials, baseUrls } = settings;
  const named = new Set([...apiKeys.keys(), ...credentials.keys(), ...baseUrls.keys()]);
  return [...named].filter((name) => !known.has(name));
}
