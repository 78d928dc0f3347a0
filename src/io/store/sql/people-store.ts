import type { ExpressionBuilder, Kysely, Selectable } from "kysely";
import { z } from "zod";
import {
  type AccountLink,
  LINK_KINDS,
  type PeopleStore,
  type PersonRecord,
  type PersonSession,
  type PersonSummary,
  RESET_IDENTIFIER_PREFIX,
  type SessionWithPerson,
} from "../../../domain/tenancy/person.ts";
import { ROLES } from "../../../domain/tenancy/workspace.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import { currentEpoch } from "./people-epoch.ts";
import type { PeopleTables } from "./people-schema.ts";
import type { Database } from "./schema.ts";

/** The provider id of password accounts. */
export const PASSWORD_PROVIDER = "credential";

export const toIso = (ms: number): string => new Date(Math.trunc(ms)).toISOString();

export function peopleStore(db: Kysely<Database>): PeopleStore {
  return {
    epoch: () => currentEpoch(db),
    async person(id) {
      const row = await db.selectFrom("people").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? undefined : toPerson(row);
    },
    async personByEmail(email) {
      const row = await db.selectFrom("people").selectAll().where("email", "=", email).executeTakeFirst();
      return row === undefined ? undefined : toPerson(row);
    },
    async list(limit, cursor) {
      const base = summaryQuery(db).orderBy("people.created_at", "desc").orderBy("people.id", "desc");
      const at = cursor === null ? undefined : await createdAt(db, cursor);
      const query =
        at === undefined || cursor === null
          ? base
          : base.where((eb) =>
              eb.or([
                eb("people.created_at", "<", at),
                eb.and([eb("people.created_at", "=", at), eb("people.id", "<", cursor)]),
              ]),
            );
      const rows = (await query.limit(limit + 1).execute()).map(toSummary);
      const page = rows.slice(0, limit);
      return { rows: page, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
    },
    async summary(id) {
      const row = await summaryQuery(db).where("people.id", "=", id).executeTakeFirst();
      return row === undefined ? undefined : toSummary(row);
    },
    async summariesByEmail(emails) {
      if (emails.length === 0) return [];
      return (await summaryQuery(db).where("people.email", "in", emails).execute()).map(toSummary);
    },
    async countOperators() {
      const row = await db
        .selectFrom("people")
        .select((eb) => eb.fn.countAll().as("people"))
        .where("operator", "=", 1)
        .where("disabled", "=", 0)
        .executeTakeFirst();
      return Number(row?.people ?? 0);
    },
    findSession: (tokenDigest) => findSession(db, tokenDigest),
    async sessions(userId, nowMs) {
      const rows = await db
        .selectFrom("people_sessions")
        .selectAll()
        .where("user_id", "=", userId)
        .where("expires_at", ">", toIso(nowMs))
        .orderBy("updated_at", "desc")
        .orderBy("id")
        .execute();
      return rows.map(toSession);
    },
    async passkeys(userId) {
      const rows = await db
        .selectFrom("people_passkeys")
        .select(["id", "name", "created_at", "backed_up"])
        .where("user_id", "=", userId)
        .orderBy("created_at", "desc")
        .orderBy("id")
        .execute();
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        createdAtMs: row.created_at === null ? null : Date.parse(row.created_at),
        backedUp: row.backed_up === 1,
      }));
    },
    async findLink(digest) {
      const row = await db.selectFrom("people_links").selectAll().where("digest", "=", digest).executeTakeFirst();
      return row === undefined ? undefined : toLink(row);
    },
    async invitations(workspaceId, limit) {
      const rows = await db
        .selectFrom("people_links")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("kind", "=", "invitation")
        .orderBy("created_at_ms", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map(toLink);
    },
    workspacesReferencing: (email) => workspacesMentioning(db, email),
    async extendSession(sessionId, seenAtMs, expiresAtMs) {
      await db
        .updateTable("people_sessions")
        .set({ updated_at: toIso(seenAtMs), expires_at: toIso(expiresAtMs) })
        .where("id", "=", sessionId)
        .execute();
    },
    consumeCode: (userId, code, nowMs, untilMs) =>
      claimCode(db, `used_${sha256Hex(`${userId} ${code}`)}`, nowMs, untilMs),
    findPendingUser: (identifier, nowMs) => findPendingUser(db, identifier, nowMs),
    async sweep(nowMs) {
      const now = toIso(nowMs);
      for (const table of ["people_sessions", "people_verifications", "people_devices"] as const)
        await db.deleteFrom(table).where("expires_at", "<", now).execute();
    },
  };
}

async function workspacesMentioning(db: Kysely<Database>, email: string): Promise<string[]> {
  const rows = await db
    .selectFrom("nodes")
    .select("workspace_id")
    .where("created_by", "=", email)
    .union(db.selectFrom("workspace_credentials").select("workspace_id").where("changed_by", "=", email))
    .union(db.selectFrom("custom_classes").select("workspace_id").where("changed_by", "=", email))
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/** One upsert, so that only one caller succeeds. Stored with the library's verifications, which are swept when expired. */
async function claimCode(db: Kysely<Database>, id: string, nowMs: number, untilMs: number): Promise<boolean> {
  const now = toIso(nowMs);
  const times = { created_at: now, updated_at: now, expires_at: toIso(untilMs) };
  const claimed = await db
    .insertInto("people_verifications")
    .values({ id, identifier: id, value: "used", ...times })
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet(times).where("people_verifications.expires_at", "<=", now),
    )
    .returning("id")
    .execute();
  return claimed.length > 0;
}

