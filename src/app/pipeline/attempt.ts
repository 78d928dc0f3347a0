import { Fault } from "../../contract/faults.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { AttemptRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import { authorize, CredentialRefusedError, presentedSecrets } from "../../io/upstream/authorize.ts";
import {
  attributeToNode,
  attributeToOwnKey,
  classifyCredentialFailure,
  classifyExcluded,
  classifyFailure,
  classifyKeyRevoked,
  classifyMalformed,
  classifyNodeOffline,
  classifyOwnKeyRemoved,
  classifyOwnOnly,
  classifyUnencodable,
  classifyWithdrawn,
  type FailureVerdict,
  redactVerdict,
} from "../../io/upstream/classify-failure.ts";
import { withPlausibilityChecks } from "../../io/upstream/response-plausibility.ts";
import type { UpstreamBody, UpstreamBodyHandler, UpstreamCall, UpstreamFailure } from "../../io/upstream/transport.ts";
import { type UpstreamAdapter, upstreamHeaders } from "../../io/upstream/upstream-adapter.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { memoize } from "../../kit/memoize.ts";
import { type AttemptOutcome, isMaybeAccepted } from "./attempt-outcome.ts";
import { audioReader } from "./audio.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { appendHop, HOP_HEADER, shouldSendHops } from "./loop-detection.ts";
import type { PlannedRequest } from "./plan.ts";
import type { Relay } from "./relay.ts";
import type { RequestTrace } from "./request-trace.ts";
import { bufferedOutcome, bufferedReader, errorReader, isJson } from "./response-readers.ts";
import { type PartSlots, runParts } from "./split-attempt.ts";
import { connectionsOfAttempt, currentEndpoint, exclusiveKeyBarring } from "./workspace-resources.ts";

type AttemptRun = Pick<PlannedRequest, "policyNow" | "otherRouter"> & {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly attempt: Attempt;
  readonly adapter: UpstreamAdapter;
  readonly relay: Relay;
  readonly plan: Pick<Plan, "recheckPolicy" | "recheckRouter">;
  /** Throws when the key may no longer ask. */
  readonly recheckKey: () => void;
};

/** How an attempt ended, and its line in the record. */
export type AttemptResult = { readonly outcome: AttemptOutcome; readonly record: AttemptRecord };

/** One request to one endpoint. */
export function runAttempt(one: AttemptRun): MaybePromise<AttemptResult> {
  const { gateway, trace, attempt, adapter } = one;
  const startedAtMs = gateway.clock.nowMs();
  const started = gateway.clock.monotonicMs();
  trace.beginAttempt(started);
  const asked = sendRequest(
    attempt.node === undefined ? one : { ...one, adapter: withPlausibilityChecks(adapter, attempt.endpoint) },
  );
  return chain(asked, (outcome) => {
    const durationMs = Math.round((gateway.clock.monotonicMs() - started) * 10) / 10;
    return { outcome, record: attemptRecord(attempt, { startedAtMs, durationMs }, describeOutcome(outcome, adapter)) };
  });
}

