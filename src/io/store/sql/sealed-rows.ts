import { z } from "zod";
import {
  BACKGROUND_KINDS,
  type CompletedResponse,
  RESPONSE_STATUSES,
  type ResponseEvent,
  type ResponseSummary,
  type StoredResponse,
  type UnfinishedResponse,
} from "../../../domain/responses/response-store.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { isLongText, type JsonInTurns } from "../../../kit/json-in-turns.ts";
import { parsePreciseJson } from "../../../kit/lossless-json.ts";
import type { MaybePromise } from "../../../kit/maybe-promise.ts";
import type { Database } from "./schema.ts";

export type StoredResponseRow = Database["stored_responses"];
type EventsRow = Database["stored_events"];

/** The columns that are not encrypted. */
export const SUMMARY = [
  ...(["id", "workspace_id", "key_id", "created_at_ms", "expires_at_ms"] as const),
  ...(["status", "model", "previous_id", "background", "runs"] as const),
] as const;
type SummaryRow = Pick<StoredResponseRow, (typeof SUMMARY)[number]>;

type ResponseRef = { readonly workspaceId: string; readonly id: string };

/** Converts rows and responses. Content is encrypted for its workspace, column and row. */
export class SealedRows {
  readonly #vault: Vault;
  readonly #json: JsonInTurns;

  constructor(vault: Vault, json: JsonInTurns) {
    this.#vault = vault;
    this.#json = json;
  }

  async seal(ref: ResponseRef, column: string, value: unknown): Promise<Uint8Array> {
    return this.sealText(ref, column, await this.write(ref, value));
  }

  write({ workspaceId }: Pick<ResponseRef, "workspaceId">, value: unknown): MaybePromise<string> {
    return this.#json.stringify(value, workspaceId);
  }

  sealText({ workspaceId, id }: ResponseRef, column: string, text: string): Promise<Uint8Array> {
    const work = isLongText(text) ? this.#json.turns.begin(workspaceId) : undefined;
    return this.#vault.seal({ workspaceId, column, row: id }, text, work);
  }

  async read(row: StoredResponseRow): Promise<StoredResponse> {
    const summary = toSummary(row);
    const { response, servedBy } = fromContent(await this.#open(summary, "response", row.response));
    const input = z.array(jsonObject).parse(await this.#open(summary, "input", row.input));
    return { ...summary, response: { ...response, status: summary.status }, input, servedBy };
  }

  /** A request or answer that cannot be decrypted is omitted, so that one bad row does not fail the list. */
  async readUnfinished(
    row: SummaryRow & Pick<StoredResponseRow, "request" | "answering" | "ending" | "called_off">,
  ): Promise<UnfinishedResponse> {
    const hasStartedAnswering = row.answering !== 0 || row.ending !== 0;
    const nothing = { request: undefined, completed: undefined };
    const unfinished = { ...toSummary(row), ...nothing, hasStartedAnswering, isCancelled: row.called_off !== 0 };
    if (row.request === null) return unfinished;
    const isMade = row.answering === WORK_PHASE.made;
    const opened = await this.#open(unfinished, isMade ? "made" : "request", row.request).catch(() => undefined);
    if (isMade) return { ...unfinished, completed: opened === undefined ? undefined : fromContent(opened) };
    return { ...unfinished, request: backgroundRequest.safeParse(opened).data };
  }

  sealEvents(ref: ResponseRef, events: readonly ResponseEvent[]): Promise<EventsRow[]> {
    return Promise.all(toBatches(events).map((batch) => this.#sealBatch(ref, batch)));
  }

  async #sealBatch(ref: ResponseRef, batch: readonly ResponseEvent[]): Promise<EventsRow> {
    const first = batch[0]?.sequence ?? 0;
    const last = batch.at(-1)?.sequence ?? first;
    const sealed = await this.seal(ref, eventsColumn(first), batch);
    return { response_id: ref.id, first_number: first, last_number: last, events: sealed };
  }

  async readEvents(ref: ResponseRef, row: EventsRow): Promise<ResponseEvent[]> {
    return storedEvents.parse(await this.#open(ref, eventsColumn(row.first_number), row.events));
  }

  async #open({ workspaceId, id }: ResponseRef, column: string, sealed: Uint8Array): Promise<unknown> {
    const work = sealed.length > LONG_BYTES ? this.#json.turns.begin(workspaceId) : undefined;
    const text = await this.#vault.open({ workspaceId, column, row: id }, sealed, work);
    return this.#json.parse(text, workspaceId, parsePreciseJson);
  }
}

/** Longer rows are decrypted in slices of event-loop turns. */
const LONG_BYTES = 64 * 1024;

/** The target size of an event row, which bounds the memory of a reader. */
const BATCH_CHARS = 128 * 1024;

function toBatches(events: readonly ResponseEvent[]): ResponseEvent[][] {
  const batches: ResponseEvent[][] = [];
  let chars = BATCH_CHARS;
  for (const event of events) {
    if (chars >= BATCH_CHARS) {
      batches.push([]);
      chars = 0;
    }
    batches.at(-1)?.push(event);
    chars += event.text.length;
  }
  return batches;
}

/** A key that no response object uses; older rows lack it. */
const SERVED_BY = "gateway_served_by";

/** The stored content: the response object plus the endpoint that served it. */
export function toContent({ response, servedBy }: CompletedResponse): JsonObject {
  return { ...response, [SERVED_BY]: servedBy };
}

function fromContent(content: unknown): CompletedResponse {
  const { [SERVED_BY]: servedBy, ...response } = storedContent.parse(content);
  return { response, servedBy };
}

/** Once the answer is complete, it replaces the request in its column, so the work is not run again. */
export const WORK_PHASE = { no: 0, begun: 1, made: 2 } as const;

const eventsColumn = (first: number) => `events ${first}`;

const status = z.enum(RESPONSE_STATUSES);
const background = z.enum(BACKGROUND_KINDS);
const jsonObject = z.record(z.string(), z.unknown());
const storedContent = z.looseObject({ [SERVED_BY]: z.record(z.string(), z.string()).optional() });
const storedEvents = z.array(z.object({ sequence: z.number(), text: z.string() }));
const backgroundRequest = z.object({
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  clientAddress: z.string(),
});

export function toSummary(row: SummaryRow): ResponseSummary {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    status: status.parse(row.status),
    model: row.model,
    previousId: row.previous_id,
    background: background.parse(row.background),
    runs: row.runs,
  };
}

export function fromSummary(stored: ResponseSummary): SummaryRow {
  return {
    id: stored.id,
    workspace_id: stored.workspaceId,
    key_id: stored.keyId,
    created_at_ms: stored.createdAtMs,
    expires_at_ms: stored.expiresAtMs,
    status: stored.status,
    model: stored.model,
    previous_id: stored.previousId,
    background: stored.background,
    runs: stored.runs,
  };
}
