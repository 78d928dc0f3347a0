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

/** `pending` waits for an admin's approval; `deprecated` was rotated and works until its grace ends. */
export const KEY_STATES = ["pending", "active", "deprecated", "revoked"] as const;
export type KeyState = (typeof KEY_STATES)[number];

export type ApiKey = {
  readonly id: string;
  readonly workspaceId: string;
  /** The member a personal key belongs to. */
  readonly memberId: string | null;
  readonly name: string;
  readonly kind: KeyKind;
  readonly environment: Environment;
  /** SHA-256 of the key in hex: the key itself is kept nowhere. */
  readonly digest: string;
  readonly state: KeyState;
  readonly scopes: readonly Scope[] | null;
  readonly ipAllowlist: readonly string[] | null;
  readonly expiresAtMs: number | null;
  readonly graceUntilMs: number | null;
  readonly rpm: number | null;
  /** What the key demands on top of its workspace; null: nothing. */
  readonly policy: Partial<Policy> | null;
  /** Raised by every management change. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly rotatedFrom: string | null;
};

export function prefixOf(key: Pick<ApiKey, "kind" | "environment">): string {
  return KEY_PREFIXES[key.kind][key.environment];
}

/** Who is calling: a key that was found, with what its workspace says of it. */
export type Principal = {
  readonly key: ApiKey;
  readonly workspace: Workspace;
  readonly member: Member | undefined;
  readonly allowlist: AddressList | undefined;
};

/** Owners and admins, and who has a key of the workspace itself, hear of all its requests; a member of their own. */
export function maySeeRequestsOf({ member }: Principal, memberId: string | null | undefined): boolean {
  return member === undefined || member.role !== "member" || memberId === member.id;
}

export type KeyValidity = "valid" | "invalid" | "expired";

/** A key's state and the time decide together; revoked and pending keys do not exist for a caller. */
export function keyValidityOf(key: ApiKey, nowMs: number): KeyValidity {
  if (key.state === "revoked" || key.state === "pending") return "invalid";
  if (key.expiresAtMs !== null && nowMs >= key.expiresAtMs) return "expired";
  if (key.state === "deprecated" && key.graceUntilMs !== null && nowMs >= key.graceUntilMs) return "expired";
  return "valid";
}
