import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import { classifyMalformed } from "../../io/upstream/classify-failure.ts";
import { LARGE_RESPONSE_BYTES } from "../../io/upstream/response-guard.ts";
import type { MemoryLease } from "../../io/upstream/response-memory.ts";
import type { UpstreamBodyHandler, UpstreamCall } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import { listOmitted } from "../../language/canon/omitted-paths.ts";
import type { ReplyStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { ResponseSink } from "../exchange.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { type BufferedReading, type RelayEvents, undecodedOutcome, unusableOutcome } from "./error-response.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { ReasoningChoice } from "./inference-request.ts";
import { addDataClassHeaders } from "./inspect-content.ts";
import { type LongResponse, openLongResponse } from "./long-response.ts";
import type { RequestTrace } from "./record.ts";

type RelayDeps = Pick<GatewayDeps, "limits" | "responses" | "timers" | "clock" | "keepAlives">;

/** The upstream call of an attempt, once it was sent. */
export type CancelHandle = { call: UpstreamCall | undefined; isCancelled: boolean };

export function cancelCall(handle: CancelHandle): void {
  handle.isCancelled = true;
  handle.call?.abort();
}

/** Wait for the usage of a finished reply whose client has disconnected. */
const USAGE_WAIT_MS = 1000;
/** The reason in the record of an attempt that was cut by the deadline. */
export const TIMEOUT_REASON = "the request deadline passed";

/**
 * The client's side of a response: what it has received, whether it still reads, and how the running attempt is cancelled.
 * Until the commit point, the first byte sent, the request can still move to another endpoint.
 */
export class Relay {
  readonly sink: ResponseSink;
  readonly gateway: RelayDeps;
  readonly #events: RelayEvents;
  #committed = false;
  /** Content of the model was sent. */
  #hasContent = false;
  #pace: "provider" | "client" = "provider";
  /** While the stream waits for the client. */
  #draining: Promise<void> | undefined;
  /** Total time spent waiting for the client. */
  #clientWaitMs = 0;
  #hasStoppedReading = false;
  #isExpired = false;
  #cancel: (() => void) | undefined;
  /** Whether the current provider bills a cancelled reply in full. */
  #billing: "until_cancelled" | "to_the_end" = "until_cancelled";
  /** The provider's stream in flight, and its next keep-alive. */
  stream: ReplyStream | undefined;
  keepAlive: Disposable | undefined;
  #usageTimer: Timer | undefined;
  /** Memory of long responses, held until they are written. */
  readonly #leases: MemoryLease[] = [];

  constructor(sink: ResponseSink, gateway: RelayDeps, relayEvents: RelayEvents) {
    this.sink = sink;
    this.gateway = gateway;
    this.#events = relayEvents;
    sink.onDisconnect(() => this.cancel());
  }

  get disconnected(): boolean {
    return this.sink.disconnected;
  }

  /** The client disconnected, or read so slowly that the deadline passed. */
  get clientStoppedReading(): boolean {
    return this.#hasStoppedReading || this.disconnected;
  }

  get committed(): boolean {
    return this.#committed;
  }

  get hasSentContent(): boolean {
    return this.#hasContent;
  }

  get isExpired(): boolean {
    return this.#isExpired;
  }

  /** `client` once the client was slower than the provider. */
  get pace(): "provider" | "client" {
    return this.#pace;
  }

  /** Sets how the current attempt is cancelled, and what its provider bills then. */
  setCancel(cancel: () => void, billed: "until_cancelled" | "to_the_end" = "until_cancelled"): void {
    this.#cancel = cancel;
    this.#billing = billed;
    if (this.disconnected) cancel();
  }

  /** After the model's last content a cancel would only lose the usage, so it waits for that briefly. */
  cancel(): void {
    if (this.#isReadToEnd) return;
    if (this.stream?.isFinished === true && this.stream.usage === undefined)
      this.#usageTimer ??= this.gateway.timers.after(USAGE_WAIT_MS, () => this.#cancel?.());
    else this.#cancel?.();
  }

  /** The provider bills the whole reply anyway, so the stream is read to its end for the usage. */
  get #isReadToEnd(): boolean {
    const isAbandoned = this.sink.disconnected && this.sink.unattended !== true && !this.#isExpired;
    return isAbandoned && this.#billing === "to_the_end" && this.stream !== undefined && this.hasSentContent;
  }

  /**
   * The deadline passed. A client that was waited for at the end, or for most of the time, counts as disconnected and pays
   * for the partial output.
   */
  expire(): void {
    const isClientSlow = this.#draining !== undefined || 2 * this.#clientWaitMs > this.gateway.limits.requestTimeoutMs;
    // Without content there is nothing to charge, and the client gets the timeout fault.
    if (isClientSlow && this.hasSentContent && this.sink.unattended !== true) this.#hasStoppedReading = true;
    this.#isExpired = true;
    this.cancel();
  }

  stop(): void {
    cancelTimer(this.keepAlive);
    cancelTimer(this.#usageTimer);
    if (this.#leases.length > 0) this.#release();
  }

  #release(): void {
    const leases = this.#leases.splice(0);
    const release = () => {
      for (const lease of leases) lease.release();
    };
    const { writing } = this.sink;
    if (writing === undefined) release();
    else void writing.then(release);
  }

  hold(lease: MemoryLease): void {
    this.#leases.push(lease);
  }

  commit(): void {
    this.#committed = true;
    this.#events.onCommit();
  }

  markFirstContent(): void {
    this.#events.onFirstContent();
  }

  /** True for the first content of the response. */
  markContent(): boolean {
    if (this.#hasContent) return false;
    this.#hasContent = true;
    this.#events.onFirstContent();
    return true;
  }

  resumeWhenDrained(then: () => void): void {
    // Bytes that were read before the pause still arrive; the first waiter resumes for all of them.
    if (this.#draining === undefined) void this.whenDrained().then(then);
  }

  /** The same promise for all that wait for the client. */
  whenDrained(): Promise<void> {
    this.#pace = "client";
    const { clock } = this.gateway;
    const sinceMs = clock.monotonicMs();
    this.#draining ??= this.sink.drained().then(() => {
      this.#clientWaitMs += clock.monotonicMs() - sinceMs;
      this.#draining = undefined;
    });
    return this.#draining;
  }
}

/** Buffers a whole reply up to the size limit. */
export function bufferedReader(reading: BufferedReading): UpstreamBodyHandler {
  const { gateway, call, adapter, provider, resolve, failed, headers } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  let long: LongResponse | undefined;
  return {
    onData(chunk) {
      bytes += chunk.length;
      if (bytes > gateway.limits.responseMaxBytes) {
        const verdict = classifyMalformed(`longer than ${gateway.limits.responseMaxBytes} bytes`, provider);
        resolve({ is: "failed", verdict, upstreamStatus: 200 });
        long?.stop();
        call.abort();
        return "more";
      }
      if (long !== undefined) return long.push(chunk);
      chunks.push(chunk);
      if (bytes <= LARGE_RESPONSE_BYTES) return "more";
      long = openLongResponse(reading, bufferedOutcome);
      return long.push(Buffer.concat(chunks.splice(0)));
    },
    onEnd() {
      if (long !== undefined) return long.finish();
      const [only] = chunks;
      const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
      const document = new JsonDocument(body, gateway.responses.json);
      const reply = adapter.decodeResponse(document, headers);
      resolve(reply === undefined ? undecodedOutcome(document, reading) : bufferedOutcome(reply, adapter, reading));
    },
    onFailure(failure) {
      long?.stop();
      failed(failure, 200);
    },
  };
}

export function bufferedOutcome(
  reply: WholeReply | UnusableReply,
  adapter: Pick<UpstreamAdapter, "unusableFaultCode">,
  endpoint: Pick<Endpoint, "provider" | "model">,
): AttemptOutcome {
  if ("unusable" in reply) return unusableOutcome(reply.unusable, adapter, endpoint);
  return { is: "complete", reply, upstreamStatus: 200 };
}

/** Surfaces with a closed list of headers in their specification; their route reason is only in the log. */
const CLOSED_HEADER_SURFACES: ReadonlySet<Surface> = new Set(["decisions", "speech"]);

const NO_COUNTRIES: readonly string[] = [];

/** Adds the provider and routing headers of an inference response. */
export function addInferenceHeaders(
  headers: Record<string, string>,
  trace: RequestTrace,
  plan: Plan,
  adapter: UpstreamAdapter | undefined,
  reasoning: ReasoningChoice | undefined,
): void {
  const endpoint = trace.servingAttempt?.endpoint;
  if (endpoint !== undefined) {
    headers["x-svc-model"] = endpoint.model;
    headers["x-svc-provider"] = endpoint.provider;
    headers["x-svc-sovereignty-level"] = endpoint.sovereignty.level;
    const { countries } = trace;
    const [country] = countries ?? NO_COUNTRIES;
    if (countries !== null && country !== undefined) {
      headers["x-svc-compute-countries"] = countries.length === 1 ? country : countries.join(",");
      if (trace.surface === "speech" && countries.length === 1) headers["x-svc-compute-country"] = country;
    }
    const node = trace.servingAttempt?.node;
    if (node !== undefined && !trace.streaming) {
      headers["x-svc-served-by"] = "own-resource";
      headers["x-svc-node-id"] = node.id;
    }
  }
  if (adapter !== undefined && adapter.surface !== null) headers["x-svc-upstream-surface"] = adapter.surface;
  if (adapter?.responseHeaders !== undefined) Object.assign(headers, adapter.responseHeaders);
  if (trace.omitted.length > 0) headers["x-svc-omitted"] = listOmitted(trace.omitted).join(",");
  if (CLOSED_HEADER_SURFACES.has(trace.surface)) return;
  if (trace.cacheStatus !== undefined) headers["x-svc-cache"] = trace.cacheStatus;
  if (trace.dataClasses !== undefined) addDataClassHeaders(headers, trace);
  headers["x-svc-overhead-ms"] = String(trace.overheadMs);
  headers["x-svc-route-reason"] = routeReason(trace, plan);
  if (plan.router !== null) headers["x-svc-router"] = plan.router;
  if (reasoning === undefined) return;
  if (reasoning.by === "provider_default" || adapter?.effort === "untold") {
    headers["x-svc-reasoning-chosen-by"] = "provider_default";
    return;
  }
  headers["x-svc-reasoning-effort"] = adapter?.effort ?? reasoning.effort;
  headers["x-svc-reasoning-chosen-by"] = reasoning.by;
}

/** The plan's reason, or the number of failed attempts before the serving one. */
function routeReason(trace: RequestTrace, plan: Plan): string {
  const { failed, skipped } = trace.attemptCounts;
  const served = trace.servingAttempt?.endpoint;
  const after: string[] = [];
  if (failed > 0) after.push(`${failed} failed ${failed === 1 ? "attempt" : "attempts"}`);
  if (skipped > 0) after.push(`${skipped} skipped`);
  const text =
    after.length === 0 || served === undefined
      ? plan.reason
      : `${served.provider} ${served.region} (${served.sovereignty.level}): chosen after ${after.join(" and ")}`;
  return toHeaderText(text);
}

export function toHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}