function attemptRecord(
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

function sendRequest(one: AttemptRun): MaybePromise<AttemptOutcome> {
  const { adapter } = one;
  if (adapter.subRequests !== undefined) return sendParts(one, adapter.subRequests);
  let body: UpstreamBody;
  try {
    body = adapter.encode();
  } catch (error) {
    return encodingFailure(error);
  }
  return send(one, body);
}

/** The request cannot be said to the endpoint; anything else that was thrown goes on. */
function encodingFailure(error: unknown): Extract<AttemptOutcome, { is: "failed" }> {
  if (!(error instanceof Fault)) throw error;
  return { is: "failed", verdict: classifyUnencodable(error), upstreamStatus: null };
}

/** An attempt that ended before there was a way to its endpoint. */
export function unencodableAttempt(
  { clock }: Pick<GatewayDeps, "clock">,
  attempt: Attempt,
  error: unknown,
): AttemptResult {
  const outcome = encodingFailure(error);
  return {
    outcome,
    record: attemptRecord(attempt, { startedAtMs: clock.nowMs(), durationMs: 0 }, describeOutcome(outcome, NO_ADAPTER)),
  };
}

const NO_ADAPTER: Pick<UpstreamAdapter, "dropped"> = { droppedFields: [] };

type OutcomeDescription = Pick<AttemptRecord, "outcome" | "upstreamStatus" | "reason" | "maybeAccepted">;

function describeOutcome(
  outcome: AttemptOutcome,
  { droppedFields }: Pick<UpstreamAdapter, "dropped">,
): OutcomeDescription {
  switch (outcome.is) {
    case "whole":
    case "relayed":
      return {
        outcome: "served",
        upstreamStatus: outcome.upstreamStatus,
        reason: droppedFields.length === 0 ? "answered whole" : `answered whole; left out: ${listNames(droppedFields)}`,
        maybeAccepted: false,
      };
    case "broke":
      return {
        outcome: "stop",
        upstreamStatus: outcome.upstreamStatus,
        reason: short(outcome.verdict.why),
        maybeAccepted: true,
      };
    case "gone":
      return { outcome: "cancelled", upstreamStatus: null, reason: "the client hung up", maybeAccepted: true };
    case "failed": {
      const { verdict, upstreamStatus } = outcome;
      const maybeAccepted = isMaybeAccepted(outcome);
      return {
        outcome: verdict.is === "stop" ? "stop" : "next",
        upstreamStatus,
        reason: short(verdict.why),
        maybeAccepted,
      };
    }
  }
}

/** A caller decides how many there are; a record that no journal takes would be an answer that nobody pays for. */
const NAMES_MAX = 20;
const NAME_CHARS_MAX = 200;
const REASON_CHARS_MAX = 500;

const short = (reason: string) => reason.slice(0, REASON_CHARS_MAX);

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_CHARS_MAX));
  return names.length > NAMES_MAX ? `${shown.join(", ")} and ${names.length - NAMES_MAX} more` : shown.join(", ");
}

type CancelHandle = { call: UpstreamCall | undefined; cancelled: "no" | "yes" };

function send(one: AttemptRun, body: UpstreamBody): MaybePromise<AttemptOutcome> {
  const leash: CancelHandle = { call: undefined, cancelled: "no" };
  one.relay.setCancel(() => cancelCall(leash), cancellationBilling(one));
  return chain(headersFor(one, body), (headers) => dispatch(one, body, headers, leash));
}

/** Of the platform's endpoints: made once, because whoever looks for a text that was just made has to read it first. */
const platformUrl = memoize((baseUrl: string) => memoize((path: string) => `${baseUrl}${path}`));

function upstreamUrl({
  attempt: { baseUrl, ownKey, node },
  adapter: { path },
}: Pick<AttemptRun, "attempt" | "lane">): string {
  return ownKey === undefined && node === undefined ? platformUrl(baseUrl)(path) : `${baseUrl}${path}`;
}

function cancellationBilling({ attempt: { endpoint } }: AttemptRun): "until_cancelled" | "to_the_end" {
  return endpoint.quirks?.includes("bills-on") === true ? "to_the_end" : "until_cancelled";
}

function cancelCall(leash: CancelHandle): void {
  leash.cancelled = "yes";
  leash.call?.abort();
}

/** All parts, or nothing. */
async function sendParts(
  one: AttemptRun,
  { adapters, join }: NonNullable<UpstreamAdapter["subRequests"]>,
): Promise<AttemptOutcome> {
  const { gateway, attempt, relay } = one;
  const leashes = adapters.map((): CancelHandle => ({ call: undefined, cancelled: "no" }));
  const cutAll = () => leashes.forEach(cancelCall);
  relay.setCancel(cutAll);
  const asked = await runParts({
    count: adapters.length,
    async runPart(at) {
      const [adapter, leash] = [adapters[at], leashes[at]];
      if (adapter === undefined || leash === undefined) throw new Error(`there is no part ${at}`);
      const outcome = await sendPart({ ...one, adapter }, leash);
      // A call keeps every byte that it read: those of all parts would stay until the last one is there.
      leash.call = undefined;
      return outcome;
    },
    cancel: cutAll,
    slots: partSlotsFor(gateway, attempt),
  });
  if (asked.is !== "all") return asked;
  return bufferedOutcome(join(asked.answers), one.adapter, attempt.endpoint);
}

/** Undefined: nobody counts how many requests run there. */
function partSlotsFor(
  { endpointSlots, nodes }: GatewayDeps,
  { ownKey, node, endpoint: { id } }: Attempt,
): PartSlots | undefined {
  if (node !== undefined) return nodes.held(node.id);
  if (ownKey !== undefined) return undefined;
  return { takeFurther: () => endpointSlots.acquireExtra(id), give: () => endpointSlots.release(id) };
}

