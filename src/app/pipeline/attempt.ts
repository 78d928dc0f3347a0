import type { Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { isOwnResource, type Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import {
  classifyExcluded,
  classifyFailure,
  classifyOwnOnly,
  redactVerdict,
} from "../../io/upstream/classify-failure.ts";
import { authorize, upstreamHeaders } from "../../io/upstream/connections.ts";
import { presentedSecrets } from "../../io/upstream/credential-secrets.ts";
import { withPlausibilityChecks } from "../../io/upstream/response-plausibility.ts";
import type { UpstreamBody, UpstreamFailure } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { memoize } from "../../kit/memoize.ts";
import { cancelTimer } from "../../kit/timers.ts";
import { NOTHING_OMITTED } from "../../language/canon/omitted-paths.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { Exchange } from "../exchange.ts";
import { holdAmountFor } from "./admit.ts";
import {
  attributeToOwner,
  credentialRefusedOutcome,
  encodingFailure,
  type MissingCredential,
  missingCredentialFor,
  unencodableAttempt,
  unsentOutcome,
  withCatalogueClaims,
  withdrawnOutcome,
} from "./attempt-failure.ts";
import type { AttemptOutcome, AttemptResult } from "./attempt-outcome.ts";
import { errorReader, isJson, rejectCompressed } from "./error-response.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type GuardedContent, guardContent, isGuarded, traceTreatments } from "./guard-content.ts";
import type { EndpointAdapter, InferenceRequest, ReasoningChoice } from "./inference-request.ts";
import { HOP_HEADER } from "./loop-detection.ts";
import type { AdmittedRequest, PlannedRequest } from "./planned-request.ts";
import { attemptRecord, describeOutcome, type RequestTrace } from "./record.ts";
import { recordOpened } from "./record-opened.ts";
import { addInferenceHeaders, bufferedReader, type CancelHandle, cancelCall, Relay } from "./relay.ts";
import { audioReader, streamReader } from "./relay-stream.ts";
import { failedExclusiveKey, RetryLoop, type ServedAttempt } from "./retry-loop.ts";
import { bytesReader } from "./sequential-attempt.ts";
import { sendParts } from "./split-attempt.ts";
import type { OwnKeyDeps, ResourceLayers } from "./workspace-resources.ts";

/** The attempt stage: tries the endpoints of the plan until one serves the request, and relays its response. */
export class AttemptStage {
  readonly #request: AdmittedRequest;
  readonly #retryLoop: RetryLoop;
  readonly #deadline: Disposable;
  readonly relay: Relay;
  /** Of the latest attempt. */
  adapter: UpstreamAdapter | undefined;
  #reasoning: ReasoningChoice | undefined;

  constructor(request: AdmittedRequest) {
    const { gateway, trace, sink, plan, decoded, deadlineMs } = request;
    this.#request = request;
    this.relay = new Relay(sink, gateway, {
      onCommit: () => this.#commit(),
      onFirstContent: () => trace.markFirstByte(),
    });
    this.#retryLoop = new RetryLoop({
      gateway,
      trace,
      plan,
      relay: this.relay,
      deadlineMs,
      runAttempt: (attempt) => this.#attempt(attempt),
      isCoveredByHold: (attempt) => holdAmountFor(gateway, trace, attempt, decoded.request) <= trace.heldNanos,
      referencesProviderState: () => decoded.request.referencesProviderState(),
    });
    this.#deadline = gateway.deadlines.at(deadlineMs, () => this.#retryLoop.expire());
    gateway.retryBudget.requestStarted();
  }

  run(): Promise<ServedAttempt> {
    return this.#retryLoop.run();
  }

  /** Called after settlement: until then the request counts for the retry budget. */
  stop(): void {
    cancelTimer(this.#deadline);
    this.#request.gateway.retryBudget.requestFinished();
    this.relay.stop();
  }

  /** Adds the inference headers to the exchange's own set. */
  responseHeaders(): Record<string, string> {
    const { exchange, trace, plan } = this.#request;
    addInferenceHeaders(exchange.baseHeaders, trace, plan, this.adapter, this.#reasoning);
    return exchange.baseHeaders;
  }

  #attempt(attempt: Attempt): MaybePromise<AttemptResult> {
    const { gateway, trace, exchange, decoded, plan, currentPolicy, changedRouter, inspected } = this.#request;
    let chosen: EndpointAdapter;
    try {
      const head = replyHeadFor(exchange, trace, decoded.request, attempt);
      chosen = decoded.request.adapterFor(attempt, plan, head, gateway.responses.text);
    } catch (error) {
      return unencodableAttempt(gateway, attempt, error);
    }
    const { adapter } = chosen;
    this.adapter = adapter;
    this.#reasoning = chosen.reasoning;
    trace.omitted = adapter.omitted ?? NOTHING_OMITTED;
    const recheckKey = () => gateway.recheckKey(exchange);
    const { relay } = this;
    const current = { currentPolicy, changedRouter, inspected, recheckKey };
    return runAttempt({ gateway, trace, attempt, adapter, relay, plan, ...current });
  }

  /** The commit point of a stream: after it the request cannot move to another endpoint. */
  #commit(): void {
    const { gateway, trace, sink } = this.#request;
    recordOpened(gateway, trace);
    const headers = this.responseHeaders();
    headers["content-type"] ??= this.adapter?.streamResponseType ?? "text/event-stream; charset=utf-8";
    headers["cache-control"] = "no-cache";
    sink.start(200, headers);
  }
}

