import {
  type BookedFields,
  hasOwn,
  hasShared,
  type OwnFields,
  parsed,
  REST,
  readBooked,
  type SharedFields,
} from "./booked.ts";
import type { ChargeRecord } from "./record.ts";

/** Within the charge: before it stands what a request has of its own, behind it what it shares with others. */
const SHARED = ',"currency":';

type OwnPart = OwnFields & { readonly charge: Pick<ChargeRecord, "nanos"> };
type SharedPart = SharedFields & { readonly charge: Omit<ChargeRecord, "nanos"> };
type Kind = { readonly bytes: Buffer; readonly shared: SharedPart };

/** The text of what is shared is about a kilobyte. */
const KINDS_MAX = 1000;
/** What a request has of its own may be so much shorter than it was with the one before. */
const SHORTER_MAX = 64;

/**
 * Reads the booked fields of one record after the other. What many charged requests share, which is most of the text, is
 * parsed once for all of them. A text of another order than ours is read by itself.
 */
export class BookedReader {
  readonly #kinds = new Map<string, Kind>();
  #last: Kind | undefined;
  #lastAt = 0;

  read(text: Buffer): BookedFields {
    return this.#readInParts(text) ?? readBooked(text);
  }

  #readInParts(text: Buffer): BookedFields | undefined {
    const at = this.#sharedAt(text);
    const own = at < 0 ? undefined : ownIn(`${text.toString("utf8", 0, at)}}}`);
    this.#lastAt = own === undefined ? 0 : at;
    if (own === undefined) return undefined;
    const kind = this.#kindAt(text, at);
    if (kind === undefined) return undefined;
    this.#last = kind;
    return joined(own, kind.shared);
  }

  /** Looked for where it was the last time, and before that if it is not there. */
  #sharedAt(text: Buffer): number {
    const from = this.#lastAt - SHORTER_MAX;
    const at = text.indexOf(SHARED, Math.max(0, from));
    return at < 0 && from > 0 ? text.indexOf(SHARED) : at;
  }

  #kindAt(text: Buffer, at: number): Kind | undefined {
    if (this.#last !== undefined && isAt(text, at, this.#last.bytes)) return this.#last;
    const end = text.indexOf(REST, at);
    if (end < 0) return undefined;
    const bytes = text.subarray(at, end + REST.length);
    const key = bytes.toString("latin1");
    return this.#kinds.get(key) ?? this.#learn(key, bytes);
  }

  #learn(key: string, bytes: Buffer): Kind | undefined {
    const shared = sharedIn(`{"charge":{${bytes.toString("utf8", 1, bytes.length - REST.length)}}`);
    if (shared === undefined) return undefined;
    // A copy: the memory that records are read from is used again.
    const kind = { bytes: Buffer.from(bytes), shared };
    if (this.#kinds.size >= KINDS_MAX) this.#kinds.clear();
    this.#kinds.set(key, kind);
    return kind;
  }
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
