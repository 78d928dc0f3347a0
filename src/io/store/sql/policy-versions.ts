import type { Kysely } from "kysely";
import type { TenancyStore } from "../../../domain/tenancy/tenancy-store.ts";
import { inTransaction } from "./in-transaction.ts";
import type { Database } from "./schema.ts";
import { partialPolicySchema, storedText } from "./stored-policy.ts";

/** The subject of the workspace's own policy; other subjects are key ids. */
const WORKSPACE_SUBJECT = "";

export function policyVersions(db: Kysely<Database>): Pick<TenancyStore, "savePolicyVersion" | "policyHistory"> {
  return {
    async savePolicyVersion({ workspaceId, keyId, createdAtMs, policy }) {
      const subject = keyId ?? WORKSPACE_SUBJECT;
      const text = policy === null ? null : storedText(policy);
      await inTransaction(db, async (session) => {
        const last = await session
          .selectFrom("policy_versions")
          .select(["version", "policy"])
          .where("workspace_id", "=", workspaceId)
          .where("subject", "=", subject)
          .orderBy("version", "desc")
          .limit(1)
          .executeTakeFirst();
        if ((last?.policy ?? null) === text) return;
        const version = (last?.version ?? 0) + 1;
        await session
          .insertInto("policy_versions")
          .values({ workspace_id: workspaceId, subject, version, created_at_ms: createdAtMs, policy: text })
          .execute();
      });
    },

    async policyHistory(workspaceId) {
      const rows = await db
        .selectFrom("policy_versions")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .orderBy("subject")
        .orderBy("version")
        .execute();
      return rows.map((row) => ({
        workspaceId: row.workspace_id,
        keyId: row.subject === WORKSPACE_SUBJECT ? null : row.subject,
        version: row.version,
        createdAtMs: row.created_at_ms,
        policy: row.policy === null ? null : partialPolicySchema.parse(JSON.parse(row.policy)),
      }));
    },
  };
}
