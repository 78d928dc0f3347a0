import { hkdfSync } from "node:crypto";
import type { MasterKeys } from "../master-keys.ts";

/** What instances prove to each other that they are of one gateway: made from its master keys, and of use for nothing else. */
export type PeerKeys = {
  /** Names of those that this instance has; the one that it would rather use comes first. */
  ids(): readonly string[];
  find(id: string): Buffer | undefined;
};

const LABEL = "inference gateway: between its instances";
const KEY_BYTES = 32;

export function derivePeerKeys(keys: Pick<MasterKeys, "current" | "previous" | "find">): PeerKeys {
  return {
    ids: () => [keys.current, ...keys.previous].map(({ id }) => id),
    find(id) {
      const key = keys.find(id);
      return key === undefined ? undefined : Buffer.from(hkdfSync("sha256", key.bytes, "", LABEL, KEY_BYTES));
    },
  };
}

/**
 * TLS whose two sides show that they have the same key: no certificates, and a fresh secret for every connection. Kept to
 * suites that cannot be spoken without the key; newer versions of TLS would fall back to a certificate.
 */
export const PEER_TLS = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
} as const;

/** Of a request between instances: whose node it is for. Neither goes on to the node. */
export const PEER_NODE_HEADER = "x-peer-node";
export const PEER_WORKSPACE_HEADER = "x-peer-workspace";

/**
 * How an instance that stops ends what others asked for there: before anything of it went to the node, or after. No codes
 * of HTTP/2's own, which connections that break have as well; who does not know them takes them for such a break.
 */
export const PEER_STOPPING_CODES = { unsent: 0x53544f50, cut: 0x53544f51 } as const;

/** For answers that wait for a slow client; per stream the window holds them back long before. */
export const PEER_SESSION_MEMORY_MB = 512;
