import type { CatalogueSnapshot, Credential, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { RAW_PREDICT } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { credentialSecrets } from "./authorize.ts";
import { PlatformConnections } from "./platform-connections.ts";

/** What the operator set for providers, by the upper-case form of their slugs: keys, and addresses also by region. */
export type ProviderSettings = {
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly credentials: ReadonlyMap<string, string>;
  readonly baseUrls: ReadonlyMap<string, string>;
  /** A key pair that signs for providers of AWS without a key of their own. */
  readonly aws: Extract<Credential, { kind: "aws" }>["keys"] | null;
};

/** The name a provider or region has inside a variable: upper-cased, `-` as `_`. */
function settingName(slug: string): string {
  return slug.toUpperCase().replaceAll("-", "_");
}

const SANDBOX_TOKEN: Credential = { kind: "bearer", token: "sandbox" };

type Minted = Extract<Credential, { kind: "minted" }>;

/** Where a cloud keeps the models of a project; undefined for models that are asked in a way the gateway does not know. */
function placeInProject(endpoint: Endpoint, project: string): string | undefined {
  const { region } = endpoint;
  const publisher = publisherOf(endpoint);
  if (publisher === undefined) return undefined;
  return `/v1/projects/${encodeURIComponent(project)}/locations/${region}/publishers/${publisher}`;
}

function publisherOf({ dialects: [dialect], embeddings, quirks }: Endpoint): "google" | "anthropic" | undefined {
  if (dialect === "D3" || embeddings?.interface === "vertex") return "google";
  return dialect === "D2" && quirks?.includes(RAW_PREDICT) ? "anthropic" : undefined;
}

/** Providers that keep models in the projects of a cloud, and so take its service accounts. */
export function projectProviders(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  const within = [...snapshot.endpoints.values()].filter((endpoint) => placeInProject(endpoint, "any") !== undefined);
  return new Set(within.map(({ provider }) => provider));
}

/** An address that says a host and no more. */
const BARE = /^https?:\/\/[^/]+\/?$/;

/** Providers that have no models outside of projects: their addresses lead nowhere without one, and a key names none. */
function onlyInProjects(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  const within = [...snapshot.endpoints.values()].filter(
    (endpoint) => BARE.test(endpoint.baseUrl ?? "") && placeInProject(endpoint, "any") !== undefined,
  );
  return new Set(within.map(({ provider }) => provider));
}

/** Those of them at which a plain key is of no use: the operator named no address that is complete without a project. */
export function serviceAccountOnlyProviders(
  { baseUrls }: Pick<ProviderSettings, "baseUrls">,
  snapshot: CatalogueSnapshot,
): ReadonlySet<string> {
  const addressed = new Set([...baseUrls.keys()].map((name) => name.split("__")[0]));
  return new Set([...onlyInProjects(snapshot)].filter((slug) => !addressed.has(settingName(slug))));
}

/** The setting that connects each provider; simulated ones have none. */
export function connectionSettings(snapshot: CatalogueSnapshot): ReadonlyMap<string, string> {
  const accounts = onlyInProjects(snapshot);
  const real = [...snapshot.providers.values()].filter(({ sandbox }) => !sandbox);
  return new Map(real.map(({ slug }) => [slug, settingOf(slug, accounts.has(slug) ? "CREDENTIALS_FILE" : "API_KEY")]));
}

function settingOf(slug: string, what: "API_KEY" | "CREDENTIALS_FILE"): string {
  return `PROVIDER_${settingName(slug)}_${what}`;
}

/** Keys that are set for providers which take service accounts alone, each with what to set in its place. */
export function unusableKeySettings(settings: ProviderSettings, snapshot: CatalogueSnapshot): string[] {
  return [...serviceAccountOnlyProviders(settings, snapshot)].flatMap((slug) => {
    const set = settings.apiKeys.has(settingName(slug)) && !settings.credentials.has(settingName(slug));
    if (!set) return [];
    const instead = settingOf(slug, "CREDENTIALS_FILE");
    return [
      `${settingOf(slug, "API_KEY")}: ${slug} takes no plain key: set ${instead} to the key file of a service account`,
    ];
  });
}

/** Where endpoints really are: the catalogue's address unless the operator's settings say another, or it is simulated. */
export type AddressResolver = (endpoint: Endpoint, credential: Credential | undefined) => string | undefined;

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
    const within = placeInProject(endpoint, credential.project);
    return within === undefined ? undefined : `${base}${within}`;
  };
}

/** Providers whose requests can be signed with a key pair of AWS. */
export function sigV4Providers(snapshot: CatalogueSnapshot): ReadonlySet<string> {
  return new Set(
    [...snapshot.endpoints.values()].filter(({ dialects }) => dialects[0] === "D4").map(({ provider }) => provider),
  );
}

/** Connections by the credentials of one owner. */
export function createConnections(
  credentials: ReadonlyMap<string, Credential>,
  snapshot: CatalogueSnapshot,
  addressOf: AddressResolver,
): ProviderConnections {
  const addresses = new Map<Endpoint, string | undefined>();
  return {
    credential: (provider) => credentials.get(provider),
    baseUrl(endpoint) {
      if (!addresses.has(endpoint)) addresses.set(endpoint, addressOf(endpoint, credentials.get(endpoint.provider)));
      return addresses.get(endpoint);
    },
    hasRealProvider: [...credentials.keys()].some((slug) => snapshot.providers.get(slug)?.sandbox === false),
  };
}

/** Which providers are connected, by the operator's settings; simulated ones always are, at the origins they run on. */
export function createPlatformConnections(
  settings: ProviderSettings,
  snapshot: () => CatalogueSnapshot,
  sandboxOrigins: Readonly<Record<string, string>>,
  minted: ReadonlyMap<string, Minted> = new Map(),
): PlatformConnections {
  const named = new Map<string, { credential: Credential; setting: string }>();
  const fallback = new Map<string, Credential>();
  const simulated = new Map<string, Credential>();
  const signed = sigV4Providers(snapshot());
  for (const { slug, sandbox } of snapshot().providers.values()) {
    const name = settingName(slug);
    const token = settings.apiKeys.get(name);
    const account = minted.get(name);
    if (sandbox) {
      if (sandboxOrigins[slug] !== undefined) simulated.set(slug, SANDBOX_TOKEN);
    } else if (account !== undefined)
      named.set(slug, { credential: account, setting: settingOf(slug, "CREDENTIALS_FILE") });
    else if (token !== undefined)
      named.set(slug, { credential: { kind: "bearer", token }, setting: settingOf(slug, "API_KEY") });
    else if (settings.aws !== null && signed.has(slug)) fallback.set(slug, { kind: "aws", keys: settings.aws });
  }
  const addresses = createAddressResolver(settings, sandboxOrigins);
  const pair = settings.aws === null ? [] : credentialSecrets({ kind: "aws", keys: settings.aws });
  const secrets = [...settings.apiKeys.values(), ...pair];
  return new PlatformConnections({ named, fallback, simulated, secrets }, (credentials) =>
    createConnections(credentials, snapshot(), addresses),
  );
}

/** Variables that name a provider the catalogue does not have: the operator mistyped a slug. */
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
