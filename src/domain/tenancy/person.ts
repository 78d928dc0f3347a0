import type { Person } from "./actor.ts";
import type { SpendAmounts } from "./limits.ts";
import type { Role } from "./workspace.ts";

/** A person's account. */
export type PersonRecord = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operator: boolean;
  /** Cannot sign in and has no sessions. */
  readonly disabled: boolean;
  readonly twoFactor: boolean;
  /** The owner of the address created the account or has signed in through SSO; an admin's link does not prove that. */
  readonly emailVerified: boolean;
  readonly createdAtMs: number;
};

/** Replaces the address of an erased account; no mail can be delivered to `.invalid` (RFC 2606). */
export const erasedAddress = (id: string): string => `erased-${id}@erased.invalid`;

export const isErased = ({ id, email }: Pick<PersonRecord, "id" | "email">): boolean => email === erasedAddress(id);

/** A person with the fields of account lists. */
export type PersonSummary = PersonRecord & {
  readonly passkeys: number;
  readonly hasPassword: boolean;
  /** The last use of any session; null: no session exists. */
  readonly lastSeenAtMs: number | null;
};

export type PersonSession = {
  readonly id: string;
  readonly userId: string;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  readonly expiresAtMs: number;
  readonly address: string | null;
  readonly userAgent: string | null;
};

export type Passkey = {
  readonly id: string;
  readonly name: string | null;
  readonly createdAtMs: number | null;
  readonly backedUp: boolean;
};

export type SessionWithPerson = { readonly person: PersonRecord; readonly session: PersonSession };

/** Prefix of stored password-reset identifiers. */
export const RESET_IDENTIFIER_PREFIX = "reset:";

export const LINK_KINDS = ["setup", "invitation", "sign_up", "reset"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** A single-use link; only the digest of its token is stored. */
export type AccountLink = {
  readonly id: string;
  readonly kind: LinkKind;
  readonly digest: string;
  readonly email: string | null;
  /** The membership that an invitation grants, or that an admin's reset link was issued for. */
  readonly membership: {
    readonly workspaceId: string;
    readonly role: Role;
    /** Spend limits that the member gets on joining. */
    readonly limits?: SpendAmounts | undefined;
  } | null;
  /** The issuer's audit name; for the operator token with a digest of it. */
  readonly issuedBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly usedAtMs: number | null;
  readonly revokedAtMs: number | null;
};

export type NewPerson = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operator: boolean;
  readonly emailVerified: boolean;
  /** Null: the account has no password. */
  readonly passwordHash: string | null;
  readonly createdAtMs: number;
};

export type NewSession = PersonSession & { readonly tokenDigest: string };

export type PeopleStore = {
  /**
   * The newest credential epoch, counted over all people. Every change that revokes a credential starts an epoch for its
   * person; a sign-in request that started before it must not write for that person.
   */
  epoch(): Promise<number>;
  person(id: string): Promise<PersonRecord | undefined>;
  personByEmail(email: string): Promise<PersonRecord | undefined>;
  /** Newest first, starting after the cursor. */
  list(limit: number, cursor: string | null): Promise<{ rows: PersonSummary[]; next: string | null }>;
  summary(id: string): Promise<PersonSummary | undefined>;
  summariesByEmail(emails: readonly string[]): Promise<PersonSummary[]>;
  countOperators(): Promise<number>;
  /** By token digest; may be expired. */
  findSession(tokenDigest: string): Promise<SessionWithPerson | undefined>;
  sessions(userId: string, nowMs: number): Promise<PersonSession[]>;
  passkeys(userId: string): Promise<Passkey[]>;
  findLink(digest: string): Promise<AccountLink | undefined>;
  /** The user of a stored reset or challenge identifier; undefined: unknown or expired. */
  findPendingUser(identifier: string, nowMs: number): Promise<string | undefined>;
  /** Newest first. */
  invitations(workspaceId: string, limit: number): Promise<AccountLink[]>;
  /** Workspaces whose nodes or provider keys name this address as their creator or editor. */
  workspacesReferencing(email: string): Promise<string[]>;
  extendSession(sessionId: string, seenAtMs: number, expiresAtMs: number): Promise<void>;
  /** Marks a TOTP code as used until it expires; false: it was used before, on any instance. */
  consumeCode(userId: string, code: string, nowMs: number, untilMs: number): Promise<boolean>;
  /** Deletes expired sessions, links and codes. */
  sweep(nowMs: number): Promise<void>;
};

