import type { ManagementToken } from "./token.ts";
import type { Role } from "./workspace.ts";

/** A signed-in person; memberships belong to the email address. */
export type Person = {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  /** Has all permissions in every workspace. */
  readonly operator: boolean;
  readonly sessionId: string;
  readonly signedInAtMs: number;
  /** Browsers attach a cookie to requests of any page, so cookie sessions need a CSRF check. */
  readonly via: "cookie" | "bearer";
};

/** An authenticated caller of the management API. */
export type Actor =
  | { readonly is: "operator" }
  | { readonly is: "person"; readonly person: Person }
  | { readonly is: "token"; readonly token: ManagementToken };

/** An actor's role in the workspace that a request is about; the operator needs none. */
export type Membership = {
  readonly workspaceId: string;
  readonly role: Role;
  /** Null: a management token, which belongs to no member. */
  readonly memberId: string | null;
};

const RANKS: Readonly<Record<Role, number>> = { member: 1, admin: 2, owner: 3 };

export function isAtLeast(role: Role, required: Role): boolean {
  return RANKS[role] >= RANKS[required];
}

export function isOperatorActor(actor: Actor): boolean {
  return actor.is === "operator" || (actor.is === "person" && actor.person.operator);
}

/** The actor's name in the audit log. */
export function auditNameOf(actor: Actor): string {
  switch (actor.is) {
    case "operator":
      return "operator";
    case "person":
      return actor.person.email;
    case "token":
      return `token:${actor.token.id}`;
  }
}
