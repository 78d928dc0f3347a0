import { type Kysely, type RawBuilder, sql } from "kysely";
import { z } from "zod";
import type { EvidenceStore, EvidenceSum } from "../../../domain/record/evidence.ts";
import type { Database } from "./schema.ts";

const GROUPS = [
  ...(["key_id", "environment", "provider", "endpoint", "model", "level", "countries", "error_code"] as const),
  ...(["router", "router_version"] as const),
] as const;

export function evidenceStore(db: Kysely<Database>): EvidenceStore {
  return {
    async sums(workspaceId, fromMs, toMs) {
      const rows = await db
        .selectFrom("evidence_requests")
        .where("workspace_id", "=", workspaceId)
        .where("created_at_ms", ">=", fromMs)
        .where("created_at_ms", "<", toMs)
        .groupBy(GROUPS)
        .select(GROUPS)
        .select([
          sql<number>`count(*)`.as("requests"),
          total<number>("input_tokens").as("sum_input"),
          total<number>("output_tokens").as("sum_output"),
          total<bigint>("charge_nanos").as("sum_nanos"),
        ])
        .execute();
      return rows.map(toSum);
    },

    async firstRequestAtMs(workspaceId, fromMs) {
      const row = await db
        .selectFrom("request_records")
        .select("created_at_ms")
        .where("workspace_id", "=", workspaceId)
        .where("created_at_ms", ">=", fromMs)
        .orderBy("created_at_ms")
        .orderBy("id")
        .limit(1)
        .executeTakeFirst();
      return row?.created_at_ms;
    },
  };
}

/** PostgreSQL widens sums of bigint to numeric, so the type is explicit. */
function total<T>(column: string): RawBuilder<T> {
  return sql<T>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;
}

const countryList = z.array(z.string());

type EvidenceRow = Pick<Database["evidence_requests"], (typeof GROUPS)[number]> & {
  readonly requests: number;
  readonly sum_input: number;
  readonly sum_output: number;
  readonly sum_nanos: bigint;
};

function toSum(row: EvidenceRow): EvidenceSum {
  const { router, router_version: version } = row;
  return {
    keyId: row.key_id,
    environment: row.environment,
    provider: row.provider,
    endpoint: row.endpoint,
    model: row.model,
    level: row.level,
    countries: row.countries === null ? [] : countryList.parse(JSON.parse(row.countries)),
    errorCode: row.error_code,
    router: router === null || version === null ? null : { slug: router, version },
    requests: row.requests,
    inputTokens: row.sum_input,
    outputTokens: row.sum_output,
    costNanos: row.sum_nanos,
  };
}
