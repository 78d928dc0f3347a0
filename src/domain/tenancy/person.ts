import type { Person } from "./actor.ts";
import type { Role } from "./workspace.ts";

/** A person as they are kept. */
export type PersonRecord = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operator: boolean;
  /** Can not sign in, and has no session. */
  readonly disabled: boolean;
  readonly twoFactor: boolean;
  /** Nobody else can have made the account in their name. */
  readonly emailVerified: boolean;
  readonly createdAtMs: number;
};

/** Where the address of somebody stood who was erased: their id stays, and nobody can have mail at `.invalid`. */
export const erasedAddress = (id: string): string => `erased-${id}@erased.invalid`;

export const isErased = ({ id, email }: Pick<PersonRecord, "id" | "email">): boolean => email === erasedAddress(id);

/** A person with what a list of people shows. */
export type PersonSummary = PersonRecord & {
  readonly passkeys: number;
  readonly hasPassword: boolean;
  /** When a session of theirs was last used; null: they have none. */
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

/** Who holds a session, and the session. */
export type SessionWithPerson = { readonly person: PersonRecord; readonly session: PersonSession };

/** What the library of sign-in keeps of a link to a new password begins with this, and is no name that it looks for. */
export const RESET_IDENTIFIER_PREFIX = "reset:";

export const LINK_KINDS = ["setup", "invitation", "sign_up", "reset"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** A link that is good once: the token in it is kept as its digest only. */
export type AccountLink = {
  readonly id: string;
  readonly kind: LinkKind;
  readonly digest: string;
  readonly email: string | null;
  /** Where an invitation leads to, and as what; in which workspace a link to a new password was made, and of whom. */
  readonly membership: { readonly workspaceId: string; readonly role: Role } | null;
  /** In the words of the audit log; with which operator token, if with one. */
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
  /** As it is kept; null: they sign in in another way. */
  readonly passwordHash: string | null;
  readonly createdAtMs: number;
};

export type NewSession = PersonSession & { readonly tokenDigest: string };

export type PeopleStore = {
  /**
   * The newest of the epochs, which are counted over all people. One begins with each change that takes away what somebody
   * signs in with; what signs in, and began in an earlier one, writes nothing for that person.
   */
  epoch(): Promise<number>;
  person(id: string): Promise<PersonRecord | undefined>;
  personByEmail(email: string): Promise<PersonRecord | undefined>;
  /** Newest first; all that have an id before the cursor. */
  list(limit: number, cursor: string | null): Promise<{ rows: PersonSummary[]; next: string | null }>;
  summary(id: string): Promise<PersonSummary | undefined>;
  /** Those of the addresses that belong to somebody. */
  summariesByEmail(emails: readonly string[]): Promise<PersonSummary[]>;
  countOperators(): Promise<number>;
  /** By the digest of its token; whether it is over is for the caller to see. */
  findSession(tokenDigest: string): Promise<SessionWithPerson | undefined>;
  sessions(userId: string, nowMs: number): Promise<PersonSession[]>;
  passkeys(userId: string): Promise<Passkey[]>;
  findLink(digest: string): Promise<AccountLink | undefined>;
  /** Whose new password a link sets, by what is kept of it; undefined: nobody's any more. */
  findPasswordResetUser(identifier: string, nowMs: number): Promise<string | undefined>;
  /** Newest first. */
  invitations(workspaceId: string, limit: number): Promise<AccountLink[]>;
  /** Workspaces in which a node or a provider key names this address as who made or changed it. */
  workspacesReferencing(email: string): Promise<string[]>;
  extendSession(sessionId: string, seenAtMs: number, expiresAtMs: number): Promise<void>;
  /** Takes a code that signed a person in; false: it was taken before, wherever that was, and is not over. */
  consumeCode(userId: string, code: string, nowMs: number, untilMs: number): Promise<boolean>;
  /** What is over leaves. */
  sweep(nowMs: number): Promise<void>;
};

/** Changes that are written together with their line in the audit log. Those that can begin an epoch hold the person first. */
export type PeopleWriter = {
  addPerson(person: NewPerson): Promise<void>;
  rename(id: string, name: string, nowMs: number): Promise<void>;
  setOperator(id: string, operator: boolean, nowMs: number): Promise<void>;
  /** Sessions and links to a new password end when it is, and an epoch begins. */
  setDisabled(id: string, disabled: boolean, nowMs: number): Promise<void>;
  /** From then on it is asked for. An epoch begins, and is answered; undefined: the one that waits has another secret by now. */
  confirmSecondFactor(id: string, secret: string, nowMs: number): Promise<number | undefined>;
  /** And devices that need no code for a while. An epoch begins, and is answered. */
  dropSecondFactor(id: string, nowMs: number): Promise<number | undefined>;
  /**
   * Ends all sessions, devices that need no code for a while and links to a new password. An epoch begins, and is
   * answered; undefined: one has begun since `asOf`, and nothing was changed.
   */
  changePassword(id: string, hash: string, asOf: number, nowMs: number): Promise<number | undefined>;
  /** The same by a link, and without passkeys. False: the link is not good any more, and all of it must be undone. */
  resetPassword(id: string, identifier: string, hash: string, nowMs: number): Promise<boolean>;
  /** Keeps a link to a new password. */
  addPasswordReset(id: string, userId: string, identifier: string, nowMs: number, expiresAtMs: number): Promise<void>;
  /**
   * Password, passkeys, second factor and sessions, and links made in their name or to a new password: whoever made them
   * comes in no more. What was accepted in their name counts as not accepted. The address counts as proven. Answers the
   * epoch that begins.
   */
  resetCredentials(person: Pick<PersonRecord, "id" | "email">, nowMs: number): Promise<number | undefined>;
  /** Somebody else can have set what signs in to it. */
  markEmailUnverified(id: string, nowMs: number): Promise<void>;
  /** Nodes and provider keys of a workspace name nobody any more in the place of a person's address. */
  eraseReferences(workspaceId: string, person: Pick<PersonRecord, "id" | "email">): Promise<void>;
  /**
   * Leaves the id of an account that is disabled: no name, no address, nothing to sign in with. Links to the address end,
   * and links and the platform's keys name nobody in its place.
   */
  erase(person: Pick<PersonRecord, "id" | "email">, nowMs: number): Promise<void>;
  addSession(session: NewSession): Promise<void>;
  /**
   * Whether a person has the session, and is in no later epoch than `asOf`. Until the change is over, nothing of theirs is
   * begun or ended beside it.
   */
  lockSession(userId: string, sessionId: string, asOf?: number): Promise<boolean>;
  /**
   * All of a person's, devices that need no code for a while, and those that were allowed and have no session yet. An
   * epoch begins. Answers how many sessions ended.
   */
  endSessions(userId: string): Promise<number>;
  /** The same but for one session; an epoch begins where there was something to end. */
  endOtherSessions(userId: string, except: string): Promise<number>;
  /** One alone, and all devices of theirs. Whether there was one: only then an epoch begins. */
  endSession(userId: string, sessionId: string): Promise<boolean>;
  /** Ids of a person's sessions that began after one of theirs, and of sign-ins that wait for a code since then. */
  startedAfter(userId: string, sessionId: string, nowMs: number): Promise<{ sessions: string[]; codes: string[] }>;
  addLink(link: AccountLink): Promise<void>;
  /** False: it was used, revoked or over before. */
  consumeLink(id: string, nowMs: number): Promise<boolean>;
  revokeLink(id: string, nowMs: number): Promise<boolean>;
  /** Those of a kind that are open, of one address where one is given; answers their ids. */
  revokeLinks(kind: LinkKind, email: string | null, workspaceId: string | null, nowMs: number): Promise<string[]>;
};

export function personFromSession({ person, session }: SessionWithPerson, via: Person["via"]): Person {
  const { id: userId, email, name, operator } = person;
  return { userId, email, name, operator, sessionId: session.id, signedInAtMs: session.createdAtMs, via };
}
