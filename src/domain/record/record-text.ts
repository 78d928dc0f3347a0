import { COLUMNS_MIN, toColumns } from "./candidate-columns.ts";
import {
  END_OF_INGEST_FIELDS,
  hasSharedFields,
  type IngestFields,
  type PerRequestFields,
  type SharedFields,
} from "./ingest-fields.ts";
import type {
  AttemptRecord,
  CandidateRecord,
  ChargeRecord,
  DecisionRecord,
  RequestRecord,
  UsageRecord,
} from "./record.ts";

/**
 * The text of a record without zero counts and without values that attempts and candidates share with the request, about a
 * third of it. Fields that ingest and SQL read are never omitted.
 */
export function encodeCompact(record: RequestRecord): string {
  const { clientRequestId, router, usage, attempts, decision } = record;
  return JSON.stringify({
    ...record,
    clientRequestId: clientRequestId ?? undefined,
    router: router ?? undefined,
    usage: usage === null ? null : compactUsage(usage),
    attempts: attempts.map((attempt) => compactAttempt(attempt, record)),
    decision: decision === null ? null : compactDecision(decision, record),
    short: true,
    // The last member: see `packColumns`.
    columns: decision !== null && hasColumns(decision) ? toColumns(decision.candidates) : undefined,
  });
}

const hasColumns = ({ candidates }: DecisionRecord) => candidates.length >= COLUMNS_MIN;

function compactUsage(usage: UsageRecord) {
  return {
    ...usage,
    cachedTokens: usage.cachedTokens || undefined,
    cacheWriteTokens: usage.cacheWriteTokens || undefined,
    reasoningTokens: usage.reasoningTokens || undefined,
    isReasoningUncounted: undefined,
    audioInputTokens: usage.audioInputTokens || undefined,
    audioOutputTokens: usage.audioOutputTokens || undefined,
    characters: usage.characters ?? undefined,
    seconds: usage.seconds ?? undefined,
    estimated: usage.estimated || undefined,
  };
}

function compactAttempt(attempt: AttemptRecord, { endpoint, provider }: RequestRecord) {
  return {
    ...attempt,
    endpoint: attempt.endpoint === endpoint ? undefined : attempt.endpoint,
    provider: attempt.provider === provider ? undefined : attempt.provider,
    maybeAccepted: attempt.maybeAccepted || undefined,
  };
}

function compactDecision(decision: DecisionRecord, record: RequestRecord) {
  return {
    ...decision,
    candidates: hasColumns(decision)
      ? undefined
      : decision.candidates.map((candidate) => compactCandidate(candidate, record)),
    order: isCandidateOrder(decision) ? undefined : decision.order,
  };
}

function compactCandidate(candidate: CandidateRecord, { endpoint, model, provider, level }: RequestRecord) {
  return {
    ...candidate,
    endpoint: candidate.endpoint === endpoint ? undefined : candidate.endpoint,
    model: candidate.model === model ? undefined : candidate.model,
    provider: candidate.provider === provider ? undefined : candidate.provider,
    level: candidate.level === level ? undefined : candidate.level,
    outcome: candidate.outcome === "planned" ? undefined : candidate.outcome,
  };
}

/** Whether the order equals the order of the planned candidates. */
function isCandidateOrder({ candidates, order }: DecisionRecord): boolean {
  let index = 0;
  for (const { outcome, endpoint } of candidates) {
    if (outcome !== "planned") continue;
    if (order[index] !== endpoint) return false;
    index += 1;
  }
  return index === order.length;
}

/** Inside the charge: per-request fields precede it, shared fields follow. */
const SHARED_START = ',"currency":';

type PerRequestPart = PerRequestFields & { readonly charge: Pick<ChargeRecord, "nanos"> };
type SharedPart = SharedFields & { readonly charge: Omit<ChargeRecord, "nanos"> };
type SharedTemplate = { readonly bytes: Buffer; readonly shared: SharedPart };

/** A template takes about two kilobytes. */
const TEMPLATES_MAX = 3000;
/** When templates are rarely reused, this many records are parsed without them. */
const BYPASS_RECORDS = 10 * TEMPLATES_MAX;
/** Marker offsets vary little between records: the search starts this much before the last one. */
const LOOKBACK_BYTES = 64;

/**
 * Parses the ingest fields of consecutive records. The shared fields, most of the text, are parsed once per template. A text
 * with a different field order is parsed on its own.
 */
export class IngestFieldsReader {
  readonly #templates = new Map<string, SharedTemplate>();
  #lastTemplate: SharedTemplate | undefined;
  #lastOffset = 0;
  /** Template hits since the last reset. */
  #hits = 0;
  #bypassLeft = 0;

