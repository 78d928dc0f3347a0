import type { ManagementToken } from "./token.ts";
import type { Role } from "./workspace.ts";

/** Someone who has signed in; memberships hang on their address. */
export type Person = {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  /** May do everything, in every workspace. */
  readonly operator: boolean;
  readonly sessionId: string;
  /** When the session began. */
  readonly signedInAtMs: number;
  /** A cookie is sent by whatever page a browser shows; a bearer only by who has it. */
  readonly via: "cookie" | "bearer";
};

/** Who calls the management API. */
export type Actor =
  | { readonly is: "operator" }
  | { readonly is: "person"; readonly person: Person }
  | { readonly is: "token"; readonly token: ManagementToken };

/** What an actor is in the workspace that a call is about; the operator needs none. */
export type Membership = {
  readonly workspaceId: string;
  readonly role: Role;
  /** The membership; null: a token, which is nobody's. */
  readonly memberId: string | null;
};

const RANKS: Readonly<Record<Role, number>> = { member: 1, admin: 2, owner: 3 };

export function isAtLeast(role: Role, required: Role): boolean {
  return RANKS[role] >= RANKS[required];
}

export function isOperatorActor(actor: Actor): boolean {
  return actor.is === "operator" || (actor.is === "person" && actor.person.operator);
}

/** How the audit log calls them. */
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
