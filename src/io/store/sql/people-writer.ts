import type { Kysely, Selectable } from "kysely";
import type { PeopleWriter } from "../../../domain/tenancy/person.ts";
import { beginEpoch, lockPerson } from "./people-epoch.ts";
import { erasureChanges } from "./people-erasing.ts";
import type { PeopleTables } from "./people-schema.ts";
import {
  deleteResets,
  PASSWORD_PROVIDER,
  pendingVerificationOf,
  revokePendingAndDevices,
  toIso,
} from "./people-store.ts";
import type { Database } from "./schema.ts";

/** A code is waited for within minutes, and a device needs none for weeks: by that they are told apart, whoever's clock it was. */
const CODE_TTL_MAX_MS = 3_600_000;

export function peopleWriter(db: Kysely<Database>): PeopleWriter {
  return {
    ...personChanges(db),
    ...passwordChanges(db),
    ...erasureChanges(db),
    ...sessionChanges(db),
    ...linkChanges(db),
  };
}

type WriterPart<Name extends keyof PeopleWriter> = Pick<PeopleWriter, Name>;

function personChanges(
  db: Kysely<Database>,
): WriterPart<
  | "addPerson"
  | "rename"
  | "setOperator"
  | "setDisabled"
  | "confirmSecondFactor"
  | "dropSecondFactor"
  | "startOver"
  | "setUnproven"
> {
  const change = async (
    id: string,
    set: Partial<
      Pick<
        Selectable<PeopleTables["people"]>,
        "name" | "operator" | "disabled" | "two_factor_enabled" | "email_verified"
      >
    >,
    nowMs: number,
  ) => {
    await db
      .updateTable("people")
      .set({ ...set, updated_at: toIso(nowMs) })
      .where("id", "=", id)
      .execute();
  };
  return {
    async addPerson({ id, email, name, operator, emailVerified, passwordHash, createdAtMs }) {
      const times = { created_at: toIso(createdAtMs), updated_at: toIso(createdAtMs) };
      const flags = {
        email_verified: emailVerified ? 1 : 0,
        two_factor_enabled: 0,
        operator: operator ? 1 : 0,
        disabled: 0,
      };
      await db
        .insertInto("people")
        .values({ id, email, name, image: null, ...flags, ...times })
        .execute();
      if (passwordHash !== null) await setPassword(db, id, passwordHash, createdAtMs);
    },
    rename: (id, name, nowMs) => change(id, { name }, nowMs),
    setOperator: (id, operator, nowMs) => change(id, { operator: operator ? 1 : 0 }, nowMs),
    async setDisabled(id, disabled, nowMs) {
      if (disabled) {
        await endSessions(db, id);
        await deleteResets(db, id);
      }
      await change(id, { disabled: disabled ? 1 : 0 }, nowMs);
    },
    async confirmSecondFactor(id, secret, nowMs) {
      const theirs = db.updateTable("people_two_factors").set({ verified: 1 }).where("user_id", "=", id);
      if ((await theirs.where("secret", "=", secret).executeTakeFirst()).numUpdatedRows === 0n) return undefined;
      const epoch = await beginEpoch(db, id);
      await change(id, { two_factor_enabled: 1 }, nowMs);
      return epoch;
    },
    async dropSecondFactor(id, nowMs) {
      const epoch = await beginEpoch(db, id);
      await db.deleteFrom("people_two_factors").where("user_id", "=", id).execute();
      await revokePendingAndDevices(db, id);
      await change(id, { two_factor_enabled: 0 }, nowMs);
      return epoch;
    },
    async resetCredentials({ id, email }, nowMs) {
      const epoch = await beginEpoch(db, id);
      for (const table of ["people_two_factors", "people_passkeys", "people_sessions"] as const)
        await db.deleteFrom(table).where("user_id", "=", id).execute();
      const ours = db.deleteFrom("people_accounts").where("user_id", "=", id);
      await ours.where("provider_id", "=", PASSWORD_PROVIDER).execute();
      await revokePendingAndDevices(db, id);
      await deleteResets(db, id);
      await revokeLinksOf(db, email, nowMs);
      await change(id, { two_factor_enabled: 0, email_verified: 1 }, nowMs);
      return epoch;
    },
    markEmailUnverified: (id, nowMs) => change(id, { email_verified: 0 }, nowMs),
  };
}