export function replyHeadFor(
  { receivedAtMs }: Exchange,
  { requestId }: RequestTrace,
  { inputTokens }: InferenceRequest,
  { endpoint }: Attempt,
): ReplyHead {
  return { id: requestId, createdSeconds: Math.floor(receivedAtMs / 1000), model: endpoint.model, inputTokens };
}

export type AttemptRun = Pick<PlannedRequest, "currentPolicy" | "changedRouter" | "inspected"> & {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly attempt: Attempt;
  readonly adapter: UpstreamAdapter;
  readonly relay: Relay;
  readonly plan: Pick<Plan, "recheckPolicy" | "recheckRouter">;
  /** Throws when the key was revoked or narrowed. */
  readonly recheckKey: () => void;
  /** What rules of data classes made of the body. */
  readonly guard?: GuardedContent;
};

/** Sends the request to one endpoint. */
export function runAttempt(run: AttemptRun): MaybePromise<AttemptResult> {
  const { gateway, trace, attempt, adapter } = run;
  const startedAtMs = gateway.clock.nowMs();
  const started = gateway.clock.monotonicMs();
  trace.beginAttempt(started);
  const sending = sendRequest(
    attempt.node === undefined ? run : { ...run, adapter: withPlausibilityChecks(adapter, attempt.endpoint) },
  );
  return chain(sending, (outcome) => {
    const durationMs = Math.round((gateway.clock.monotonicMs() - started) * 10) / 10;
    return { outcome, record: attemptRecord(attempt, { startedAtMs, durationMs }, describeOutcome(outcome, adapter)) };
  });
}

function sendRequest(run: AttemptRun): MaybePromise<AttemptOutcome> {
  const { adapter } = run;
  if (adapter.subRequests !== undefined) return sendParts(run, adapter.subRequests, sendBody);
  let body: UpstreamBody;
  try {
    body = adapter.encode();
  } catch (error) {
    return encodingFailure(error);
  }
  return send(run, body);
}

function send(run: AttemptRun, body: UpstreamBody): MaybePromise<AttemptOutcome> {
  const handle: CancelHandle = { call: undefined, isCancelled: false };
  run.relay.setCancel(() => cancelCall(handle), cancellationBilling(run));
  return sendBody(run, body, handle);
}

function sendBody(run: AttemptRun, body: UpstreamBody, handle: CancelHandle): MaybePromise<AttemptOutcome> {
  const { inspected, guard, attempt } = run;
  if (inspected.inspection !== undefined && guard === undefined)
    return sendGuarded(run, body, handle, attempt.endpoint);
  return chain(headersFor(run, body), (headers) => dispatch(run, body, headers, handle));
}

async function sendGuarded(run: AttemptRun, body: UpstreamBody, handle: CancelHandle, endpoint: Endpoint) {
  const guard = await guardContent(run, body, endpoint);
  return sendBody({ ...run, adapter: guard.restoring, guard }, guard.body, handle);
}

function cancellationBilling({ attempt: { endpoint } }: AttemptRun): "until_cancelled" | "to_the_end" {
  return endpoint.quirks?.includes("bills-on") === true ? "to_the_end" : "until_cancelled";
}

/** Memoized: a freshly concatenated string has to be flattened and hashed before it can be a map key. */
const platformUrl = memoize((baseUrl: string) => memoize((path: string) => `${baseUrl}${path}`));

