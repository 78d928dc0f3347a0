import {
  type BookedFields,
  hasOwn,
  hasShared,
  type OwnFields,
  parsed,
  REST,
  readBooked,
  type SharedFields,
} from "./ingest-fields.ts";
import type { ChargeRecord } from "./record.ts";

/** Within the charge: before it stands what a request has of its own, behind it what it shares with others. */
const SHARED = ',"currency":';

type OwnPart = OwnFields & { readonly charge: Pick<ChargeRecord, "nanos"> };
type SharedPart = SharedFields & { readonly charge: Omit<ChargeRecord, "nanos"> };
type Kind = { readonly bytes: Buffer; readonly shared: SharedPart };

/** With text and all a kind is some two kilobytes. */
const KINDS_MAX = 3000;
/** Where requests share little, so many are read by themselves before it is tried again. */
const ALONE = 10 * KINDS_MAX;
/** What is looked for stands about where it stood in the record before, and at most so much earlier. */
const EARLIER_MAX = 64;

/**
 * Reads the booked fields of one record after the other. What many charged requests share, which is most of the text, is
 * parsed once for all of them. A text of another order than ours is read by itself.
 */
export class BookedReader {
  readonly #kinds = new Map<string, Kind>();
  #last: Kind | undefined;
  #lastAt = 0;
  /** How many were of a kind that was known, since the first of those that are. */
  #met = 0;
  #alone = 0;

  read(text: Buffer): BookedFields {
    if (this.#alone === 0) return this.#readInParts(text) ?? readBooked(text);
    this.#alone -= 1;
    return readBooked(text);
  }

  #readInParts(text: Buffer): BookedFields | undefined {
    const at = indexNear(text, SHARED, 0, this.#lastAt);
    const own = at < 0 ? undefined : ownIn(`${text.toString("utf8", 0, at)}}}`);
    this.#lastAt = own === undefined ? 0 : at;
    if (own === undefined) return undefined;
    const kind = this.#kindAt(text, at);
    if (kind === undefined) return undefined;
    this.#last = kind;
    return joined(own, kind.shared);
  }

  #kindAt(text: Buffer, at: number): Kind | undefined {
    if (this.#last !== undefined && isAt(text, at, this.#last.bytes)) return this.#last;
    const end = indexNear(text, REST, at, at + (this.#last?.bytes.length ?? 0) - REST.length);
    if (end < 0) return undefined;
    const bytes = text.subarray(at, end + REST.length);
    const key = bytes.toString("latin1");
    const known = this.#kinds.get(key);
    if (known === undefined) return this.#learn(key, bytes);
    this.#met += 1;
    return known;
  }

  #learn(key: string, bytes: Buffer): Kind | undefined {
    const shared = sharedIn(`{"charge":{${bytes.toString("utf8", 1, bytes.length - REST.length)}}`);
    if (shared === undefined) return undefined;
    // A copy: the memory that records are read from is used again.
    const kind = { bytes: Buffer.from(bytes), shared };
    if (this.#kinds.size >= KINDS_MAX) this.#beginAnew();
    this.#kinds.set(key, kind);
    return kind;
  }

  #beginAnew(): void {
    if (this.#met < this.#kinds.size) this.#alone = ALONE;
    this.#kinds.clear();
    this.#met = 0;
  }
}

/** The next `what` from the first place on, looked for about where it was the last time before anywhere else. */
function indexNear(text: Buffer, what: string, first: number, last: number): number {
  const from = Math.max(first, last - EARLIER_MAX);
  const at = text.indexOf(what, from);
  return at < 0 && from > first ? text.indexOf(what, first) : at;
}

function isAt(text: Buffer, at: number, bytes: Buffer): boolean {
  const end = at + bytes.length;
  return end <= text.length && text.compare(bytes, 0, bytes.length, at, end) === 0;
}

/** The parts fit together only where the charge was cut behind its amount. */
function ownIn(text: string): OwnPart | undefined {
  const own = parsed<OwnPart>(text);
  return own !== undefined && hasOwn(own) && hasAmountAlone(own) ? own : undefined;
}

function hasAmountAlone<T extends Partial<OwnPart>>(own: T): own is T & Pick<OwnPart, "charge"> {
  return own.charge?.nanos !== undefined && Object.keys(own.charge).length === 1;
}

function sharedIn(text: string): SharedPart | undefined {
  const shared = parsed<SharedPart & OwnFields>(text);
  if (shared === undefined || shared.idempotency !== undefined || !hasShared(shared)) return undefined;
  return hasTerms(shared) ? shared : undefined;
}

function hasTerms<T extends Partial<SharedPart>>(shared: T): shared is T & Pick<SharedPart, "charge"> {
  return shared.charge?.price !== undefined && shared.charge.rate !== undefined;
}

function joined(own: OwnPart, shared: SharedPart): BookedFields {
  const fields: BookedFields = {
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
