import { hkdfSync } from "node:crypto";
import type { MasterKeys } from "../master-keys.ts";

/** Pre-shared keys that instances of one gateway authenticate with; derived from its master keys for this purpose only. */
export type PeerKeys = {
  /** Ids of the available keys, the preferred one first. */
  ids(): readonly string[];
  find(id: string): Buffer | undefined;
};

const KEY_LABEL = "inference gateway: between its instances";
const KEY_BYTES = 32;

export function derivePeerKeys(keys: Pick<MasterKeys, "current" | "previous" | "find">): PeerKeys {
  return {
    ids: () => [keys.current, ...keys.previous].map(({ id }) => id),
    find(id) {
      const key = keys.find(id);
      return key === undefined ? undefined : Buffer.from(hkdfSync("sha256", key.bytes, "", KEY_LABEL, KEY_BYTES));
    },
  };
}

/**
 * TLS-PSK with forward secrecy and without certificates. Limited to a cipher suite that requires the key: TLS 1.3 would
 * fall back to a certificate.
 */
export const PEER_TLS = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
} as const;

/** Headers between instances that name the target node; they are removed before the request reaches it. */
export const PEER_NODE_HEADER = "x-peer-node";
export const PEER_WORKSPACE_HEADER = "x-peer-workspace";

/**
 * Reset codes of a stopping instance: before any byte reached the node (`unsent`), or after (`cut`). They are not HTTP/2's
 * own codes, which broken connections use too; a peer that does not know them treats them as a broken connection.
 */
export const PEER_STOPPING_CODES = { unsent: 0x53544f50, cut: 0x53544f51 } as const;

/** For responses to slow clients; the window of each stream limits them long before. */
export const PEER_SESSION_MEMORY_MB = 512;
