import type { CatalogueSnapshot, Credential, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { CredentialRefusedError, UNDECRYPTABLE_CREDENTIAL } from "./credential-secrets.ts";
import { type AuthStyle, type OutboundRequest, sigV4Headers } from "./sigv4.ts";
import type { Transport } from "./transport.ts";

/** The base URL of an endpoint: simulated, set by the operator, or from the catalogue. */
export type AddressResolver = (endpoint: Endpoint, credential: Credential | undefined) => string | undefined;

/** Connections with the credentials of one owner, which are in private fields so that printing never shows them. */
export class OwnerConnections implements ProviderConnections {
  readonly #addressOf: AddressResolver;
  readonly #addresses = new Map<Endpoint, string | undefined>();
  #credentials: ReadonlyMap<string, Credential>;
  hasRealProvider: boolean;
  /** Counts replacements of the credentials. */
  version = 0;

  constructor(credentials: ReadonlyMap<string, Credential>, snapshot: CatalogueSnapshot, addressOf: AddressResolver) {
    this.#credentials = credentials;
    this.#addressOf = addressOf;
    this.hasRealProvider = includesRealProvider(credentials, snapshot);
  }

  credential(provider: string): Credential | undefined {
    return this.#credentials.get(provider);
  }

  baseUrl(endpoint: Endpoint): string | undefined {
    const addresses = this.#addresses;
    if (!addresses.has(endpoint))
      addresses.set(endpoint, this.#addressOf(endpoint, this.credential(endpoint.provider)));
    return addresses.get(endpoint);
  }

  protected replaceCredentials(credentials: ReadonlyMap<string, Credential>, snapshot: CatalogueSnapshot): void {
    this.#credentials = credentials;
    this.#addresses.clear();
    this.hasRealProvider = includesRealProvider(credentials, snapshot);
    this.version += 1;
  }
}

function includesRealProvider(credentials: ReadonlyMap<string, Credential>, { providers }: CatalogueSnapshot): boolean {
  return [...credentials.keys()].some((slug) => providers.get(slug)?.sandbox === false);
}

/** The headers that carry the credential; created right before the request is sent and stored nowhere. */
export function authorize(
  credential: Credential | undefined,
  style: AuthStyle,
  request: OutboundRequest,
): MaybePromise<Record<string, string>> {
  if (credential === undefined || credential.kind === "none" || style === "none") return {};
  if (credential === UNDECRYPTABLE_CREDENTIAL) throw new CredentialRefusedError("the stored key cannot be decrypted");
  if (credential.kind === "aws") return sigV4Headers(credential.keys, request);
  if (credential.kind === "minted")
    return credential.token().then((token): Record<string, string> => ({ authorization: `Bearer ${token}` }));
  return style === "bearer" ? { authorization: `Bearer ${credential.token}` } : { [style]: credential.token };
}

/** Common request headers; an adapter may override them. */
export function upstreamHeaders(
  adapter: { readonly headers: Readonly<Record<string, string>> },
  accept: string,
): Record<string, string> {
  return {
    "content-type": "application/json",
    accept,
    "accept-encoding": "identity",
    "user-agent": "inference-gateway",
    ...adapter.headers,
  };
}

/** The URL scheme of nodes: `tunnel://<node id>/v1`. */
const TUNNEL_SCHEME = "tunnel:";

/** Sends `tunnel:` URLs through the tunnels of nodes and all others through HTTP. */
export function withTunnels(http: Transport, tunnels: Pick<Transport, "send"> & { close(): void }): Transport {
  return {
    send: (request, handler) => (request.url.startsWith(TUNNEL_SCHEME) ? tunnels : http).send(request, handler),
    release: (owner) => http.release(owner),
    async close() {
      tunnels.close();
      await http.close();
    },
  };
}