async function setPassword(db: Kysely<Database>, userId: string, password: string, nowMs: number): Promise<void> {
  const account = { id: `acc_${userId}`, user_id: userId, account_id: userId, provider_id: PASSWORD_PROVIDER };
  const written = { password, updated_at: toIso(nowMs) };
  await db
    .insertInto("people_accounts")
    .values({ ...account, ...written, created_at: toIso(nowMs) })
    .onConflict((conflict) => conflict.columns(["provider_id", "account_id"]).doUpdateSet(written))
    .execute();
}

function passwordChanges(db: Kysely<Database>): WriterPart<"changePassword" | "resetPassword" | "addReset"> {
  const replace = async (id: string, hash: string, nowMs: number) => {
    await setPassword(db, id, hash, nowMs);
    await db.deleteFrom("people_sessions").where("user_id", "=", id).execute();
    await revokePendingAndDevices(db, id);
    await deleteResets(db, id);
  };
  return {
    async changePassword(id, hash, asOf, nowMs) {
      const epoch = await beginEpoch(db, id, asOf);
      if (epoch !== undefined) await replace(id, hash, nowMs);
      return epoch;
    },
    async resetPassword(id, identifier, hash, nowMs) {
      await beginEpoch(db, id);
      const kept = db.deleteFrom("people_verifications").where("identifier", "=", identifier).where("value", "=", id);
      const { numDeletedRows } = await kept.where("expires_at", ">", toIso(nowMs)).executeTakeFirst();
      // Who gets an account back has it alone: a passkey that somebody else added would stay good for ever.
      await db.deleteFrom("people_passkeys").where("user_id", "=", id).execute();
      await replace(id, hash, nowMs);
      return numDeletedRows > 0n;
    },
    async addPasswordReset(id, userId, identifier, nowMs, expiresAtMs) {
      const times = { created_at: toIso(nowMs), updated_at: toIso(nowMs), expires_at: toIso(expiresAtMs) };
      await db
        .insertInto("people_verifications")
        .values({ id, identifier, value: userId, ...times })
        .execute();
    },
  };
}

/** Invitations that were accepted in a person's name, open links to a new password for them, and what they have made. */
async function revokeLinksOf(db: Kysely<Database>, email: string, nowMs: number): Promise<void> {
  await db
    .updateTable("people_links")
    .set({ revoked_at_ms: Math.trunc(nowMs) })
    .where("revoked_at_ms", "is", null)
    .where((eb) =>
      eb.or([
        eb.and([eb("email", "=", email), eb("kind", "=", "invitation"), eb("used_at_ms", "is not", null)]),
        eb.and([eb("email", "=", email), eb("kind", "=", "reset"), eb("used_at_ms", "is", null)]),
        eb.and([eb("made_by", "=", email), eb("used_at_ms", "is", null)]),
      ]),
    )
    .execute();
}

