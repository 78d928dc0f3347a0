import type { Kysely, Selectable } from "kysely";
import { erasedAddress, type PeopleWriter } from "../../../domain/tenancy/person.ts";
import { beginEpoch, lockPerson } from "./people-epoch.ts";
import type { PeopleTables } from "./people-schema.ts";
import {
  deleteResets,
  PASSWORD_PROVIDER,
  pendingVerificationOf,
  revokePendingAndDevices,
  toIso,
} from "./people-store.ts";
import type { Database } from "./schema.ts";

/** Distinguishes pending codes, which expire within minutes, from trusted devices, which last for weeks. */
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
  | "resetCredentials"
  | "markEmailUnverified"
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

function passwordChanges(db: Kysely<Database>): WriterPart<"changePassword" | "resetPassword" | "addPasswordReset"> {
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
      const reset = db.deleteFrom("people_verifications").where("identifier", "=", identifier).where("value", "=", id);
      const { numDeletedRows } = await reset.where("expires_at", ">", toIso(nowMs)).executeTakeFirst();
      // A passkey that an attacker added must not survive the recovery of the account.
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

/** Accepted invitations and open reset links of a person, and the open links they created. */
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
): WriterPart<"lockSession" | "addSession" | "endSessions" | "endOtherSessions" | "endSession" | "startedAfter"> {
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
      // A call that revokes nothing must not start an epoch, which would reject concurrent sign-ins.
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

function linkChanges(db: Kysely<Database>): WriterPart<"addLink" | "consumeLink" | "revokeLink" | "revokeLinks"> {
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
          day_nanos: link.membership?.limits?.dayNanos ?? null,
          month_nanos: link.membership?.limits?.monthNanos ?? null,
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

/** Tables with credentials and sessions of a person. */
const CREDENTIAL_TABLES = ["people_sessions", "people_passkeys", "people_two_factors", "people_accounts"] as const;

function erasureChanges(db: Kysely<Database>): WriterPart<"erase" | "eraseReferences"> {
  return {
    async eraseReferences(workspaceId, { id, email }) {
      const erased = erasedAddress(id);
      const nodes = db.updateTable("nodes").set({ created_by: erased }).where("created_by", "=", email);
      await nodes.where("workspace_id", "=", workspaceId).execute();
      const keys = db.updateTable("workspace_credentials").set({ changed_by: erased }).where("changed_by", "=", email);
      await keys.where("workspace_id", "=", workspaceId).execute();
      const classes = db.updateTable("custom_classes").set({ changed_by: erased }).where("changed_by", "=", email);
      await classes.where("workspace_id", "=", workspaceId).execute();
    },
    async erase({ id, email }, nowMs) {
      const erased = erasedAddress(id);
      await beginEpoch(db, id);
      for (const table of CREDENTIAL_TABLES) await db.deleteFrom(table).where("user_id", "=", id).execute();
      await revokePendingAndDevices(db, id);
      await deleteResets(db, id);
      await eraseLinks(db, email, erased, nowMs);
      await db
        .updateTable("platform_credentials")
        .set({ changed_by: erased })
        .where("changed_by", "=", email)
        .execute();
      const flags = { email_verified: 0, two_factor_enabled: 0, operator: 0, disabled: 1 };
      await db
        .updateTable("people")
        .set({ name: "Erased", email: erased, image: null, ...flags, updated_at: toIso(nowMs) })
        .where("id", "=", id)
        .execute();
    },
  };
}

async function eraseLinks(db: Kysely<Database>, email: string, erased: string, nowMs: number): Promise<void> {
  const addressed = db.updateTable("people_links").where("email", "=", email);
  const open = addressed.where("used_at_ms", "is", null).where("revoked_at_ms", "is", null);
  await open.set({ revoked_at_ms: Math.trunc(nowMs) }).execute();
  await addressed.set({ email: erased }).execute();
  await db.updateTable("people_links").set({ made_by: erased }).where("made_by", "=", email).execute();
}
