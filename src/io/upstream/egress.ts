import { type LookupAddress, lookup as resolveBySystem } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { addressList, canonicalAddress } from "../../kit/cidr.ts";

/** What an address that a workspace chose may be. `anywhere` is for development: plain HTTP and private networks too. */
export type EgressRules = "public_https" | "anywhere";

/** Networks that are no part of the public internet, or lead back into a private one by another name. */
const CLOSED = addressList([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
  // A cloud's own services for its machines, at an address that looks like any other.
  "168.63.129.16/32",
  // Within the global block of IPv6: Teredo and other protocols, documentation, 6to4.
  ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
]);

/** The rest of IPv6 is loopback, mapped, translated (NAT64), site-local, link-local, multicast or not given out. */
const GLOBAL_IPV6 = addressList(["2000::/3"]);

export function isPublicAddress(text: string): boolean {
  const address = canonicalAddress(text);
  if (address === undefined || CLOSED.has(address)) return false;
  return isIP(address) === 4 || GLOBAL_IPV6.has(address);
}

/** Thrown where a connection would lead somewhere it must not. */
class EgressRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EgressRefused";
  }
}

const URL_CHARS_MAX = 2048;

/** An address that a workspace chose, or what is wrong with it. Names are resolved when they are connected to. */
export function parseEgressUrl(text: string, rules: EgressRules): URL | { readonly problem: string } {
  const url = text.length <= URL_CHARS_MAX && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return { problem: "write an absolute https address of at most 2048 characters" };
  if (url.username !== "" || url.password !== "") return { problem: "write it without user and password" };
  if (url.hash !== "") return { problem: "write it without a fragment" };
  if (rules === "anywhere") return url;
  if (url.protocol !== "https:") return { problem: "write an address that begins with https://" };
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 && !isPublicAddress(host)) return { problem: PRIVATE };
  return url;
}

const PRIVATE = "the address is in a private or reserved network, where the gateway sends nothing";

const DNS_TRY_MS = 2_000;
const DNS_TRIES = 2;

type Resolved = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/**
 * Asks the name servers itself. The system's resolver works in the few threads that the whole process resolves names
 * in: a name server that a workspace chose, and that never answers, would keep the names of providers waiting.
 */
async function resolveByServers(hostname: string, servers: readonly string[] | undefined): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = (family: 4 | 6, { status, ...rest }: typeof four): LookupAddress[] =>
    status === "fulfilled" && "value" in rest ? rest.value.map((address) => ({ address, family })) : [];
  return [...found(4, four), ...found(6, six)];
}

/** Names of the machine itself, which no name server is asked for. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/i;

function resolve(hostname: string, rules: EgressRules, servers: readonly string[] | undefined, done: Resolved): void {
  if (rules === "anywhere")
    resolveBySystem(hostname, { all: true }, (error, addresses) => done(error, addresses ?? []));
  else if (isIP(hostname) !== 0) done(null, [{ address: hostname, family: isIP(hostname) }]);
  else if (LOCAL_NAME.test(hostname)) done(new EgressRefusedError(PRIVATE), []);
  else
    void resolveByServers(hostname, servers).then(
      (addresses) => done(addresses.length === 0 ? unresolved() : null, addresses),
      () => done(unresolved(), []),
    );
}

const unresolved = () => Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });

/**
 * Resolves a name for a connection, and refuses it when any of its addresses is not public: the connection goes to the
 * addresses that were looked at, so that the name cannot mean something else a moment later. `servers` stand in for the
 * name servers of the system.
 */
export function guardedLookup(rules: EgressRules, servers?: readonly string[]): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, rules, servers, (error, addresses) => {
      const first = addresses[0];
      if (error !== null) done(error, "");
      else if (first === undefined) done(unresolved(), "");
      else if (rules !== "anywhere" && !addresses.every(({ address }) => isPublicAddress(address)))
        done(new EgressRefusedError(PRIVATE), "");
      else if (options.all === true) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
}
