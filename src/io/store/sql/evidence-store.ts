import { type Kysely, type RawBuilder, sql } from "kysely";
import { z } from "zod";
import type { DataClassSum } from "../../../domain/record/data-class-usage.ts";
import type { EvidenceStore, EvidenceSum } from "../../../domain/record/evidence.ts";
import { HOUR_MS } from "../../../kit/time.ts";
import type { Database } from "./schema.ts";

const GROUPS = [
  ...(["key_id", "environment", "provider", "endpoint", "model", "level", "countries", "error_code"] as const),
  ...(["router", "router_version"] as const),
] as const;

export function evidenceStore(db: Kysely<Database>): EvidenceStore {
  return {
    async sums(workspaceId, fromMs, toMs) {
      const wholeFromMs = Math.ceil(fromMs / HOUR_MS) * HOUR_MS;
      const wholeToMs = Math.floor(toMs / HOUR_MS) * HOUR_MS;
      if (wholeFromMs >= wholeToMs) return logSums(db, workspaceId, fromMs, toMs);
      return [
        ...(await logSums(db, workspaceId, fromMs, wholeFromMs)),
        ...(await hourlySums(db, workspaceId, wholeFromMs, wholeToMs)),
        ...(await logSums(db, workspaceId, wholeToMs, toMs)),
      ];
    },

    async dataClasses(workspaceId, fromMs, toMs) {
      const wholeFromMs = Math.ceil(fromMs / HOUR_MS) * HOUR_MS;
      const wholeToMs = Math.floor(toMs / HOUR_MS) * HOUR_MS;
      if (wholeFromMs >= wholeToMs) return loggedClasses(db, workspaceId, fromMs, toMs);
      return [
        ...(await loggedClasses(db, workspaceId, fromMs, wholeFromMs)),
        ...(await hourlyClasses(db, workspaceId, wholeFromMs, wholeToMs)),
        ...(await loggedClasses(db, workspaceId, wholeToMs, toMs)),
      ];
    },

    firstRequestAtMs: (workspaceId, fromMs) => firstRequestAtMs(db, workspaceId, fromMs),
  };
}

async function firstRequestAtMs(db: Kysely<Database>, workspaceId: string, fromMs: number) {
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
}

/** From the records, hour by hour, so that other queries can run in between; hours without requests are skipped. */
async function logSums(
  db: Kysely<Database>,
  workspaceId: string,
  fromMs: number,
  toMs: number,
): Promise<EvidenceSum[]> {
  const sums: EvidenceSum[] = [];
  let atMs = fromMs < toMs ? await firstRequestAtMs(db, workspaceId, fromMs) : undefined;
  while (atMs !== undefined && atMs < toMs) {
    const untilMs = Math.min(toMs, atMs - (atMs % HOUR_MS) + HOUR_MS);
    const rows = await db
      .selectFrom("evidence_requests")
      .where("workspace_id", "=", workspaceId)
      .where("created_at_ms", ">=", atMs)
      .where("created_at_ms", "<", untilMs)
      .groupBy(GROUPS)
      .select(GROUPS)
      .select([
        sql<number>`count(*)`.as("requests"),
        total<number>("input_tokens").as("sum_input"),
        total<number>("output_tokens").as("sum_output"),
        total<bigint>("charge_nanos").as("sum_nanos"),
      ])
      .execute();
    sums.push(...rows.map(toSum));
    atMs = await firstRequestAtMs(db, workspaceId, untilMs);
  }
  return sums;
}

const CLASS_COLUMNS = ["data_classes", "data_action", "level", "model"] as const;

/** Of less than an hour. */
async function loggedClasses(
  db: Kysely<Database>,
  workspaceId: string,
  fromMs: number,
  toMs: number,
): Promise<DataClassSum[]> {
  if (fromMs >= toMs) return [];
  const rows = await db
    .selectFrom("request_records")
    .innerJoin("request_shapes", (join) =>
      join
        .onRef("request_shapes.workspace_id", "=", "request_records.workspace_id")
        .onRef("request_shapes.id", "=", "request_records.shape"),
    )
    .where("request_records.workspace_id", "=", workspaceId)
    .where("created_at_ms", ">=", fromMs)
    .where("created_at_ms", "<", toMs)
    .where("data_classes", "!=", "")
    .where("environment", "=", "live")
    .groupBy(CLASS_COLUMNS)
    .select(CLASS_COLUMNS)
    .select(sql<number>`count(*)`.as("requests"))
    .execute();
  return rows.map(toClassSum);
}