function upstreamUrl({
  attempt: { baseUrl, ownKey, node },
  adapter: { path },
}: Pick<AttemptRun, "attempt" | "adapter">): string {
  if (path.startsWith("http")) return path;
  return ownKey === undefined && node === undefined ? platformUrl(baseUrl)(path) : `${baseUrl}${path}`;
}

function headersFor(
  { attempt, adapter, gateway, trace }: AttemptRun,
  body: UpstreamBody,
): MaybePromise<Record<string, string> | MissingCredential> {
  const headers = upstreamHeaders(adapter, trace.streaming ? adapter.streamContentType : "application/json");
  if (gateway.transport.isReplay === true) return headers;
  const { endpoint } = attempt;
  const outgoing = { url: upstreamUrl({ attempt, adapter }), headers, body, endpoint, nowMs: gateway.clock.nowMs() };
  const credential = connectionsOfAttempt(gateway, attempt)?.credential(endpoint.provider);
  try {
    const authorized = authorize(credential, adapter.auth, outgoing);
    // Added after signing, because proxies may change these headers.
    const traceparent = gateway.traceparentFor?.(trace.requestId, trace.traceparent, trace.attemptNumber);
    const tracing = traceparent === undefined ? undefined : { traceparent };
    const hops = shouldSendHops(trace.hops, gateway.loopDetection, attempt)
      ? { [HOP_HEADER]: appendHop(trace.hops, gateway.loopDetection.mark) }
      : undefined;
    if (!(authorized instanceof Promise)) return Object.assign(headers, authorized, tracing, hops);
    return authorized.then((own) => Object.assign(headers, own, tracing, hops), missingCredentialFor);
  } catch (error) {
    return missingCredentialFor(error);
  }
}

/** The header is sent to addresses that may be gateways, and always once a request has passed one. */
export function shouldSendHops(
  hops: readonly string[],
  { everywhere }: GatewayDeps["loopDetection"],
  attempt: HopTarget,
): boolean {
  return everywhere || hops.length > 0 || !isCatalogueAddress(attempt);
}

type HopTarget = Pick<Attempt, "node" | "baseUrl"> & { readonly endpoint: Pick<Attempt["endpoint"], "baseUrl"> };

/** True for the catalogue's own address, or a cloud project below it; such addresses are no gateways. */
function isCatalogueAddress({ node, baseUrl, endpoint: { baseUrl: catalogueUrl } }: HopTarget): boolean {
  return (
    node === undefined && catalogueUrl !== null && (baseUrl === catalogueUrl || baseUrl.startsWith(`${catalogueUrl}/`))
  );
}

function appendHop(hops: readonly string[], mark: string): string {
  return hops.length === 0 ? mark : [...hops, mark].join(", ");
}

