import type { Connections, Credential, Endpoint, Snapshot } from "../../domain/catalogue/catalogue.ts";

/** What the operator set for providers, by the upper-case form of their slugs: keys, and addresses also by region. */
export type ProviderSettings = {
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly baseUrls: ReadonlyMap<string, string>;
  /** A key pair that signs for providers of AWS without a key of their own. */
  readonly aws: Extract<Credential, { kind: "aws" }>["keys"] | null;
};

/** The name a provider or region has inside a variable: upper-cased, `-` as `_`. */
function settingName(slug: string): string {
  return slug.toUpperCase().replaceAll("-", "_");
}

const SANDBOX_TOKEN: Credential = { kind: "bearer", token: "sandbox" };

/** Which providers are connected, by the operator's settings; simulated ones always are, at the origins they run on. */
export function connectionsFrom(
  settings: ProviderSettings,
  snapshot: () => Snapshot,
  sandboxOrigins: Readonly<Record<string, string>>,
): Connections {
  const credentials = new Map<string, Credential>();
  const signed = new Set(
    [...snapshot().endpoints.values()].filter(({ dialects }) => dialects[0] === "D4").map(({ provider }) => provider),
  );
  for (const provider of snapshot().providers.values()) {
    const token = settings.apiKeys.get(settingName(provider.slug));
    if (provider.sandbox) {
      if (sandboxOrigins[provider.slug] !== undefined) credentials.set(provider.slug, SANDBOX_TOKEN);
    } else if (token !== undefined) credentials.set(provider.slug, { kind: "bearer", token });
    else if (settings.aws !== null && signed.has(provider.slug))
      credentials.set(provider.slug, { kind: "aws", keys: settings.aws });
  }
  const addresses = new Map<Endpoint, string | undefined>();
  const addressOf = ({ provider, region, baseUrl }: Endpoint): string | undefined => {
    const sandbox = sandboxOrigins[provider];
    if (sandbox !== undefined) return `${sandbox}/v1`;
    const name = settingName(provider);
    return (
      settings.baseUrls.get(`${name}__${settingName(region)}`) ?? settings.baseUrls.get(name) ?? baseUrl ?? undefined
    );
  };
  return {
    credential: (provider) => credentials.get(provider),
    baseUrl(endpoint) {
      if (!addresses.has(endpoint)) addresses.set(endpoint, addressOf(endpoint));
      return addresses.get(endpoint);
    },
    anyReal: [...credentials.keys()].some((slug) => snapshot().providers.get(slug)?.sandbox === false),
  };
}

/** Variables that name a provider the catalogue does not have: the operator mistyped a slug. */
export function unknownProviderSettings(settings: ProviderSettings, snapshot: Snapshot): string[] {
  const known = new Set<string>();
  for (const provider of snapshot.providers.values()) {
    known.add(settingName(provider.slug));
    for (const region of provider.regions) known.add(`${settingName(provider.slug)}__${settingName(region.id)}`);
  }
  return [...new Set([...settings.apiKeys.keys(), ...settings.baseUrls.keys()])].filter((name) => !known.has(name));
}
