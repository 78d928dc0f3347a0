import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import {
  OWN_KEY_KINDS,
  OWN_KEY_RESULTS,
  OWN_KEY_USES,
  type OwnKey,
  type OwnKeyStore,
} from "../../../domain/tenancy/own-key.ts";
import type { Database } from "./schema.ts";

type OwnKeyRow = Selectable<Database["workspace_credentials"]>;

const Kind = z.enum(OWN_KEY_KINDS);
const Use = z.enum(OWN_KEY_USES);
const Result = z.enum(OWN_KEY_RESULTS);

export function ownKeyStore(db: Kysely<Database>): OwnKeyStore {
  return {
    async all(only) {
      const all = db.selectFrom("workspace_credentials").selectAll().orderBy("workspace_id").orderBy("provider");
      const rows = await (only === undefined ? all : all.where("workspace_id", "=", only)).execute();
      return rows.map((row) => ({ key: keyOf(row), sealed: row.secret }));
    },
    async save(key, secret) {
      const { workspace_id, provider, created_at_ms, ...changed } = { ...rowOf(key), secret };
      await db
        .insertInto("workspace_credentials")
        .values({ workspace_id, provider, created_at_ms, ...changed })
        .onConflict((conflict) => conflict.columns(["workspace_id", "provider"]).doUpdateSet(changed))
        .execute();
    },
    async saveTestResult({ workspaceId, provider, fingerprint, result, testedAtMs }) {
      await db
        .updateTable("workspace_credentials")
        .set({ result, tested_at_ms: testedAtMs })
        .where("workspace_id", "=", workspaceId)
        .where("provider", "=", provider)
        .where("fingerprint", "=", fingerprint)
        .execute();
    },
    async saveUse({ workspaceId, provider, fingerprint, use, changedAtMs, changedBy }) {
      await db
        .updateTable("workspace_credentials")
        .set({ usage: use, changed_at_ms: changedAtMs, changed_by: changedBy })
        .where("workspace_id", "=", workspaceId)
        .where("provider", "=", provider)
        .where("fingerprint", "=", fingerprint)
        .execute();
    },
    async remove(workspaceId, provider) {
      await db
        .deleteFrom("workspace_credentials")
        .where("workspace_id", "=", workspaceId)
        .where("provider", "=", provider)
        .execute();
    },
  };
}

function rowOf(key: OwnKey): Omit<OwnKeyRow, "secret"> {
  return {
    workspace_id: key.workspaceId,
    provider: key.provider,
    kind: key.kind,
    usage: key.use,
    hint: key.hint,
    fingerprint: key.fingerprint,
    created_at_ms: key.createdAtMs,
    changed_at_ms: key.changedAtMs,
    changed_by: key.changedBy,
    result: key.result,
    tested_at_ms: key.testedAtMs,
  };
}

function keyOf(row: OwnKeyRow): OwnKey {
  return {
    workspaceId: row.workspace_id,
    provider: row.provider,
    kind: Kind.parse(row.kind),
    use: Use.parse(row.usage),
    hint: row.hint,
    fingerprint: row.fingerprint,
    createdAtMs: row.created_at_ms,
    changedAtMs: row.changed_at_ms,
    changedBy: row.changed_by,
    result: Result.parse(row.result),
    testedAtMs: row.tested_at_ms,
  };
}
