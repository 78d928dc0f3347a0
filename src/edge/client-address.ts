import type { Socket } from "node:net";
import type { InboundHttpRequest } from "../http1/server/server-message.ts";
import { type AddressList, canonicalAddress } from "../kit/cidr.ts";

/** Matches no allowlist; all unknown callers share one rate limit. */
const UNKNOWN_ADDRESS = "unknown";

export function peerAddress({ remoteAddress }: Socket): string {
  return canonicalAddress(remoteAddress ?? "") ?? UNKNOWN_ADDRESS;
}

/**
 * Returns the peer address, or behind trusted proxies the rightmost untrusted address of `X-Forwarded-For`. An unreadable
 * entry yields an unknown address: falling back to the proxy's address would pass allowlists that contain the proxy.
 */
export function clientAddress(request: InboundHttpRequest, peer: string, trusted: AddressList | undefined): string {
  if (trusted === undefined || !trusted.has(peer)) return peer;
  const header = request.headers["x-forwarded-for"];
  if (header === undefined) return peer;
  let address = peer;
  for (const hop of String(header).split(",").toReversed()) {
    address = canonicalAddress(stripPort(hop)) ?? UNKNOWN_ADDRESS;
    if (!trusted.has(address)) break;
  }
  return address;
}

/** Some proxies write the port as well: `203.0.113.7:50412`, `[2001:db8::1]:50412`. */
function stripPort(hop: string): string {
  return hop.trim().replace(/^(\d+\.\d+\.\d+\.\d+|\[.*\]):\d+$/, "$1");
}
