import type { Socket } from "node:net";
import type { Incoming } from "../http1/server/server-message.ts";
import { type AddressList, canonicalAddress } from "../kit/cidr.ts";

/** On no allowlist, and one caller for every limit. */
const UNKNOWN = "unknown";

/** Who is at the other end of the connection. */
export function peerAddress({ remoteAddress }: Socket): string {
  return canonicalAddress(remoteAddress ?? "") ?? UNKNOWN;
}

/**
 * The caller's address: the socket's peer, unless that is a trusted proxy. Then the forwarded list is read from the
 * right, and the first address that is no trusted proxy counts. A place that cannot be read stands for a caller that is
 * not known: taking the proxy's own address for it would let it in wherever the proxy's network is allowed.
 */
export function clientAddress(request: Incoming, peer: string, trusted: AddressList | undefined): string {
  if (trusted === undefined || !trusted.has(peer)) return peer;
  const header = request.headers["x-forwarded-for"];
  if (header === undefined) return peer;
  let address = peer;
  for (const hop of String(header).split(",").toReversed()) {
    address = canonicalAddress(withoutPort(hop)) ?? UNKNOWN;
    if (!trusted.has(address)) break;
  }
  return address;
}

/** Some proxies write the port as well: `203.0.113.7:50412`, `[2001:db8::1]:50412`. */
function withoutPort(hop: string): string {
  return hop.trim().replace(/^(\d+\.\d+\.\d+\.\d+|\[.*\]):\d+$/, "$1");
}