function dispatch(
  run: AttemptRun,
  body: UpstreamBody,
  headers: Record<string, string> | MissingCredential,
  handle: CancelHandle,
): MaybePromise<AttemptOutcome> {
  const { gateway, trace, attempt, adapter, relay, plan, currentPolicy, changedRouter, recheckKey, guard } = run;
  const { endpoint } = attempt;
  const unsent = (why: string, kind?: "connect") => unsentOutcome(relay, endpoint, why, kind);
  if (headers === "unreached") return unsent("the provider's identity service returned no token", "connect");
  if (headers === "refused")
    return relay.disconnected ? unsent("the client disconnected") : credentialRefusedOutcome(attempt);
  if (handle.isCancelled) return unsent("cancelled before it was sent");
  // A revoked key ends the whole request.
  recheckKey();
  const policy = currentPolicy();
  if (policy === undefined) return unsent("the workspace no longer exists");
  const row = currentEndpointFor(gateway, attempt);
  if (row === undefined)
    return withdrawnOutcome(attempt, currentEndpoint(gateway, attempt), connectionsOfAttempt(gateway, attempt));
  // The policy, the router or the catalogue may have changed since the plan was made.
  const router = changedRouter();
  const refused = plan.recheckPolicy(row, policy) ?? (router && plan.recheckRouter(attempt, router));
  if (refused !== undefined)
    return { is: "failed", verdict: classifyExcluded(refused.reason, refused.fault), upstreamStatus: null };
  const { dataClasses } = policy;
  if (dataClasses !== undefined && !isGuarded(run, dataClasses, row)) return sendGuarded(run, body, handle, row);
  const own = exclusiveKeyBarring(gateway, trace, attempt);
  if (own !== undefined) return { is: "failed", verdict: classifyOwnOnly(own.provider), upstreamStatus: null };
  // Captured for redaction: the credential may be replaced while the request is in flight.
  const credential = connectionsOfAttempt(gateway, attempt)?.credential(endpoint.provider);
  // Set last: an attempt that was not sent did not process the input anywhere.
  trace.servingAttempt = attempt;
  if (guard !== undefined) traceTreatments(trace, guard);
  return new Promise((settle) => {
    const resolve = (outcome: AttemptOutcome) => {
      if (outcome.is !== "failed" && outcome.is !== "broken") return settle(outcome);
      const { upstreamStatus } = outcome;
      const known = gateway.secretsOf(trace.principal.workspace.id);
      const redacted = redactVerdict(outcome.verdict, [...presentedSecrets(credential, headers), ...known]);
      const verdict = outcome.is === "failed" ? withCatalogueClaims(redacted, attempt) : redacted;
      settle({ ...outcome, verdict: attributeToOwner(verdict, attempt, upstreamStatus) });
    };
    const failed = (failure: UpstreamFailure, upstreamStatus: number | null) =>
      resolve(
        relay.disconnected
          ? { is: "disconnected", stream: undefined }
          : { is: "failed", verdict: classifyFailure(failure, endpoint.provider), upstreamStatus },
      );
    const sent = gateway.transport.send(
      {
        url: upstreamUrl({ attempt, adapter }),
        headers,
        body,
        method: adapter.method ?? "POST",
        owner: attempt.ownKey?.workspaceId,
        workspace: trace.principal.workspace.id,
        timeouts: trace.streaming && adapter.isWhole !== true ? undefined : gateway.limits.wholeResponse,
      },
      {
        onFailure: (failure) => failed(failure, null),
        onHeaders(status, headers) {
          const { provider, model } = endpoint;
          const from = { gateway, status, headers, provider, model, workspaceId: trace.principal.workspace.id };
          const reading = { ...from, adapter, resolve, failed, relay, call: sent };
          if (status !== 200) return errorReader(reading);
          if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
            return rejectCompressed(reading);
          if (adapter.openAudioStream !== undefined)
            return audioReader(relay, {
              call: sent,
              stream: adapter.openAudioStream(headers),
              provider: endpoint.provider,
              resolve,
            });
          if (adapter.decodeBytes !== undefined) return bytesReader(reading);
          if (!trace.streaming || adapter.isWhole === true) return bufferedReader(reading);
          return isJson(headers) ? errorReader(reading) : streamReader(relay, reading);
        },
      },
    );
    handle.call = sent;
  });
}

/** The planned endpoint in the current catalogue; undefined when it was removed, retired, moved or disconnected. */
function currentEndpointFor(gateway: GatewayDeps, attempt: Attempt): Endpoint | undefined {
  const row = currentEndpoint(gateway, attempt);
  const connections = connectionsOfAttempt(gateway, attempt);
  if (row === undefined || row.status === "retired" || connections?.credential(row.provider) === undefined)
    return undefined;
  return connections.baseUrl(row) === attempt.baseUrl ? row : undefined;
}

/** Undefined when the workspace's key or node was removed. */
function connectionsOfAttempt(
  { connections, ownKeys, nodes }: ResourceLayers<"connections" | "ownKeys">,
  { ownKey, node }: Attempt,
): ProviderConnections | undefined {
  if (node !== undefined) return nodes.overlayFor(node.workspaceId)?.connections;
  return ownKey === undefined ? connections : ownKeys.of(ownKey.workspaceId)?.connections;
}

/** The attempt's endpoint in the current catalogue. */
function currentEndpoint(
  { catalogue, nodes }: ResourceLayers<"catalogue">,
  { endpoint: { id }, node }: Attempt,
): Endpoint | undefined {
  return (node === undefined ? catalogue.snapshot : nodes.overlayFor(node.workspaceId)?.snapshot)?.endpoints.get(id);
}

/** The own key that forbids an attempt with the platform's key. */
function exclusiveKeyBarring(
  keys: OwnKeyDeps,
  { principal, failedOwnKeys }: Pick<RequestTrace, "principal" | "failedOwnKeys">,
  attempt: Attempt,
): OwnKey | undefined {
  if (isOwnResource(attempt)) return undefined;
  const own = keys.ownKeys.of(principal.workspace.id)?.keys.get(attempt.endpoint.provider)?.key;
  return own?.use === "only" ? own : failedExclusiveKey(keys, { failedOwnKeys });
}
