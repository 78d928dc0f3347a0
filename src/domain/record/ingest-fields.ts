import type { RequestRecord, Surface, UsageRecord } from "./record.ts";

/** Usage as stored: zero counts may be omitted. */
type StoredUsage = Partial<UsageRecord> & Pick<UsageRecord, "inputTokens" | "outputTokens">;

/** The fields of a record that ingest reads for the ledger and the roll-ups; the rest is only stored. */
export type IngestFields = Pick<
  RequestRecord,
  | "id"
  | "createdAtMs"
  | "workspaceId"
  | "keyId"
  | "memberId"
  | "environment"
  | "app"
  | "surface"
  | "modelRequested"
  | "model"
  | "provider"
  | "endpoint"
  | "level"
  | "countries"
  | "routerVersion"
  | "dataClasses"
  | "dataAction"
  | "status"
  | "errorCode"
  | "charge"
  | "idempotency"
  | "streaming"
  | "ttfbMs"
  | "totalMs"
> & { readonly usage: StoredUsage | null; readonly router?: string | null };

/** The first field after all ingest fields, in the order in which records are written. */
export const END_OF_INGEST_FIELDS = ',"overheadMs":';

/** Fields that differ per request, and fields that many requests share. The charge has both. */
export type PerRequestFields = Pick<
  IngestFields,
  "id" | "createdAtMs" | "ttfbMs" | "totalMs" | "usage" | "idempotency"
>;
export type SharedFields = Omit<IngestFields, keyof PerRequestFields | "charge">;

export function hasSharedFields<T extends Partial<SharedFields>>(head: T): head is T & SharedFields {
  return (
    head.workspaceId !== undefined &&
    head.keyId !== undefined &&
    head.memberId !== undefined &&
    head.environment !== undefined &&
    head.app !== undefined &&
    head.surface !== undefined &&
    head.modelRequested !== undefined &&
    head.model !== undefined &&
    head.provider !== undefined &&
    head.endpoint !== undefined &&
    head.level !== undefined &&
    head.countries !== undefined &&
    head.streaming !== undefined &&
    head.status !== undefined &&
    head.errorCode !== undefined
  );
}

/**
 * The dimensions that requests are filtered and aggregated by. A workspace has millions of requests and few shapes, so any
 * combination of filters is evaluated on the shapes. Unknown values are empty strings.
 */
export type RequestShape = {
  readonly keyId: string;
  readonly memberId: string;
  readonly environment: "live" | "test";
  readonly app: string;
  readonly modelRequested: string;
  readonly model: string;
  readonly provider: string;
  readonly level: string;
  /** All countries in which the input may have been processed, separated by commas. */
  readonly country: string;
  readonly status: number;
  readonly surface: Surface;
  /** Null when the record does not tell the version of its router: evidence is then read from the log. */
  readonly endpoint: string | null;
  readonly errorCode: string;
  /** `slug@version`. */
  readonly router: string;
  /** Separated by commas; the action is empty where no endpoint served the request. */
  readonly dataClasses: string;
  readonly dataAction: string;
};

export function shapeOf(record: IngestFields): RequestShape {
  return {
    keyId: record.keyId,
    memberId: record.memberId ?? "",
    environment: record.environment,
    app: record.app ?? "",
    modelRequested: record.modelRequested ?? "",
    model: record.model ?? "",
    provider: record.provider ?? "",
    level: record.level ?? "",
    country: record.countries?.join(",") ?? "",
    status: record.status,
    surface: record.surface,
    endpoint: hasUnknownRouter(record) ? null : (record.endpoint ?? ""),
    errorCode: record.errorCode ?? "",
    router: record.routerVersion ?? "",
    dataClasses: record.dataClasses ?? "",
    dataAction: record.dataAction ?? "",
  };
}

/** Records of earlier versions have the version of their router in the decision only, which ingest does not read. */
function hasUnknownRouter({ router, routerVersion }: IngestFields): boolean {
  return router != null && routerVersion === undefined;
}
