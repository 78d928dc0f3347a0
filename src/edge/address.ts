import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type AddressList, canonicalAddress } from "../kit/cidr.ts";

/** Who is at the other end of the connection. */
export function peerAddress({ remoteAddress }: Socket): string {
  return canonicalAddress(remoteAddress ?? "") ?? "unknown";
}

/**
 * The caller's address: the socket's peer, unless that is a trusted proxy. Then the forwarded list is read from the
 * right, and the first address that is no trusted proxy counts. Anything unreadable stops the walk at what is known.
 */
export function clientAddress(request: IncomingMessage, peer: string, trusted: AddressList | undefined): string {
  if (trusted === undefined || !trusted.has(peer)) return peer;
  const header = request.headers["x-forwarded-for"];
  const hops = (typeof header === "string" ? header : (header ?? []).join(",")).split(",");
  let address = peer;
  for (const hop of hops.toReversed()) {
    const next = canonicalAddress(hop);
    if (next === undefined) break;
    address = next;
    if (!trusted.has(next)) break;
  }
  return address;
}
