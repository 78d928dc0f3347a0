import { isUtf8 } from "node:buffer";
import type { Fault } from "../../contract/faults.ts";
import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import type { IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type { HoldRef } from "../../domain/admission/shared-state.ts";
import type { CurrencyTable } from "../../domain/billing/exchange-rate.ts";
import type { Margin } from "../../domain/billing/margin.ts";
import { knownCountries, type Sovereignty } from "../../domain/catalogue/catalogue.ts";
import { clientName } from "../../domain/record/client-name.ts";
import {
  type AttemptRecord,
  REJECTED_KEY_STATUS,
  type RequestRecord,
  type Surface,
} from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan, PlanRefusal } from "../../domain/routing/plan.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import type { Clock } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";
import { formatTraceparent, parseTraceparent } from "../../kit/trace-context.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { Exchange } from "../exchange.ts";
import { HOP_HEADER, parseHops } from "./loop-detection.ts";

const LABEL_CHARS_MAX = 128;
const UPSTREAM_ID_CHARS_MAX = 256;

type RequestEnd = Pick<RequestRecord, "status" | "errorCode" | "usage" | "charge">;

/** What a request is priced by, beside the price row of who serves it. */
export type PricingTerms = {
  readonly currencies: CurrencyTable;
  readonly margin: Margin;
  /** What it asks for that is billed apart. */
  readonly extras: readonly BillableExtra[] | undefined;
  /** Whether the request states a limit of its output: only then what is reserved is a bound. */
  readonly limited: "yes" | "no";
};

/** Collects what happened to one request, and becomes its record. It never sees content. */
export class RequestTrace {
  readonly requestId: string;
  readonly principal: Principal;
  readonly #exchange: Exchange;
  readonly surface: Surface;
  readonly #clock: Clock;
  readonly #attempts: AttemptRecord[] = [];
  modelRequested: string | null = null;
  streaming = false;
  plan: Plan | PlanRefusal | undefined;
  servingAttempt: Attempt | undefined;
  upstreamId: string | null = null;
  /** What its surface says of it, for the log: never content. */
  detail: JsonObject | undefined;
  #terms: PricingTerms | undefined;
  /** What was reserved for it. */
  heldNanos = 0n;
  /** Why nothing could be reserved, although there are own keys or nodes that need nothing: who costs is left out. */
  holdRefusal: Fault | undefined;
  /** Own keys of the workspace that it was asked with in vain, because of the key. */
  readonly failedOwnKeys: OwnKey[] = [];
  /** The `Idempotency-Key` that is claimed for it, and how long it is remembered when it is charged. */
  idempotencyClaim: (IdempotencyKeyUse & { readonly ttlMs: number }) | undefined;
  #skippedCount = 0;
  /** Of endpoints that were sent the input and did not serve it. */
  #failedSovereignties: Sovereignty[] | undefined;
  #firstByteMs: number | null = null;
  #attemptStartedMs: number | null = null;
  /** An endpoint was asked and its line is not here yet. */
  #isAttemptOpen = false;

  constructor(exchange: Exchange, principal: Principal, surface: Surface, clock: Clock) {
    this.requestId = exchange.requestId;
    this.principal = principal;
    this.#exchange = exchange;
    this.surface = surface;
    this.#clock = clock;
  }

  /** What the caller says of the trace that this is part of; undefined: nothing that can be read. */
  get traceparent(): string | undefined {
    const said = this.#exchange.headers["traceparent"];
    if (typeof said !== "string") return undefined;
    const read = parseTraceparent(said);
    return read === undefined ? undefined : formatTraceparent(read);
  }