async function hourlyClasses(
  db: Kysely<Database>,
  workspaceId: string,
  fromMs: number,
  toMs: number,
): Promise<DataClassSum[]> {
  const rows = await db
    .selectFrom("requests_hourly")
    .innerJoin("request_shapes", (join) =>
      join
        .onRef("request_shapes.workspace_id", "=", "requests_hourly.workspace_id")
        .onRef("request_shapes.id", "=", "requests_hourly.shape"),
    )
    .where("requests_hourly.workspace_id", "=", workspaceId)
    .where("hour_ms", ">=", fromMs)
    .where("hour_ms", "<", toMs)
    .where("data_classes", "!=", "")
    .where("environment", "=", "live")
    .groupBy(CLASS_COLUMNS)
    .select(CLASS_COLUMNS)
    .select(total<number>("requests").as("requests"))
    .execute();
  return rows.filter(({ requests }) => requests !== 0).map(toClassSum);
}

function toClassSum(
  row: Pick<Database["request_shapes"], (typeof CLASS_COLUMNS)[number]> & { readonly requests: number },
): DataClassSum {
  const { data_classes: dataClasses, data_action: action, level, model, requests } = row;
  return { dataClasses, action, level: level || null, isServed: model !== "", requests };
}

/** From the roll-ups. Hours with shapes from before the roll-ups distinguished enough are read from the records. */
async function hourlySums(
  db: Kysely<Database>,
  workspaceId: string,
  fromMs: number,
  toMs: number,
): Promise<EvidenceSum[]> {
  if (fromMs >= toMs) return [];
  const ofShapes = db
    .selectFrom("requests_hourly")
    .where("workspace_id", "=", workspaceId)
    .where("hour_ms", ">=", fromMs)
    .where("hour_ms", "<", toMs)
    .groupBy("shape")
    .select(["shape", sql<number>`min(hour_ms)`.as("first_ms"), sql<number>`max(hour_ms)`.as("last_ms")])
    .select([
      total<number>("requests").as("requests"),
      total<number>("input_tokens").as("sum_input"),
      total<number>("output_tokens").as("sum_output"),
      total<bigint>("cost_nanos").as("sum_nanos"),
    ])
    .as("sums");
  const rows = await db
    .selectFrom(ofShapes)
    .innerJoin("request_shapes", "request_shapes.id", "sums.shape")
    .where("request_shapes.workspace_id", "=", workspaceId)
    .select(["key_id", "environment", "provider", "model", "level", "country", "endpoint", "error_code", "router"])
    .select(["first_ms", "last_ms", "requests", "sum_input", "sum_output", "sum_nanos"])
    .execute();
  const old = rows.filter(({ endpoint }) => endpoint === null);
  // A row comes down to no request when the charge that replaced its free requests has another shape.
  if (old.length === 0) return rows.filter(({ requests }) => requests !== 0).map(fromShape);
  const oldFromMs = Math.min(...old.map(({ first_ms }) => first_ms));
  const oldToMs = Math.max(...old.map(({ last_ms }) => last_ms)) + HOUR_MS;
  return [
    ...(await hourlySums(db, workspaceId, fromMs, oldFromMs)),
    ...(await logSums(db, workspaceId, oldFromMs, oldToMs)),
    ...(await hourlySums(db, workspaceId, oldToMs, toMs)),
  ];
}

type ShapeSumRow = Pick<
  Database["request_shapes"],
  "key_id" | "environment" | "provider" | "model" | "level" | "country" | "endpoint" | "error_code" | "router"
> & {
  readonly requests: number;
  readonly sum_input: number;
  readonly sum_output: number;
  readonly sum_nanos: bigint;
};

/** Unknown values of shapes are empty. */
function fromShape(row: ShapeSumRow): EvidenceSum {
  return {
    keyId: row.key_id,
    environment: row.environment,
    provider: row.provider || null,
    endpoint: row.endpoint || null,
    model: row.model || null,
    level: row.level || null,
    countries: row.country === "" ? [] : row.country.split(","),
    errorCode: row.error_code || null,
    router: routerOf(row.router),
    requests: row.requests,
    inputTokens: row.sum_input,
    outputTokens: row.sum_output,
    costNanos: row.sum_nanos,
  };
}

function routerOf(versioned: string): EvidenceSum["router"] {
  if (versioned === "") return null;
  const at = versioned.lastIndexOf("@");
  return { slug: versioned.slice(0, at), version: Number(versioned.slice(at + 1)) };
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
