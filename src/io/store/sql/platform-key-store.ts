import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { OWN_KEY_KINDS } from "../../../domain/tenancy/own-key.ts";
import type { PlatformKey, PlatformKeyStore } from "../../../domain/tenancy/platform-key.ts";
import type { Database } from "./schema.ts";

type PlatformKeyRow = Selectable<Database["platform_credentials"]>;

const Kind = z.enum(OWN_KEY_KINDS);

export function platformKeyStore(db: Kysely<Database>): PlatformKeyStore {
  return {
    async all() {
      const rows = await db.selectFrom("platform_credentials").selectAll().orderBy("provider").execute();
      return rows.map((row) => ({ key: keyOf(row), sealed: row.secret }));
    },
    async save(key, secret) {
      const { provider, created_at_ms, ...changed } = { ...rowOf(key), secret };
      await db
        .insertInto("platform_credentials")
        .values({ provider, created_at_ms, ...changed })
        .onConflict((conflict) => conflict.column("provider").doUpdateSet(changed))
        .execute();
    },
    async remove(provider) {
      await db.deleteFrom("platform_credentials").where("provider", "=", provider).execute();
    },
  };
}

function rowOf(key: PlatformKey): Omit<PlatformKeyRow, "secret"> {
  return {
    provider: key.provider,
    kind: key.kind,
    hint: key.hint,
    fingerprint: key.fingerprint,
    created_at_ms: key.createdAtMs,
    changed_at_ms: key.changedAtMs,
    changed_by: key.changedBy,
  };
}

function keyOf(row: PlatformKeyRow): PlatformKey {
  return {
    provider: row.provider,
    kind: Kind.parse(row.kind),
    hint: row.hint,
    fingerprint: row.fingerprint,
    createdAtMs: row.created_at_ms,
    changedAtMs: row.changed_at_ms,
    changedBy: row.changed_by,
  };
}
