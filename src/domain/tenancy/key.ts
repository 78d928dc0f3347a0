import type { AddressList } from "../../kit/cidr.ts";
import type { Policy } from "./policy.ts";
import type { Member, Workspace } from "./workspace.ts";

export const ENVIRONMENTS = ["live", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const SCOPES = [
  "inference:chat",
  "inference:messages",
  "inference:embeddings",
  "inference:audio",
  "inference:models",
  "inference:decisions",
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
};

export function prefixOf(key: Pick<ApiKey, "kind" | "environment">): string {
  return KEY_PREFIXES[key.kind][key.environment];
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