  /** What it is priced by: as it was when it was planned, whatever changes afterwards. */
  get terms(): PricingTerms {
    if (this.#terms === undefined)
      throw new Error(`${this.requestId} is not planned: nothing is reserved or charged for it`);
    return this.#terms;
  }

  set terms(terms: PricingTerms) {
    this.#terms = terms;
  }

  /** The gateways that it has passed before this one. */
  get hops(): readonly string[] {
    return parseHops(this.#exchange.headers[HOP_HEADER]);
  }

  /** The attempt that is made now, counted from one. */
  get attemptNumber(): number {
    return this.#attempts.length + 1;
  }

  /** What is reserved for it goes by this. */
  get hold(): HoldRef {
    return { requestId: this.requestId, workspaceId: this.principal.workspace.id };
  }

  /** When it began: the day it is counted in. */
  get createdAtMs(): number {
    return this.#exchange.receivedAtMs;
  }

  /** Endpoints that were asked in vain, and those whose turn it was and that were not asked. */
  get attemptCounts(): { readonly failed: number; readonly untried: number } {
    const notServed = this.#attempts.filter(({ outcome }) => outcome !== "served").length;
    return { failed: notServed - this.#skippedCount, untried: this.#skippedCount };
  }

  /** An endpoint is about to be asked. */
  beginAttempt(elapsedMs: number): void {
    this.#attemptStartedMs = elapsedMs;
    this.#isAttemptOpen = true;
  }

  /** How long the endpoint that was asked last took, without what came before it. */
  get attemptTimings(): { readonly firstByteMs: number; readonly totalMs: number } {
    const { startedMs } = this.#exchange;
    const triedAtMs = this.#attemptStartedMs ?? startedMs;
    const totalMs = this.#clock.monotonicMs() - triedAtMs;
    return { firstByteMs: this.#firstByteMs === null ? totalMs : startedMs + this.#firstByteMs - triedAtMs, totalMs };
  }

  /**
   * What the gateway itself has taken so far, without the time that providers had. Of a stream that is the part before
   * its first byte: the endpoint that serves it has no line yet, and all since it was asked is its own.
   */
  get overheadMs(): number {
    const untilMs = this.#isAttemptOpen
      ? (this.#attemptStartedMs ?? this.#clock.monotonicMs())
      : this.#clock.monotonicMs();
    let ownMs = untilMs - this.#exchange.startedMs;
    for (const { durationMs } of this.#attempts) ownMs -= durationMs;
    return roundToTenths(Math.max(0, ownMs));
  }

  addAttempt(record: AttemptRecord): void {
    this.#isAttemptOpen = false;
    this.#attempts.push(record);
  }

  /** An endpoint failed that had been sent the input, or may have been. */
  addProcessingLocation({ sovereignty }: Attempt["endpoint"]): void {
    this.#failedSovereignties ??= [];
    this.#failedSovereignties.push(sovereignty);
  }

  /**
   * Every country the input may have been processed in: by who served it, and by those that had it before and failed.
   * Empty where they are not all known, null where nobody had it.
   */
  get countries(): readonly string[] | null {
    const served = this.servingAttempt?.endpoint.sovereignty;
    if (this.#failedSovereignties === undefined) return served === undefined ? null : knownCountries(served);
    const all = served === undefined ? this.#failedSovereignties : [served, ...this.#failedSovereignties];
    if (all.some((one) => knownCountries(one).length === 0)) return [];
    return [...new Set(all.flatMap(knownCountries))];
  }

  /** An endpoint had its turn and was not asked. */
  addSkippedAttempt(record: AttemptRecord): void {
    this.addAttempt(record);
    this.#skippedCount += 1;
  }

  /** The first byte of the answer is on its way to the client. */
  markFirstByte(): void {
    this.#firstByteMs ??= this.#clock.monotonicMs() - this.#exchange.startedMs;
  }

  /** The record of a request that is not over: what a restart finds of it. */
  openRecord(): RequestRecord {
    return this.#buildRecord({ status: 200, errorCode: null, usage: null, charge: null });
  }

  finishedRecord(end: RequestEnd): RequestRecord {
    if (this.idempotencyClaim === undefined || end.charge === null || end.charge.nanos === "0")
      return this.#buildRecord(end);
    const { key, body, ttlMs } = this.idempotencyClaim;
    // The charge and the memory of it are one entry of the journal.
    return { idempotency: { key, body, untilMs: this.#clock.nowMs() + ttlMs }, ...this.#buildRecord(end) };
  }

  refusedRecord(problem: Fault): RequestRecord {
    const record = this.#buildRecord({ status: problem.status, errorCode: problem.code, usage: null, charge: null });
    // Rows are added up by these labels, and whoever has the key could make up new ones for ever.
    const isKeptOut = problem.status === REJECTED_KEY_STATUS || problem.code === "ip_not_allowed";
    return isKeptOut ? { ...record, app: null } : record;
  }

  #buildRecord({ status, errorCode, usage, charge }: RequestEnd): RequestRecord {
    const { key, workspace, member } = this.principal;
    const endpoint = this.servingAttempt?.endpoint;
    const { countries } = this;
    const totalMs = this.#clock.monotonicMs() - this.#exchange.startedMs;
    const upstreamMs = this.#attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
    // What each request has of its own comes first, then what many have in common: the books are quicker to read so.
    return {
      id: this.requestId,
      createdAtMs: this.createdAtMs,
      clientRequestId: sanitizeLabel(this.#exchange.headers["x-client-request-id"]),
      // A provider's own word, and nobody said how long it may be.
      upstreamId: this.upstreamId?.slice(0, UPSTREAM_ID_CHARS_MAX) ?? null,
      ttfbMs: this.#firstByteMs === null ? null : roundToTenths(this.#firstByteMs),
      totalMs: roundToTenths(totalMs),
      usage,
      charge,
      workspaceId: workspace.id,
      keyId: key.id,
      memberId: member?.id ?? null,
      environment: key.environment,
      app: sanitizeLabel(this.#exchange.headers["x-title"]) ?? clientName(this.#exchange.headers["user-agent"]),
      surface: this.surface,
      modelRequested: this.modelRequested?.slice(0, MODEL_NAME_CHARS_MAX) ?? null,
      model: endpoint?.model ?? null,
      provider: endpoint?.provider ?? null,
      endpoint: endpoint?.id ?? null,
      level: endpoint?.sovereignty.level ?? null,
      // A copy: a frozen list takes JSON.stringify off its fast path for the whole record.
      countries: countries === null ? null : [...countries],
      router: this.plan?.router ?? null,
      streaming: this.streaming,
      status,
      errorCode,
      overheadMs: roundToTenths(Math.max(0, totalMs - upstreamMs)),
      attempts: this.#attempts,
      decision: this.plan?.decision() ?? null,
      ...(this.servingAttempt?.ownKey === undefined ? {} : { ownKey: true }),
      ...(this.servingAttempt?.node === undefined ? {} : { nodeId: this.servingAttempt.node.id }),
      ...(this.traceparent === undefined ? {} : { trace: this.traceparent }),
      ...(this.detail === undefined ? {} : { detail: this.detail }),
    };
  }
}

const roundToTenths = (ms: number) => Math.round(ms * 10) / 10;

/** A free label of the caller: bounded, control characters stripped. */
function sanitizeLabel(header: string | string[] | undefined): string | null {
  if (typeof header !== "string") return null;
  const clean = decodeHeader(header)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "")
    .trim()
    .slice(0, LABEL_CHARS_MAX)
    .replace(/[\ud800-\udbff]$/, "");
  return clean === "" ? null : clean;
}

/** Header bytes arrive as Latin-1; clients write UTF-8. What is not valid UTF-8 was meant as it is. */
function decodeHeader(header: string): string {
  if (/^[\0-\x7f]*$/.test(header)) return header;
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : header;
}