async function sendPart(part: AttemptRun, leash: CancelHandle): Promise<AttemptOutcome> {
  let body: UpstreamBody;
  try {
    body = part.adapter.encode();
  } catch (error) {
    return encodingFailure(error);
  }
  try {
    return await chain(headersFor(part, body), (headers) => dispatch(part, body, headers, leash));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // It ends the request, and the record still has to say who had the parts before this one.
    return { is: "failed", verdict: classifyKeyRevoked(error), upstreamStatus: null };
  }
}

function dispatch(
  { gateway, trace, attempt, adapter, relay, plan, currentPolicy, changedRouter, recheckKey }: AttemptRun,
  body: UpstreamBody,
  headers: Record<string, string> | MissingCredential,
  leash: CancelHandle,
): MaybePromise<AttemptOutcome> {
  const { endpoint } = attempt;
  const unsent = (why: string, kind: "connect" | "aborted" = "aborted"): AttemptOutcome =>
    relay.disconnected
      ? { is: "gone", stream: undefined }
      : {
          is: "failed",
          verdict: classifyFailure({ kind, sent: false, why }, endpoint.provider),
          upstreamStatus: null,
        };
  if (headers === "unreached") return unsent("the provider's authority gave no token", "connect");
  if (headers === "refused") return relay.disconnected ? unsent("the client left") : credentialRefusedOutcome(attempt);
  if (leash.cancelled === "yes") return unsent("cancelled before it was sent");
  // A key that was revoked ends the request, whoever could be asked next: what is under way may take minutes.
  recheckKey();
  const policy = currentPolicy();
  if (policy === undefined) return unsent("the workspace is gone");
  const row = currentEndpointFor(gateway, attempt);
  if (row === undefined) return { is: "failed", verdict: withdrawnVerdict(gateway, attempt), upstreamStatus: null };
  // The policy was tightened since the plan was made, or the catalogue knows better: it falls out before any byte leaves.
  const router = changedRouter();
  const refused = plan.recheckPolicy(row, policy) ?? (router && plan.recheckRouter(attempt, router));
  if (refused !== undefined)
    return { is: "failed", verdict: classifyExcluded(refused.why, refused.fault), upstreamStatus: null };
  const own = exclusiveKeyBarring(gateway, trace, attempt);
  if (own !== undefined) return { is: "failed", verdict: classifyOwnOnly(own.provider), upstreamStatus: null };
  // As it was sent, whatever becomes of it while it is under way.
  const credential = connectionsOfAttempt(gateway, attempt)?.credential(endpoint.provider);
  // Not before: a call that cannot be said in the endpoint's dialect, or may not be asked, was served by nobody.
  trace.servingAttempt = attempt;
  return new Promise((settle) => {
    const resolve = (outcome: AttemptOutcome) => {
      if (outcome.is !== "failed" && outcome.is !== "broke") return settle(outcome);
      const { upstreamStatus } = outcome;
      const known = gateway.secretsOf(trace.principal.workspace.id);
      const verdict = redactVerdict(outcome.verdict, [...presentedSecrets(credential, headers), ...known]);
      settle({ ...outcome, verdict: attributeToOwner(verdict, attempt, upstreamStatus) });
    };
    const failed = (failure: UpstreamFailure, upstreamStatus: number | null) =>
      resolve(
        relay.disconnected
          ? { is: "gone", stream: undefined }
          : { is: "failed", verdict: classifyFailure(failure, endpoint.provider), upstreamStatus },
      );
    const sent = gateway.transport.send(
      { url: upstreamUrl({ attempt, adapter }), headers, body, owner: attempt.ownKey?.workspaceId },
      {
        onFailure: (failure) => failed(failure, null),
        onHeaders(status, headers) {
          const { provider, model } = endpoint;
          const reading = { gateway, status, headers, lane: adapter, provider, model, resolve, failed, call: sent };
          if (status !== 200) return errorReader(reading);
          if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
            const verdict = classifyMalformed("compressed although not asked for", endpoint.provider);
            resolve({ is: "failed", verdict, upstreamStatus: status });
            sent.abort();
            return IGNORE;
          }
          if (adapter.openAudioStream !== undefined)
            return audioReader(relay, {
              call: sent,
              stream: adapter.openAudioStream(headers),
              provider: endpoint.provider,
              resolve,
            });
          if (!trace.streaming) return bufferedReader(reading);
          return isJson(headers) ? errorReader(reading) : relay.streamReader(reading);
        },
      },
    );
    leash.call = sent;
  });
}

