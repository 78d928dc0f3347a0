import {
  END_OF_INGEST_FIELDS,
  hasPerRequestFields,
  hasSharedFields,
  type IngestFields,
  type PerRequestFields,
  parseIngestFields,
  type SharedFields,
  tryParse,
} from "./ingest-fields.ts";
import type { ChargeRecord } from "./record.ts";

/** Within the charge: before it stands what a request has of its own, behind it what it shares with others. */
const SHARED_START = ',"currency":';

type PerRequestPart = PerRequestFields & { readonly charge: Pick<ChargeRecord, "nanos"> };
type SharedPart = SharedFields & { readonly charge: Omit<ChargeRecord, "nanos"> };
type SharedTemplate = { readonly bytes: Buffer; readonly shared: SharedPart };

/** With text and all a kind is some two kilobytes. */
const TEMPLATES_MAX = 3000;
/** Where requests share little, so many are read by themselves before it is tried again. */
const BYPASS_RECORDS = 10 * TEMPLATES_MAX;
/** What is looked for stands about where it stood in the record before, and at most so much earlier. */
const LOOKBACK_BYTES = 64;

/**
 * Reads the booked fields of one record after the other. What many charged requests share, which is most of the text, is
 * parsed once for all of them. A text of another order than ours is read by itself.
 */
export class IngestFieldsReader {
  readonly #templates = new Map<string, SharedTemplate>();
  #lastTemplate: SharedTemplate | undefined;
  #lastOffset = 0;
  /** How many were of a kind that was known, since the first of those that are. */
  #hits = 0;
  #bypassLeft = 0;

  read(text: Buffer): IngestFields {
    if (this.#bypassLeft === 0) return this.#readWithTemplate(text) ?? parseIngestFields(text);
    this.#bypassLeft -= 1;
    return parseIngestFields(text);
  }

  #readWithTemplate(text: Buffer): IngestFields | undefined {
    const at = indexNear(text, SHARED_START, 0, this.#lastOffset);
    const own = at < 0 ? undefined : parsePerRequestPart(`${text.toString("utf8", 0, at)}}}`);
    this.#lastOffset = own === undefined ? 0 : at;
    if (own === undefined) return undefined;
    const kind = this.#templateAt(text, at);
    if (kind === undefined) return undefined;
    this.#lastTemplate = kind;
    return joinParts(own, kind.shared);
  }

  #templateAt(text: Buffer, at: number): SharedTemplate | undefined {
    if (this.#lastTemplate !== undefined && bytesMatchAt(text, at, this.#lastTemplate.bytes)) return this.#lastTemplate;
    const end = indexNear(
      text,
      END_OF_INGEST_FIELDS,
      at,
      at + (this.#lastTemplate?.bytes.length ?? 0) - END_OF_INGEST_FIELDS.length,
    );
    if (end < 0) return undefined;
    const bytes = text.subarray(at, end + END_OF_INGEST_FIELDS.length);
    const key = bytes.toString("latin1");
    const known = this.#templates.get(key);
    if (known === undefined) return this.#addTemplate(key, bytes);
    this.#hits += 1;
    return known;
  }

  #addTemplate(key: string, bytes: Buffer): SharedTemplate | undefined {
    const shared = parseSharedPart(
      `{"charge":{${bytes.toString("utf8", 1, bytes.length - END_OF_INGEST_FIELDS.length)}}`,
    );
    if (shared === undefined) return undefined;
    // A copy: the memory that records are read from is used again.
    const kind = { bytes: Buffer.from(bytes), shared };
    if (this.#templates.size >= TEMPLATES_MAX) this.#reset();
    this.#templates.set(key, kind);
    return kind;
  }

  #reset(): void {
    if (this.#hits < this.#templates.size) this.#bypassLeft = BYPASS_RECORDS;
    this.#templates.clear();
    this.#hits = 0;
  }
}

/** The next `what` from the first place on, looked for about where it was the last time before anywhere else. */
function indexNear(text: Buffer, what: string, first: number, last: number): number {
  const from = Math.max(first, last - LOOKBACK_BYTES);
  const at = text.indexOf(what, from);
  return at < 0 && from > first ? text.indexOf(what, first) : at;
}

function bytesMatchAt(text: Buffer, at: number, bytes: Buffer): boolean {
  const end = at + bytes.length;
  return end <= text.length && text.compare(bytes, 0, bytes.length, at, end) === 0;
}

/** The parts fit together only where the charge was cut behind its amount. */
function parsePerRequestPart(text: string): PerRequestPart | undefined {
  const own = tryParse<PerRequestPart>(text);
  return own !== undefined && hasPerRequestFields(own) && hasOnlyAmount(own) ? own : undefined;
}

function hasOnlyAmount<T extends Partial<PerRequestPart>>(own: T): own is T & Pick<PerRequestPart, "charge"> {
  return own.charge?.nanos !== undefined && Object.keys(own.charge).length === 1;
}

function parseSharedPart(text: string): SharedPart | undefined {
  const shared = tryParse<SharedPart & PerRequestFields>(text);
  if (shared === undefined || shared.idempotency !== undefined || !hasSharedFields(shared)) return undefined;
  return hasPriceAndRate(shared) ? shared : undefined;
}

function hasPriceAndRate<T extends Partial<SharedPart>>(shared: T): shared is T & Pick<SharedPart, "charge"> {
  return shared.charge?.price !== undefined && shared.charge.rate !== undefined;
}

function joinParts(own: PerRequestPart, shared: SharedPart): IngestFields {
  const fields: IngestFields = {
    id: own.id,
    createdAtMs: own.createdAtMs,
    workspaceId: shared.workspaceId,
    keyId: shared.keyId,
    memberId: shared.memberId,
    environment: shared.environment,
    app: shared.app,
    surface: shared.surface,
    modelRequested: shared.modelRequested,
    model: shared.model,
    provider: shared.provider,
    status: shared.status,
    errorCode: shared.errorCode,
    usage: own.usage,
    charge: { nanos: own.charge.nanos, ...shared.charge },
    streaming: shared.streaming,
    ttfbMs: own.ttfbMs,
    totalMs: own.totalMs,
  };
  return own.idempotency === undefined ? fields : { ...fields, idempotency: own.idempotency };
}