/** The library stores the person's id as the value of a pending verification. */
export function pendingVerificationOf(userId: string) {
  return ({ and, eb }: ExpressionBuilder<Database, "people_verifications">) =>
    and([eb("value", "=", userId), eb("identifier", "not like", `${RESET_IDENTIFIER_PREFIX}%`)]);
}

/** Revokes trusted devices, pending verifications and approved device codes of a person; returns how many. */
export async function revokePendingAndDevices(db: Kysely<Database>, userId: string): Promise<number> {
  const verifications = await db
    .deleteFrom("people_verifications")
    .where(pendingVerificationOf(userId))
    .executeTakeFirst();
  const devices = await db.deleteFrom("people_devices").where("user_id", "=", userId).executeTakeFirst();
  return Number(verifications.numDeletedRows + devices.numDeletedRows);
}

async function findPendingUser(db: Kysely<Database>, identifier: string, nowMs: number): Promise<string | undefined> {
  const query = db.selectFrom("people_verifications").select("value").where("identifier", "=", identifier);
  return (await query.where("expires_at", ">", toIso(nowMs)).executeTakeFirst())?.value;
}

export async function deleteResets(db: Kysely<Database>, userId: string): Promise<void> {
  const query = db.deleteFrom("people_verifications").where("value", "=", userId);
  await query.where("identifier", "like", `${RESET_IDENTIFIER_PREFIX}%`).execute();
}

async function findSession(db: Kysely<Database>, tokenDigest: string): Promise<SessionWithPerson | undefined> {
  const row = await db
    .selectFrom("people_sessions as session")
    .innerJoin("people as person", "person.id", "session.user_id")
    .select([
      "session.id",
      "session.user_id",
      "session.expires_at",
      "session.ip_address",
      "session.user_agent",
      "session.created_at",
      "session.updated_at",
      "person.email",
      "person.name",
      "person.operator",
      "person.disabled",
      "person.two_factor_enabled",
      "person.email_verified",
      "person.created_at as person_created_at",
    ])
    .where("session.token", "=", tokenDigest)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return { person: toPerson({ ...row, id: row.user_id, created_at: row.person_created_at }), session: toSession(row) };
}

function summaryQuery(db: Kysely<Database>) {
  return db
    .selectFrom("people")
    .selectAll("people")
    .select((eb) => [
      eb
        .selectFrom("people_passkeys")
        .select((inner) => inner.fn.countAll().as("passkeys"))
        .whereRef("people_passkeys.user_id", "=", "people.id")
        .as("passkeys"),
      eb
        .selectFrom("people_sessions")
        .select((inner) => inner.fn.max("people_sessions.updated_at").as("last_seen_at"))
        .whereRef("people_sessions.user_id", "=", "people.id")
        .as("last_seen_at"),
      eb
        .selectFrom("people_accounts")
        .select((inner) => inner.fn.countAll().as("passwords"))
        .whereRef("people_accounts.user_id", "=", "people.id")
        .where("people_accounts.provider_id", "=", PASSWORD_PROVIDER)
        .where("people_accounts.password", "is not", null)
        .as("passwords"),
    ]);
}

async function createdAt(db: Kysely<Database>, id: string): Promise<string | undefined> {
  const row = await db.selectFrom("people").select("created_at").where("id", "=", id).executeTakeFirst();
  return row?.created_at;
}

type PersonRow = Pick<
  Selectable<PeopleTables["people"]>,
  "id" | "email" | "name" | "operator" | "disabled" | "two_factor_enabled" | "email_verified" | "created_at"
>;

function toPerson(row: PersonRow): PersonRecord {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    operator: row.operator === 1,
    disabled: row.disabled === 1,
    twoFactor: row.two_factor_enabled === 1,
    emailVerified: row.email_verified === 1,
    createdAtMs: Date.parse(row.created_at),
  };
}

type SummaryPersonRow = PersonRow & {
  readonly passkeys: unknown;
  readonly passwords: unknown;
  readonly last_seen_at: string | null;
};

function toSummary(row: SummaryPersonRow): PersonSummary {
  return {
    ...toPerson(row),
    passkeys: Number(row.passkeys),
    hasPassword: Number(row.passwords) > 0,
    lastSeenAtMs: row.last_seen_at === null ? null : Date.parse(row.last_seen_at),
  };
}

function toSession(row: Omit<Selectable<PeopleTables["people_sessions"]>, "token">): PersonSession {
  return {
    id: row.id,
    userId: row.user_id,
    createdAtMs: Date.parse(row.created_at),
    lastSeenAtMs: Date.parse(row.updated_at),
    expiresAtMs: Date.parse(row.expires_at),
    address: row.ip_address,
    userAgent: row.user_agent,
  };
}

const LinkKindName = z.enum(LINK_KINDS);
const RoleName = z.enum(ROLES);

function toGrant({ role, day_nanos: dayNanos, month_nanos: monthNanos }: Selectable<PeopleTables["people_links"]>) {
  const isLimited = dayNanos !== null || monthNanos !== null;
  return { role: RoleName.parse(role), ...(isLimited ? { limits: { dayNanos, monthNanos } } : {}) };
}

function toLink(row: Selectable<PeopleTables["people_links"]>): AccountLink {
  return {
    id: row.id,
    kind: LinkKindName.parse(row.kind),
    digest: row.digest,
    email: row.email,
    membership: row.workspace_id === null ? null : { workspaceId: row.workspace_id, ...toGrant(row) },
    issuedBy: row.made_by,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    usedAtMs: row.used_at_ms,
    revokedAtMs: row.revoked_at_ms,
  };
}
