import type { RequestRecord } from "./record.ts";

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
  | "usage"
  | "charge"
  | "idempotency"
  | "streaming"
  | "ttfbMs"
  | "totalMs"
>;

/** The first field behind all of them, in the order in which records are written. */
const REST = ',"overheadMs":';

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
  try {
    const head: Partial<BookedFields> = JSON.parse(text);
    return isWhole(head) ? head : undefined;
  } catch {
    return undefined;
  }
}

function isWhole(head: Partial<BookedFields>): head is BookedFields {
  return (
    head.id !== undefined &&
    head.createdAtMs !== undefined &&
    head.workspaceId !== undefined &&
    head.keyId !== undefined &&
    head.memberId !== undefined &&
    head.environment !== undefined &&
    head.app !== undefined &&
    head.surface !== undefined &&
    head.modelRequested !== undefined &&
    head.model !== undefined &&
    head.provider !== undefined &&
    head.status !== undefined &&
    head.errorCode !== undefined &&
    head.usage !== undefined &&
    head.charge !== undefined &&
    head.streaming !== undefined &&
    head.ttfbMs !== undefined &&
    head.totalMs !== undefined
  );
}