function sessionChanges(
  db: Kysely<Database>,
): WriterPart<"holdSession" | "addSession" | "endSessions" | "endOtherSessions" | "endSession" | "begunAfter"> {
  const theirs = (userId: string) => db.deleteFrom("people_sessions").where("user_id", "=", userId);
  return {
    async lockSession(userId, sessionId, asOf) {
      if (!(await lockPerson(db, userId, asOf))) return false;
      const own = db.selectFrom("people_sessions").select("id").where("id", "=", sessionId);
      return (await own.where("user_id", "=", userId).executeTakeFirst()) !== undefined;
    },
    async addSession({ id, userId, tokenDigest, createdAtMs, lastSeenAtMs, expiresAtMs, address, userAgent }) {
      await db
        .insertInto("people_sessions")
        .values({
          id,
          user_id: userId,
          token: tokenDigest,
          created_at: toIso(createdAtMs),
          updated_at: toIso(lastSeenAtMs),
          expires_at: toIso(expiresAtMs),
          ip_address: address,
          user_agent: userAgent,
        })
        .execute();
    },
    endSessions: (userId) => endSessions(db, userId),
    async endOtherSessions(userId, except) {
      await lockPerson(db, userId);
      const { numDeletedRows } = await theirs(userId).where("id", "!=", except).executeTakeFirst();
      const forgotten = await revokePendingAndDevices(db, userId);
      // Who takes nothing away must not be able to keep others from signing in.
      if (numDeletedRows > 0n || forgotten > 0) await beginEpoch(db, userId);
      return Number(numDeletedRows);
    },
    async endSession(userId, sessionId) {
      await lockPerson(db, userId);
      const { numDeletedRows } = await theirs(userId).where("id", "=", sessionId).executeTakeFirst();
      if (numDeletedRows === 0n) return false;
      await revokePendingAndDevices(db, userId);
      await beginEpoch(db, userId);
      return true;
    },
    async startedAfter(userId, sessionId, nowMs) {
      const [now, soon] = [toIso(nowMs), toIso(nowMs + CODE_TTL_MAX_MS)];
      const begun = db.selectFrom("people_sessions").select("created_at").where("id", "=", sessionId);
      const theirs = db.selectFrom("people_sessions").select("id").where("user_id", "=", userId);
      const sessions = await theirs.where("created_at", ">", begun).where("expires_at", ">", now).execute();
      const waiting = db.selectFrom("people_verifications").select("id").where(pendingVerificationOf(userId));
      const codes = await waiting
        .where("created_at", ">", begun)
        .where("expires_at", ">", now)
        .where("expires_at", "<", soon)
        .execute();
      return { sessions: sessions.map(({ id }) => id), codes: codes.map(({ id }) => id) };
    },
  };
}

async function endSessions(db: Kysely<Database>, userId: string): Promise<number> {
  await beginEpoch(db, userId);
  await revokePendingAndDevices(db, userId);
  const { numDeletedRows } = await db.deleteFrom("people_sessions").where("user_id", "=", userId).executeTakeFirst();
  return Number(numDeletedRows);
}

function linkChanges(db: Kysely<Database>): WriterPart<"addLink" | "useLink" | "revokeLink" | "revokeLinks"> {
  const open = () => db.updateTable("people_links").where("used_at_ms", "is", null).where("revoked_at_ms", "is", null);
  return {
    async addLink(link) {
      await db
        .insertInto("people_links")
        .values({
          id: link.id,
          kind: link.kind,
          digest: link.digest,
          email: link.email,
          workspace_id: link.membership?.workspaceId ?? null,
          role: link.membership?.role ?? null,
          made_by: link.issuedBy,
          created_at_ms: Math.trunc(link.createdAtMs),
          expires_at_ms: Math.trunc(link.expiresAtMs),
          used_at_ms: link.usedAtMs,
          revoked_at_ms: link.revokedAtMs,
        })
        .execute();
    },
    async consumeLink(id, nowMs) {
      const now = Math.trunc(nowMs);
      const used = open().set({ used_at_ms: now }).where("id", "=", id).where("expires_at_ms", ">", now);
      return (await used.executeTakeFirst()).numUpdatedRows > 0n;
    },
    async revokeLink(id, nowMs) {
      const revoked = open()
        .set({ revoked_at_ms: Math.trunc(nowMs) })
        .where("id", "=", id);
      return (await revoked.executeTakeFirst()).numUpdatedRows > 0n;
    },
    async revokeLinks(kind, email, workspaceId, nowMs) {
      const now = Math.trunc(nowMs);
      const all = open().set({ revoked_at_ms: now }).where("kind", "=", kind).where("expires_at_ms", ">", now);
      const theirs = email === null ? all : all.where("email", "=", email);
      const there = workspaceId === null ? theirs : theirs.where("workspace_id", "=", workspaceId);
      return (await there.returning("id").execute()).map(({ id }) => id);
    },
  };
}
