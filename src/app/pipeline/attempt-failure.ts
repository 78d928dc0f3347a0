import { Fault } from "../../contract/faults.ts";
import type { Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { claimedParameter } from "../../domain/catalogue/parameter-claims.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import {
  attributeToNode,
  attributeToOwnKey,
  classifyCredentialFailure,
  classifyFailure,
  classifyNodeOffline,
  classifyOwnKeyRemoved,
  classifyUnclaimed,
  classifyUnencodable,
  classifyWithdrawn,
  type FailureVerdict,
} from "../../io/upstream/classify-failure.ts";
import { CredentialRefusedError } from "../../io/upstream/credential-secrets.ts";
import { attributeMemoryToNode } from "../../io/upstream/rejected-response.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { AttemptOutcome, AttemptResult } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { attemptRecord, describeOutcome } from "./record.ts";

/** Turns a fault of the encoder into a failed attempt; rethrows anything else. */
export function encodingFailure(error: unknown): Extract<AttemptOutcome, { is: "failed" }> {
  if (!(error instanceof Fault)) throw error;
  return { is: "failed", verdict: classifyUnencodable(error), upstreamStatus: null };
}

/** An attempt for which no adapter could be built. */
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

const NO_ADAPTER: Pick<UpstreamAdapter, "adjusted"> = {};

/** The request was not sent. */
export function unsentOutcome(
  relay: { readonly disconnected: boolean },
  { provider }: Pick<Endpoint, "provider">,
  why: string,
  kind: "connect" | "aborted" = "aborted",
): AttemptOutcome {
  if (relay.disconnected) return { is: "disconnected", stream: undefined };
  return { is: "failed", verdict: classifyFailure({ kind, sent: false, why }, provider), upstreamStatus: null };
}

export function withdrawnOutcome(...planned: Parameters<typeof withdrawnVerdict>): AttemptOutcome {
  return { is: "failed", verdict: withdrawnVerdict(...planned), upstreamStatus: null };
}

/** Why the planned endpoint cannot be used any more. */
function withdrawnVerdict(
  { ownKey, node, endpoint }: Attempt,
  /** The endpoint in the current catalogue. */
  row: Endpoint | undefined,
  connections: ProviderConnections | undefined,
): FailureVerdict {
  if (node !== undefined) return classifyNodeOffline(node.name, endpoint.model);
  const { provider, baseUrl } = endpoint;
  if (ownKey !== undefined && connections?.credential(provider) === undefined)
    return classifyOwnKeyRemoved(provider, "removed");
  // The endpoint is unchanged, so the key was replaced by one for another account or project.
  if (ownKey !== undefined && row !== undefined && row.status !== "retired" && row.baseUrl === baseUrl)
    return classifyOwnKeyRemoved(provider, "replaced");
  return classifyWithdrawn(endpoint);
}

/** A parameter that the provider rejects and the catalogue claims does not end the request. */
export function withCatalogueClaims(verdict: FailureVerdict, { endpoint, model }: Attempt): FailureVerdict {
  const field = verdict.is === "stop" ? verdict.unsupportedField : undefined;
  const parameter = field === undefined ? undefined : claimedParameter(endpoint, model, field);
  return verdict.is !== "stop" || parameter === undefined ? verdict : classifyUnclaimed(verdict.fault, parameter);
}

/** Rewords a failure of the workspace's own key or node for its owner. */
export function attributeToOwner(
  verdict: FailureVerdict,
  { ownKey, node, endpoint }: Attempt,
  upstreamStatus: number | null,
): FailureVerdict {
  if (node !== undefined) return attributeToNode(attributeMemoryToNode(verdict, node.name), node.name, upstreamStatus);
  return ownKey === undefined ? verdict : attributeToOwnKey(verdict, endpoint.provider, upstreamStatus);
}

export function credentialRefusedOutcome({ ownKey, endpoint: { provider } }: Attempt): AttemptOutcome {
  const verdict = classifyCredentialFailure(provider);
  const judged = ownKey === undefined ? verdict : attributeToOwnKey(verdict, provider, null);
  return { is: "failed", verdict: judged, upstreamStatus: null };
}

export type MissingCredential = "refused" | "unreached";

export const missingCredentialFor = (error: unknown): MissingCredential =>
  error instanceof CredentialRefusedError ? "refused" : "unreached";
