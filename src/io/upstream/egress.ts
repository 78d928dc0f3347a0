import { type LookupAddress, lookup as resolveWithSystem } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { addressList, canonicalAddress } from "../../kit/cidr.ts";

/** Allowed URLs of workspaces. `anywhere` is for development: plain HTTP and private networks too. */
export type EgressRules = "public_https" | "anywhere";

/** Networks outside the public internet, or that can be translated into a private one. */
const NON_PUBLIC_RANGES = addressList([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
  // The Azure platform service, at a public-looking address.
  "168.63.129.16/32",
  // Within the global unicast block: Teredo and other protocols, documentation, 6to4.
  ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
]);

/** The rest of IPv6 is loopback, mapped, NAT64, site-local, link-local, multicast or unassigned. */
const GLOBAL_UNICAST_IPV6 = addressList(["2000::/3"]);

export function isPublicAddress(text: string): boolean {
  const address = canonicalAddress(text);
  if (address === undefined || NON_PUBLIC_RANGES.has(address)) return false;
  return isIP(address) === 4 || GLOBAL_UNICAST_IPV6.has(address);
}

/** A connection to a forbidden address. */
class EgressRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EgressRefusedError";
  }
}

const URL_CHARS_MAX = 2048;

/** Parses a URL of a workspace, or explains what is wrong. The name is resolved when connecting. */
export function parseEgressUrl(text: string, rules: EgressRules): URL | { readonly problem: string } {
  const url = text.length <= URL_CHARS_MAX && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return { problem: "must be an absolute https URL of at most 2048 characters" };
  if (url.username !== "" || url.password !== "") return { problem: "must not contain a user or password" };
  if (url.hash !== "") return { problem: "must not have a fragment" };
  if (rules === "anywhere") return url;
  if (url.protocol !== "https:") return { problem: "must begin with https://" };
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 && !isPublicAddress(host)) return { problem: NOT_PUBLIC };
  return url;
}

const NOT_PUBLIC = "must not be in a private or reserved network";

const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;

type ResolveCallback = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/**
 * Queries the name servers directly. The system resolver uses the few threads of the process: a workspace's name server
 * that never answers would delay the resolution of provider names.
 */
async function resolveWithDns(hostname: string, servers: readonly string[] | undefined): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = (family: 4 | 6, { status, ...rest }: typeof four): LookupAddress[] =>
    status === "fulfilled" && "value" in rest ? rest.value.map((address) => ({ address, family })) : [];
  return [...found(4, four), ...found(6, six)];
}

/** Names of the machine itself. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/i;

function resolve(
  hostname: string,
  rules: EgressRules,
  servers: readonly string[] | undefined,
  done: ResolveCallback,
): void {
  if (rules === "anywhere")
    resolveWithSystem(hostname, { all: true }, (error, addresses) => done(error, addresses ?? []));
  else if (isIP(hostname) !== 0) done(null, [{ address: hostname, family: isIP(hostname) }]);
  else if (LOCAL_NAME.test(hostname)) done(new EgressRefusedError(NOT_PUBLIC), []);
  else
    void resolveWithDns(hostname, servers).then(
      (addresses) => done(addresses.length === 0 ? notFoundError() : null, addresses),
      () => done(notFoundError(), []),
    );
}

const notFoundError = () => Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });

/**
 * Resolves a name for a connection and fails if any of its addresses is not public. The connection uses the checked
 * addresses, which prevents DNS rebinding. `servers` replaces the system's name servers.
 */
export function guardedLookup(rules: EgressRules, servers?: readonly string[]): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, rules, servers, (error, addresses) => {
      const first = addresses[0];
      if (error !== null) done(error, "");
      else if (first === undefined) done(notFoundError(), "");
      else if (rules !== "anywhere" && !addresses.every(({ address }) => isPublicAddress(address)))
        done(new EgressRefusedError(NOT_PUBLIC), "");
      else if (options.all === true) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
}
