import { lookup as resolveName } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { addressList, canonicalAddress } from "../../kit/cidr.ts";

/** What an address that a workspace chose may be. `anywhere` is for development: plain HTTP and private networks too. */
export type EgressRules = "public_https" | "anywhere";

/** Networks that are no part of the public internet, or lead back into a private one by another name. */
const CLOSED = addressList([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
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
export class EgressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EgressRefused";
  }
}

const URL_CHARS_MAX = 2048;

/** An address that a workspace chose, or what is wrong with it. Names are resolved when they are connected to. */
export function readEgressUrl(text: string, rules: EgressRules): URL | { readonly problem: string } {
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

/**
 * Resolves a name for a connection, and refuses it when any of its addresses is not public: the connection goes to the
 * addresses that were looked at, so that the name cannot mean something else a moment later.
 */
export function guardedLookup(rules: EgressRules): LookupFunction {
  return (hostname, options, done) => {
    resolveName(hostname, { ...options, all: true }, (error, addresses) => {
      const first = addresses?.[0];
      if (error !== null) done(error, "");
      else if (first === undefined) done(new EgressRefused("the name has no address"), "");
      else if (rules !== "anywhere" && !addresses.every(({ address }) => isPublicAddress(address)))
        done(new EgressRefused(PRIVATE), "");
      else if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