/** A planned endpoint as the catalogue has it now; undefined when it is gone, retired, elsewhere or not connected. */
function currentEndpointFor(gateway: GatewayDeps, attempt: Attempt): Endpoint | undefined {
  const row = currentEndpoint(gateway, attempt);
  const connections = connectionsOfAttempt(gateway, attempt);
  if (row === undefined || row.status === "retired" || connections?.credential(row.provider) === undefined)
    return undefined;
  return connections.baseUrl(row) === attempt.baseUrl ? row : undefined;
}

/** Why a planned endpoint cannot be asked any more. */
function withdrawnVerdict(gateway: GatewayDeps, attempt: Attempt): FailureVerdict {
  const { ownKey, node, endpoint } = attempt;
  if (node !== undefined) return classifyNodeOffline(node.name, endpoint.model);
  const { provider, baseUrl } = endpoint;
  if (ownKey !== undefined && connectionsOfAttempt(gateway, attempt)?.credential(provider) === undefined)
    return classifyOwnKeyRemoved(provider, "removed");
  const row = currentEndpoint(gateway, attempt);
  // The catalogue has it where it was: it is the key that is asked for elsewhere, in the project of another account.
  if (ownKey !== undefined && row !== undefined && row.status !== "retired" && row.baseUrl === baseUrl)
    return classifyOwnKeyRemoved(provider, "replaced");
  return classifyWithdrawn(endpoint);
}

/** The same failure, told to whom it concerns where the endpoint was called with something of the workspace's own. */
function attributeToOwner(
  verdict: FailureVerdict,
  { ownKey, node, endpoint }: Attempt,
  upstreamStatus: number | null,
): FailureVerdict {
  if (node !== undefined) return attributeToNode(verdict, node.name, upstreamStatus);
  return ownKey === undefined ? verdict : attributeToOwnKey(verdict, endpoint.provider, upstreamStatus);
}

/** A key that is no key any more ends what wants that one alone, as if the provider had said so. */
function credentialRefusedOutcome({ ownKey, endpoint: { provider } }: Attempt): AttemptOutcome {
  const verdict = classifyCredentialFailure(provider);
  const judged = ownKey === undefined ? verdict : attributeToOwnKey(verdict, provider, null);
  return { is: "failed", verdict: judged, upstreamStatus: null };
}

const IGNORE: UpstreamBodyHandler = { onData: () => "more", onEnd() {}, onFailure() {} };

/** Why there is no credential: whoever gives it said no, or was not there. */
type MissingCredential = "refused" | "unreached";

const missingCredentialFor = (error: unknown): MissingCredential =>
  error instanceof CredentialRefusedError ? "refused" : "unreached";

function headersFor(
  { attempt, adapter, gateway, trace: trail }: AttemptRun,
  body: UpstreamBody,
): MaybePromise<Record<string, string> | MissingCredential> {
  const headers = upstreamHeaders(adapter, trail.streaming ? adapter.streamContentType : "application/json");
  const { endpoint } = attempt;
  const outgoing = { url: upstreamUrl({ attempt, adapter }), headers, body, endpoint, nowMs: gateway.clock.nowMs() };
  const credential = connectionsOfAttempt(gateway, attempt)?.credential(endpoint.provider);
  try {
    const authorized = authorize(credential, adapter.auth, outgoing);
    // Beside what is signed: whoever stands between may change it.
    const context = gateway.traceparentFor?.(trail.requestId, trail.traceparent, trail.attemptNumber);
    const trace = context === undefined ? undefined : { traceparent: context };
    const hops = shouldSendHops(trail.hops, gateway.loopDetection, attempt)
      ? { [HOP_HEADER]: appendHop(trail.hops, gateway.loopDetection.mark) }
      : undefined;
    if (!(authorized instanceof Promise)) return Object.assign(headers, authorized, trace, hops);
    return authorized.then((own) => Object.assign(headers, own, trace, hops), missingCredentialFor);
  } catch (error) {
    return missingCredentialFor(error);
  }
}
