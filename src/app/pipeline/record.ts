import type { Fault } from "../../contract/faults.ts";
import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import type { IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type { HoldRef } from "../../domain/admission/shared-state.ts";
import type { Sovereignty } from "../../domain/catalogue/catalogue.ts";
import {
  type AttemptRecord,
  type DecisionRecord,
  REJECTED_KEY_STATUS,
  type RequestRecord,
  type Surface,
  type UsageRecord,
} from "../../domain/record/record.ts";
import { clientName } from "../../domain/record/request-shape.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { PlanRefusal } from "../../domain/routing/plan-refusal.ts";
import { knownCountries } from "../../domain/routing/policy.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { Clock } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";
import { formatTraceparent, parseTraceparent } from "../../kit/trace-context.ts";
import { listOmitted, NOTHING_OMITTED } from "../../language/canon/omitted-paths.ts";
import type { Exchange } from "../exchange.ts";
import { type AttemptOutcome, describeFailure, listNames, type OutcomeDescription } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { sanitizeLabel } from "./header-label.ts";
import type { PricingTerms, RequestOutline } from "./inference-request.ts";
import { HOP_HEADER, parseHops } from "./loop-detection.ts";

const UPSTREAM_ID_CHARS_MAX = 256;

const NO_HOPS: readonly string[] = [];

type RequestEnd = Pick<RequestRecord, "status" | "errorCode" | "usage" | "charge">;

/** Collects what happens to one request and builds its record; it never contains content. */
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
  /** Surface-specific fields of the record; never content. */
  detail: JsonObject | undefined;
  /** Findings by data class; undefined: not inspected. */
  dataClasses: Readonly<Record<string, number>> | undefined;
  /** What was done to the findings before the latest endpoint received the request. */
  dataAction: string | undefined;
  /** Paths of the fields that the serving endpoint's adapter did not carry, in the request or in the reply. */
  omitted = NOTHING_OMITTED;
  /** What the response cache did; undefined: neither policy nor request states it. */
  cacheStatus: string | undefined;
  #terms: PricingTerms | undefined;
  heldNanos = 0n;
  /** Why the hold was refused; the request continues on own keys and nodes, which need none. */
  holdRefusal: Fault | undefined;
  /** Own keys that the provider rejected during this request. */
  readonly failedOwnKeys: OwnKey[] = [];
  /** The claimed `Idempotency-Key`, and how long a charge is remembered under it. */
  idempotencyClaim: (IdempotencyKeyUse & { readonly ttlMs: number }) | undefined;
  #skippedCount = 0;
  /** Of endpoints that received the input and failed. */
  #failedSovereignties: Sovereignty[] | undefined;
  #firstByteMs: number | null = null;
  #attemptStartedMs: number | null = null;
  /** An attempt runs whose record is not added yet. */
  #isAttemptOpen = false;

  constructor(exchange: Exchange, principal: Principal, surface: Surface, clock: Clock) {
    this.requestId = exchange.requestId;
    this.principal = principal;
    this.#exchange = exchange;
    this.surface = surface;
    this.#clock = clock;
  }

  /** The caller's trace context; undefined when absent or invalid. */
  get traceparent(): string | undefined {
    const header = this.#exchange.headers["traceparent"];
    if (typeof header !== "string") return undefined;
    const read = parseTraceparent(header);
    return read === undefined ? undefined : formatTraceparent(read);
  }

  /** Fixed at planning: later changes of rates or margins do not apply. */
  get terms(): PricingTerms {
    if (this.#terms === undefined)
      throw new Error(`${this.requestId} is not planned: nothing is reserved or charged for it`);
    return this.#terms;
  }

  set terms(terms: PricingTerms) {
    this.#terms = terms;
  }

  /** The deployments that the request passed before this one. */
  get hops(): readonly string[] {
    const header = this.#exchange.headers[HOP_HEADER];
    return header === undefined ? NO_HOPS : parseHops(header);
  }

  /** One-based number of the current attempt. */
  get attemptNumber(): number {
    return this.#attempts.length + 1;
  }

  get hold(): HoldRef {
    return { requestId: this.requestId, workspaceId: this.principal.workspace.id };
  }

  /** Decides the day and month of the charge. */
  get createdAtMs(): number {
    return this.#exchange.receivedAtMs;
  }

  get attemptCounts(): { readonly failed: number; readonly skipped: number } {
    const notServed = this.#attempts.filter(({ outcome }) => outcome !== "served").length;
    return { failed: notServed - this.#skippedCount, skipped: this.#skippedCount };
  }

  beginAttempt(elapsedMs: number): void {
    this.#attemptStartedMs = elapsedMs;
    this.#isAttemptOpen = true;
  }

  /** Timings of the latest attempt. */
  get attemptTimings(): { readonly firstByteMs: number; readonly totalMs: number } {
    const { startedMs } = this.#exchange;
    const triedAtMs = this.#attemptStartedMs ?? startedMs;
    const totalMs = this.#clock.monotonicMs() - triedAtMs;
    return { firstByteMs: this.#firstByteMs === null ? totalMs : startedMs + this.#firstByteMs - triedAtMs, totalMs };
  }

  /**
   * Time spent in the gateway so far, without the attempts. While an attempt runs, the time since its start belongs to the
   * provider.
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

  /** Notes where a failed endpoint may have processed the input. */
  addProcessingLocation({ sovereignty }: Attempt["endpoint"]): void {
    this.#failedSovereignties ??= [];
    this.#failedSovereignties.push(sovereignty);
  }

  /**
   * Every country in which the input may have been processed, failed attempts included. Empty when one is unknown; null when
   * no endpoint received the input.
   */
  get countries(): readonly string[] | null {
    const served = this.servingAttempt?.endpoint.sovereignty;
    if (this.#failedSovereignties === undefined) return served === undefined ? null : knownCountries(served);
    const all = served === undefined ? this.#failedSovereignties : [served, ...this.#failedSovereignties];
    if (all.some((one) => knownCountries(one).length === 0)) return [];
    return [...new Set(all.flatMap(knownCountries))];
  }

  /** For an endpoint that was skipped without an upstream call. */
  addSkippedAttempt(record: AttemptRecord): void {
    this.addAttempt(record);
    this.#skippedCount += 1;
  }

  markFirstByte(): void {
    this.#firstByteMs ??= this.#clock.monotonicMs() - this.#exchange.startedMs;
  }

  /** The record of a stream in flight, as a restart finds it in the journal. */
  openRecord(): RequestRecord {
    return this.#buildRecord({ status: 200, errorCode: null, usage: null, charge: null });
  }

  finishedRecord(end: RequestEnd): RequestRecord {
    if (this.idempotencyClaim === undefined || end.charge === null || end.charge.nanos === "0")
      return this.#buildRecord(end);
    const { key, body, ttlMs } = this.idempotencyClaim;
    // One journal entry holds the charge and the idempotency key.
    return { idempotency: { key, body, untilMs: this.#clock.nowMs() + ttlMs }, ...this.#buildRecord(end) };
  }

  refusedRecord(problem: Fault): RequestRecord {
    const record = this.#buildRecord({ status: problem.status, errorCode: problem.code, usage: null, charge: null });
    // Rollups group by this label, and the holder of a revoked key could create any number of labels.
    const isKeptOut = problem.status === REJECTED_KEY_STATUS || problem.code === "ip_not_allowed";
    return isKeptOut ? { ...record, app: null } : record;
  }

  #buildRecord({ status, errorCode, usage, charge }: RequestEnd): RequestRecord {
    const { key, workspace, member } = this.principal;
    const endpoint = this.servingAttempt?.endpoint;
    const { countries } = this;
    const router = this.plan?.router ?? null;
    const decision = this.plan?.decision() ?? null;
    const totalMs = this.#clock.monotonicMs() - this.#exchange.startedMs;
    const upstreamMs = this.#attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
    // Request-specific fields come first: the ledger's reader caches the common rest of the record.
    return {
      id: this.requestId,
      createdAtMs: this.createdAtMs,
      clientRequestId: labelIn(this.#exchange.headers["x-client-request-id"]),
      // Chosen by the provider and of unbounded length.
      upstreamId: this.upstreamId?.slice(0, UPSTREAM_ID_CHARS_MAX) ?? null,
      ttfbMs: this.#firstByteMs === null ? null : roundToTenths(this.#firstByteMs),
      totalMs: roundToTenths(totalMs),
      usage,
      charge,
      workspaceId: workspace.id,
      keyId: key.id,
      memberId: member?.id ?? null,
      environment: key.environment,
      app: labelIn(this.#exchange.headers["x-title"]) ?? clientName(this.#exchange.headers["user-agent"]),
      surface: this.surface,
      modelRequested: this.modelRequested?.slice(0, MODEL_NAME_CHARS_MAX) ?? null,
      model: endpoint?.model ?? null,
      provider: endpoint?.provider ?? null,
      endpoint: endpoint?.id ?? null,
      level: endpoint?.sovereignty.level ?? null,
      // A copy: a frozen array takes JSON.stringify off its fast path for the whole record.
      countries: countries === null ? null : [...countries],
      router,
      ...(router === null ? {} : { routerVersion: versionedRouter(decision) }),
      ...dataClassFields(this),
      streaming: this.streaming,
      status,
      errorCode,
      overheadMs: roundToTenths(Math.max(0, totalMs - upstreamMs)),
      attempts: this.#attempts,
      decision,
      ...(this.servingAttempt?.ownKey === undefined ? {} : { ownKey: true }),
      ...(this.servingAttempt?.node === undefined ? {} : { nodeId: this.servingAttempt.node.id }),
      ...(endpoint?.sovereignty.attested === undefined ? {} : { attested: true }),
      ...(this.traceparent === undefined ? {} : { trace: this.traceparent }),
      ...(this.omitted.length === 0 ? {} : { omitted: listOmitted(this.omitted) }),
      ...(this.detail === undefined ? {} : { detail: this.detail }),
    };
  }
}

function versionedRouter(decision: DecisionRecord | null): string {
  return decision?.router === undefined ? "" : `${decision.router.slug}@${decision.router.version}`;
}

/** Requests that were not inspected, and those without findings, have none. */
function dataClassFields({ dataClasses, dataAction, servingAttempt }: RequestTrace) {
  const names = dataClasses === undefined ? [] : Object.keys(dataClasses);
  if (names.length === 0) return undefined;
  const fields = { dataClasses: names.toSorted().join(",") };
  return servingAttempt === undefined ? fields : { ...fields, dataAction: dataAction ?? "none" };
}

const roundToTenths = (ms: number) => Math.round(ms * 10) / 10;

function labelIn(header: string | string[] | undefined): string | null {
  return typeof header === "string" ? sanitizeLabel(header) : null;
}

export function attemptRecord(
  { endpoint, ownKey }: Attempt,
  { startedAtMs, durationMs }: Pick<AttemptRecord, "startedAtMs" | "durationMs">,
  { outcome, upstreamStatus, reason, maybeAccepted }: OutcomeDescription,
): AttemptRecord {
  const { id, provider } = endpoint;
  const record = {
    endpoint: id,
    provider,
    startedAtMs,
    durationMs,
    outcome,
    upstreamStatus,
    reason,
    maybeAccepted,
  };
  return ownKey === undefined ? record : { ...record, ownKey: true };
}

export function describeOutcome(
  outcome: AttemptOutcome,
  { adjusted = [] }: Pick<UpstreamAdapter, "adjusted">,
): OutcomeDescription {
  if (outcome.is !== "complete" && outcome.is !== "relayed") return describeFailure(outcome);
  const reason = adjusted.length === 0 ? "complete response" : `complete response; adjusted: ${listNames(adjusted)}`;
  return { outcome: "served", upstreamStatus: outcome.upstreamStatus, reason, maybeAccepted: false };
}

/** Passes every finished request on to metrics, alerts and traces; idle observers are skipped. */
export function notifyObservers(
  observers: readonly { readonly isIdle?: boolean; recordRequest(record: RequestRecord): void }[],
): (record: RequestRecord) => void {
  return (record) => {
    for (const observer of observers) if (observer.isIdle !== true) observer.recordRequest(record);
  };
}

/** Journals an uncharged request; the response is sent even when the journal fails. */
export async function recordUncharged(
  { journal, onRequestFinished }: Pick<GatewayDeps, "journal" | "onRequestFinished">,
  record: RequestRecord,
): Promise<void> {
  onRequestFinished(record);
  await journal.append({ t: "done", record }).catch(() => undefined);
}

/**
 * Updates what planning learns from a reply: latency, output length and session affinity. Latency is not sampled when the
 * client was slower than the provider, nor for own keys, whose quota is the workspace's. Nodes keep their own statistics.
 */
export function recordStats(
  { clock, health, trafficStats, sessions, nodes }: GatewayDeps,
  trace: RequestTrace,
  { endpoint, ownKey, node }: Attempt,
  usage: UsageRecord,
  { routingHints, requirements: { maxOutputTokens } }: RequestOutline,
  pace: "provider" | "client",
): void {
  const nowMs = clock.nowMs();
  const { firstByteMs, totalMs } = trace.attemptTimings;
  // A buffered reply does not show when generation began.
  const sample = { firstByteMs: trace.streaming ? firstByteMs : null, totalMs, outputTokens: usage.outputTokens };
  if (pace === "provider" && ownKey === undefined)
    (node === undefined ? health : nodes.entry(node.id)?.health)?.record(endpoint.id, sample, nowMs);
  if (node === undefined) trafficStats.recordReply(endpoint.model, usage.outputTokens, maxOutputTokens);
  if (routingHints?.sessionId === undefined) return;
  const seenTokens = usage.inputTokens + usage.outputTokens;
  sessions.record(trace.principal.workspace.id, routingHints.sessionId, { endpoint: endpoint.id, seenTokens }, nowMs);
}
