import type { RequestRecord, UsageRecord } from "./record.ts";

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
  | "status"
  | "errorCode"
  | "charge"
  | "idempotency"
  | "streaming"
  | "ttfbMs"
  | "totalMs"
> & { readonly usage: StoredUsage | null };

/** The first field after all ingest fields, in the order in which records are written. */
export const END_OF_INGEST_FIELDS = ',"overheadMs":';

/** Fields that differ per request, and fields that many requests share. The charge has both. */
export type PerRequestFields = Pick<
  IngestFields,
  "id" | "createdAtMs" | "ttfbMs" | "totalMs" | "usage" | "idempotency"
>;
export type SharedFields = Omit<IngestFields, keyof PerRequestFields | "charge">;

/**
 * Parses only the head of a record's text: attempts and candidates, often most of it, are skipped. Quotes inside strings are
 * escaped, so the marker always is a field. A text with a different field order is parsed completely.
 */
export function parseIngestFields(text: Buffer): IngestFields {
  const cut = text.indexOf(END_OF_INGEST_FIELDS);
  const head = cut < 0 ? undefined : parseHead(`${text.toString("utf8", 0, cut)}}`);
  // The text was encoded by this program, or validated when it was read from a file.
  return head ?? JSON.parse(text.toString("utf8"));
}

function parseHead(text: string): IngestFields | undefined {
  const head = tryParse<IngestFields>(text);
  return head !== undefined && isComplete(head) ? head : undefined;
}

/** Undefined when the text is not JSON. */
export function tryParse<T>(text: string): Partial<T> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isComplete(head: Partial<IngestFields>): head is IngestFields {
  return head.charge !== undefined && hasPerRequestFields(head) && hasSharedFields(head);
}

export function hasPerRequestFields<T extends Partial<PerRequestFields>>(head: T): head is T & PerRequestFields {
  return (
    head.id !== undefined &&
    head.createdAtMs !== undefined &&
    head.ttfbMs !== undefined &&
    head.totalMs !== undefined &&
    head.usage !== undefined
  );
}

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
    head.streaming !== undefined &&
    head.status !== undefined &&
    head.errorCode !== undefined
  );
}
