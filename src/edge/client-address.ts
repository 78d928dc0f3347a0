import type { Socket } from "node:net";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { canonicalAddress } from "../kit/cidr.ts";
import type { EdgeDeps } from "./edge-deps.ts";

type ProxyTrust = Pick<EdgeDeps, "trustedProxies" | "onUntrustedForward">;

/** Matches no allowlist; all unknown callers share one rate limit. */
const UNKNOWN_ADDRESS = "unknown";

export function peerAddress({ remoteAddress }: Socket): string {
  return canonicalAddress(remoteAddress ?? "") ?? UNKNOWN_ADDRESS;
}

/** The peer address, or behind trusted proxies the forwarded one. */
export function clientAddress(
  { headers }: Pick<InboundHttpRequest, "headers">,
  peer: string,
  trust: ProxyTrust,
): string {
  const header = headers["x-forwarded-for"];
  return header === undefined ? peer : forwardedAddress(String(header), peer, trust);
}

/**
 * The rightmost untrusted address of `X-Forwarded-For`. An unreadable entry yields an unknown address: falling back to the
 * proxy's address would pass allowlists that contain the proxy.
 */
export function forwardedAddress(
  header: string,
  peer: string,
  { trustedProxies: trusted, onUntrustedForward }: ProxyTrust,
): string {
  if (trusted === undefined || !trusted.has(peer)) {
    onUntrustedForward(peer);
    return peer;
  }
  let address = peer;
  for (const hop of header.split(",").toReversed()) {
    address = canonicalAddress(stripPort(hop)) ?? UNKNOWN_ADDRESS;
    if (!trusted.has(address)) break;
  }
  return address;
}

/** Some proxies write the port as well: `203.0.113.7:50412`, `[2001:db8::1]:50412`. */
function stripPort(hop: string): string {
  return hop.trim().replace(/^(\d+\.\d+\.\d+\.\d+|\[.*\]):\d+$/, "$1");
}