/** Changes inside a transaction with their audit entry. Those that can start an epoch lock the person's row first. */
export type PeopleWriter = {
  addPerson(person: NewPerson): Promise<void>;
  rename(id: string, name: string, nowMs: number): Promise<void>;
  setOperator(id: string, operator: boolean, nowMs: number): Promise<void>;
  /** Disabling ends sessions and reset links and starts an epoch. */
  setDisabled(id: string, disabled: boolean, nowMs: number): Promise<void>;
  /** Activates the factor and returns the epoch that starts; undefined: the pending factor was replaced meanwhile. */
  confirmSecondFactor(id: string, secret: string, nowMs: number): Promise<number | undefined>;
  /** Also removes trusted devices. Returns the epoch that starts. */
  dropSecondFactor(id: string, nowMs: number): Promise<number | undefined>;
  /**
   * Ends all sessions, trusted devices and reset links. Returns the epoch that starts; undefined: an epoch started after
   * `asOf`, and nothing changed.
   */
  changePassword(id: string, hash: string, asOf: number, nowMs: number): Promise<number | undefined>;
  /** The same through a link; also removes passkeys. False: the link is invalid, and the transaction must roll back. */
  resetPassword(id: string, identifier: string, hash: string, nowMs: number): Promise<boolean>;
  /** Stores a password-reset link. */
  addPasswordReset(id: string, userId: string, identifier: string, nowMs: number, expiresAtMs: number): Promise<void>;
  /**
   * Removes password, passkeys, second factor and sessions, the links that the account issued and its reset links. Accepted
   * invitations become unaccepted, and the address becomes verified. Returns the epoch that starts.
   */
  resetCredentials(person: Pick<PersonRecord, "id" | "email">, nowMs: number): Promise<number | undefined>;
  /** Another person may have set the credentials. */
  markEmailUnverified(id: string, nowMs: number): Promise<void>;
  /** Removes the address from a workspace's nodes and provider keys. */
  eraseReferences(workspaceId: string, person: Pick<PersonRecord, "id" | "email">): Promise<void>;
  /** Reduces a disabled account to its id, revokes its links and removes the address from links and platform keys. */
  erase(person: Pick<PersonRecord, "id" | "email">, nowMs: number): Promise<void>;
  addSession(session: NewSession): Promise<void>;
  /** Locks the person for this transaction; false: the session ended, or an epoch started after `asOf`. */
  lockSession(userId: string, sessionId: string, asOf?: number): Promise<boolean>;
  /** Also ends trusted devices and approved device codes, and starts an epoch. Returns the number of ended sessions. */
  endSessions(userId: string): Promise<number>;
  /** The same except for one session; starts an epoch only if something ended. */
  endOtherSessions(userId: string, except: string): Promise<number>;
  /** Ends one session and all trusted devices, and starts an epoch. False: no such session. */
  endSession(userId: string, sessionId: string): Promise<boolean>;
  /** Ids of the person's newer sessions, and of newer sign-ins that wait for a second factor. */
  startedAfter(userId: string, sessionId: string, nowMs: number): Promise<{ sessions: string[]; codes: string[] }>;
  addLink(link: AccountLink): Promise<void>;
  /** False: already used, revoked or expired. */
  consumeLink(id: string, nowMs: number): Promise<boolean>;
  revokeLink(id: string, nowMs: number): Promise<boolean>;
  /** Revokes open links of a kind, of one address if given; returns their ids. */
  revokeLinks(kind: LinkKind, email: string | null, workspaceId: string | null, nowMs: number): Promise<string[]>;
};

export function personFromSession({ person, session }: SessionWithPerson, via: Person["via"]): Person {
  const { id: userId, email, name, operator } = person;
  return { userId, email, name, operator, sessionId: session.id, signedInAtMs: session.createdAtMs, via };
}
