import type { RequestRecord, UsageRecord } from "./record.ts";

/** Figures as they are written: what is nothing may be left out. */
type StoredUsage = Partial<UsageRecord> & Pick<UsageRecord, "inputTokens" | "outputTokens">;

/** What the books need of a record; the rest is only kept. */
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

/** The first field behind all of them, in the order in which records are written. */
export const END_OF_INGEST_FIELDS = ',"overheadMs":';

/** What each request has of its own, and what it shares with very many others. Its charge is of both kinds. */
export type PerRequestFields = Pick<
  IngestFields,
  "id" | "createdAtMs" | "ttfbMs" | "totalMs" | "usage" | "idempotency"
>;
export type SharedFields = Omit<IngestFields, keyof PerRequestFields | "charge">;

/**
 * Reads those fields from the text of a record. Attempts and candidates, which are often most of the text, are not
 * parsed. A quote inside a text is escaped, so what is looked for is always a field; if the text has another order
 * than ours, all of it is parsed.
 */
export function parseIngestFields(text: Buffer): IngestFields {
  const cut = text.indexOf(END_OF_INGEST_FIELDS);
  const head = cut < 0 ? undefined : parseHead(`${text.toString("utf8", 0, cut)}}`);
  // The text was made from a record by this program, or checked when it was read back from a file.
  return head ?? JSON.parse(text.toString("utf8"));
}

function parseHead(text: string): IngestFields | undefined {
  const head = tryParse<IngestFields>(text);
  return head !== undefined && isComplete(head) ? head : undefined;
}

/** Nothing where the text is no JSON. */
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