  read(text: Buffer): IngestFields {
    if (this.#bypassLeft === 0) return this.#readWithTemplate(text) ?? parseIngestFields(text);
    this.#bypassLeft -= 1;
    return parseIngestFields(text);
  }

  #readWithTemplate(text: Buffer): IngestFields | undefined {
    const at = indexNear(text, SHARED_START, 0, this.#lastOffset);
    const perRequest = at < 0 ? undefined : parsePerRequestPart(`${text.toString("utf8", 0, at)}}}`);
    this.#lastOffset = perRequest === undefined ? 0 : at;
    if (perRequest === undefined) return undefined;
    const template = this.#templateAt(text, at);
    if (template === undefined) return undefined;
    this.#lastTemplate = template;
    return joinParts(perRequest, template.shared);
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
    // A copy, because the batch buffer is reused.
    const template = { bytes: Buffer.from(bytes), shared };
    if (this.#templates.size >= TEMPLATES_MAX) this.#reset();
    this.#templates.set(key, template);
    return template;
  }

  #reset(): void {
    if (this.#hits < this.#templates.size) this.#bypassLeft = BYPASS_RECORDS;
    this.#templates.clear();
    this.#hits = 0;
  }
}

/** The first occurrence from `first` on, searched near the last known offset before anywhere else. */
function indexNear(text: Buffer, marker: string, first: number, last: number): number {
  const from = Math.max(first, last - LOOKBACK_BYTES);
  const at = text.indexOf(marker, from);
  return at < 0 && from > first ? text.indexOf(marker, first) : at;
}

function bytesMatchAt(text: Buffer, at: number, bytes: Buffer): boolean {
  const end = at + bytes.length;
  return end <= text.length && text.compare(bytes, 0, bytes.length, at, end) === 0;
}

/** The parts can be joined only when the text was cut right after the amount of the charge. */
function parsePerRequestPart(text: string): PerRequestPart | undefined {
  const perRequest = tryParse<PerRequestPart>(text);
  return perRequest !== undefined && hasPerRequestFields(perRequest) && hasOnlyAmount(perRequest)
    ? perRequest
    : undefined;
}

function hasOnlyAmount<T extends Partial<PerRequestPart>>(
  perRequest: T,
): perRequest is T & Pick<PerRequestPart, "charge"> {
  return perRequest.charge?.nanos !== undefined && Object.keys(perRequest.charge).length === 1;
}

function parseSharedPart(text: string): SharedPart | undefined {
  const shared = tryParse<SharedPart & PerRequestFields>(text);
  if (shared === undefined || shared.idempotency !== undefined || !hasSharedFields(shared)) return undefined;
  return hasPriceAndRate(shared) ? shared : undefined;
}

function hasPriceAndRate<T extends Partial<SharedPart>>(shared: T): shared is T & Pick<SharedPart, "charge"> {
  return shared.charge?.price !== undefined && shared.charge.rate !== undefined;
}

function joinParts(perRequest: PerRequestPart, shared: SharedPart): IngestFields {
  const fields: IngestFields = {
    id: perRequest.id,
    createdAtMs: perRequest.createdAtMs,
    workspaceId: shared.workspaceId,
    keyId: shared.keyId,
    memberId: shared.memberId,
    environment: shared.environment,
    app: shared.app,
    surface: shared.surface,
    modelRequested: shared.modelRequested,
    model: shared.model,
    provider: shared.provider,
    endpoint: shared.endpoint,
    level: shared.level,
    countries: shared.countries,
    router: shared.router ?? null,
    status: shared.status,
    errorCode: shared.errorCode,
    usage: perRequest.usage,
    charge: { nanos: perRequest.charge.nanos, ...shared.charge },
    streaming: shared.streaming,
    ttfbMs: perRequest.ttfbMs,
    totalMs: perRequest.totalMs,
  };
  const { routerVersion, dataClasses, dataAction } = shared;
  let routed = routerVersion === undefined ? fields : { ...fields, routerVersion };
  if (dataClasses !== undefined) routed = { ...routed, dataClasses };
  if (dataAction !== undefined) routed = { ...routed, dataAction };
  return perRequest.idempotency === undefined ? routed : { ...routed, idempotency: perRequest.idempotency };
}

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
function tryParse<T>(text: string): Partial<T> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isComplete(head: Partial<IngestFields>): head is IngestFields {
  return head.charge !== undefined && hasPerRequestFields(head) && hasSharedFields(head);
}

function hasPerRequestFields<T extends Partial<PerRequestFields>>(head: T): head is T & PerRequestFields {
  return (
    head.id !== undefined &&
    head.createdAtMs !== undefined &&
    head.ttfbMs !== undefined &&
    head.totalMs !== undefined &&
    head.usage !== undefined
  );
}
