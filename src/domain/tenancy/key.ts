import type { AddressList } from "../../kit/cidr.ts";
import type { Policy } from "./policy.ts";
import type { Member, Workspace } from "./workspace.ts";

export const ENVIRONMENTS = ["live", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const SCOPES = [
  "inference:chat",
  "inference:messages",
  "inference:embeddings",
  "inference:rerank",
  "inference:moderations",
  "inference:images",
  "inference:audio",
  "inference:models",
  "inference:decisions",
  "inference:batches",
] as const;
export type Scope = (typeof SCOPES)[number];

export const KEY_PREFIXES = {
  workspace: { live: "sk_svc_live_", test: "sk_svc_test_" },
  personal: { live: "sk_svc_user_live_", test: "sk_svc_user_test_" },
} as const;
export type KeyKind = keyof typeof KEY_PREFIXES;

/** `pending` waits for an admin's approval; `deprecated` was rotated and is valid until its grace period ends. */
export const KEY_STATES = ["pending", "active", "deprecated", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** `playground`: issued to the portal for a signed-in person; short-lived and not listed among the keys. */
export const KEY_PURPOSES = ["playground"] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

export type ApiKey = {
  readonly id: string;
  readonly workspaceId: string;
  /** The owner of a personal key. */
  readonly memberId: string | null;
  readonly name: string;
  readonly kind: KeyKind;
  readonly environment: Environment;
  /** SHA-256 of the key in hex; the key itself is not stored. */
  readonly digest: string;
  readonly state: KeyState;
  readonly scopes: readonly Scope[] | null;
  readonly ipAllowlist: readonly string[] | null;
  readonly expiresAtMs: number | null;
  readonly graceUntilMs: number | null;
  readonly rpm: number | null;
  /** Tightens the workspace's policy; null: adds nothing. */
  readonly policy: Partial<Policy> | null;
  /** Incremented by every management change. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly rotatedFrom: string | null;
  /** Absent: an API key that people or programs hold. */
  readonly purpose?: KeyPurpose | undefined;
};

export function prefixOf(key: Pick<ApiKey, "kind" | "environment">): string {
  return KEY_PREFIXES[key.kind][key.environment];
}

/** The first key of a rotation chain. */
export function rotationRoot(keyId: string, keys: ReadonlyMap<string, ApiKey>): string {
  let id = keyId;
  // Bounded by the number of keys, in case rows reference each other in a cycle.
  for (let step = 0; step < keys.size; step += 1) {
    const before = keys.get(id)?.rotatedFrom ?? null;
    if (before === null) return id;
    id = before;
  }
  return id;
}

/** The caller of the inference API: a key with its workspace and member. */
export type Principal = {
  readonly key: ApiKey;
  readonly workspace: Workspace;
  readonly member: Member | undefined;
  readonly allowlist: AddressList | undefined;
};

/** Workspace keys, owners and admins see all requests of the workspace; members see their own. */
export function maySeeRequestsOf({ member }: Principal, memberId: string | null | undefined): boolean {
  return member === undefined || member.role !== "member" || memberId === member.id;
}
