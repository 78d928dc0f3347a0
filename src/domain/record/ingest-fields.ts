import type { RequestRecord, UsageRecord } from "./record.ts";

/** Figures as they are written: what is nothing may be left out. */
type WrittenUsage = Partial<UsageRecord> & Pick<UsageRecord, "inputTokens" | "outputTokens">;

/** What the books need of a record; the rest is only kept. */
export type BookedFields = Pick<
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
> & { readonly usage: WrittenUsage | null };

/** The first field behind all of them, in the order in which records are written. */
export const REST = ',"overheadMs":';

/** What each request has of its own, and what it shares with very many others. Its charge is of both kinds. */
export type OwnFields = Pick<BookedFields, "id" | "createdAtMs" | "ttfbMs" | "totalMs" | "usage" | "idempotency">;
export type SharedFields = Omit<BookedFields, keyof OwnFields | "charge">;

/**
 * Reads those fields from the text of a record. Attempts and candidates, which are often most of the text, are not
 * parsed. A quote inside a text is escaped, so what is looked for is always a field; if the text has another order
 * than ours, all of it is parsed.
 */
export function readBooked(text: Buffer): BookedFields {
  const cut = text.indexOf(REST);
  const head = cut < 0 ? undefined : parseHead(`${text.toString("utf8", 0, cut)}}`);
  // The text was made from a record by this program, or checked when it was read back from a file.
  return head ?? JSON.parse(text.toString("utf8"));
}

function parseHead(text: string): BookedFields | undefined {
  const head = parsed<BookedFields>(text);
  return head !== undefined && isWhole(head) ? head : undefined;
}

/** Nothing where the text is no JSON. */
export function parsed<T>(text: string): Partial<T> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isWhole(head: Partial<BookedFields>): head is BookedFields {
  return head.charge !== undefined && hasOwn(head) && hasShared(head);
}

export function hasOwn<T extends Partial<OwnFields>>(head: T): head is T & OwnFields {
  return (
    head.id !== undefined &&
    head.createdAtMs !== undefined &&
    head.ttfbMs !== undefined &&
    head.totalMs !== undefined &&
    head.usage !== undefined
  );
}

export function hasShared<T extends Partial<SharedFields>>(head: T): head is T & SharedFields {
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
