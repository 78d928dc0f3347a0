import type { IncomingHttpHeaders } from "node:http";
import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { UpstreamError } from "../../contract/upstream-error.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { UpstreamFailure } from "./transport.ts";
import { unsupportedParameterIn } from "./unsupported-parameter.ts";
import { cleanMessage, cleanUpstreamError, redactCredentials, upstreamErrorFor } from "./upstream-error.ts";

/** Who caused a failed attempt. */
export type Blame =
  /** The endpoint, possibly with a Retry-After. */
  | { readonly on: "endpoint"; readonly retryAfterMs: number | undefined }
  /** The platform's credential, account or deployment: the operator is alerted. */
  | { readonly on: "operator" }
  /** The same for a workspace's own key: its members are alerted. */
  | { readonly on: "workspace" }
  /** The catalogue: the provider rejects a parameter that the endpoint's entry claims. */
  | { readonly on: "catalogue"; readonly parameter: string }
  /** No request was sent, or the gateway itself aborted it. */
  | { readonly on: "none" };

/** The faults that the caller gets if a failed attempt was the last one. */
export type FailureReport = {
  /** If no other endpoint is left. */
  readonly finalFault: Fault;
  /** If others are left but the request ended for another reason; absent if the message names no reason. */
  readonly faultFor?: (reason: string) => Fault;
  /** Nothing was sent: the request cannot be encoded in the endpoint's dialect. */
  readonly isUnencodable?: true;
};

/** What follows from a failed attempt. */
export type FailureVerdict =
  | (FailureReport & {
      readonly is: "next";
      readonly why: string;
      readonly mayHaveBeenAccepted: boolean;
      readonly blame: Blame;
      /** The response was not a valid reply. */
      readonly isMalformed?: true;
      /** The limit that the response exceeded, for the owner of a node. */
      readonly rejected?: string;
      /** Nothing was sent: a check right before sending failed, although the plan allowed it. */
      readonly wasNotSent?: true;
      /** The workspace's own key was removed or replaced after planning. */
      readonly isOwnKeyRemoved?: true;
      /** Used instead if other sub-requests were already sent; absent if the message is the same. */
      readonly afterPartialSend?: FailureReport;
      /** Another instance on the way to a node is stopping. */
      readonly isPeerStopping?: true;
      /** The provider's error about a credential or an account; only its owner may see it. */
      readonly accountError?: UpstreamError;
      /** Wait before a retry at the same endpoint; undefined: no such retry. */
      readonly retrySameAfterMs: number | undefined;
    })
  /** The node is at capacity and did nothing with the request: as if it had not been sent. */
  | { readonly is: "busy"; readonly why: string }
  /** A healthy endpoint rejected the request itself, the gateway is stopping or has no memory left: no further attempts. */
  | {
      readonly is: "stop";
      readonly why: string;
      readonly fault: Fault;
      readonly stopped?: { readonly sent: boolean };
      /** The field that the provider names as unsupported. */
      readonly unsupportedField?: string | undefined;
      /** There was no memory for the response. */
      readonly unread?: { readonly why: string; readonly blame: Blame };
    };

/** Rejections of the request itself: another endpoint would reject it too. */
const CALLER_STATUSES: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const CONTENT_POLICY = /content[_ -]?(policy|filter)|moderation|safety|policy_violation/i;
const RETRY_AFTER_SECONDS_MAX = 31 * 86_400;
/** 529 is a provider-specific 503. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503, 529]);
const LOOP_DETECTED = 508;
/** A longer Retry-After means failover instead of a retry. */
const RETRY_WAIT_MS_MAX = 2000;
/** A restarting server or a short network fault recovers within moments or not for a while. */
const RECONNECT_AFTER_MS = 100;
const NO_BLAME: Blame = { on: "none" };
const NO_ENDPOINT_LEFT = "no other endpoint is available";

export function failureReport(faultFor: (reason: string) => Fault): FailureReport {
  return { finalFault: faultFor(NO_ENDPOINT_LEFT), faultFor };
}

/** The fault for a request that ended although other endpoints were left. */
export function faultEndedBy({ finalFault, faultFor }: FailureReport, reason: string): Fault {
  return faultFor?.(reason) ?? finalFault;
}

/** The endpoint returned an error status. */
export function classifyStatus(
  status: number,
  headers: IncomingHttpHeaders,
  problem: UpstreamProblem,
  provider: string,
): FailureVerdict {
  if (CALLER_STATUSES.has(status) && !isBadCredential(problem) && !isQuotaExhausted(problem))
    return passThroughRefusal(status, problem, provider);
  if (status === 403 && CONTENT_POLICY.test(`${problem.code ?? ""} ${problem.type ?? ""}`))
    return passThroughRefusal(status, problem, provider);
  if (isOperatorStatus(status) || isQuotaExhausted(problem) || isBadCredential(problem)) {
    const why = `provider rejected the gateway's own credential or deployment (${status})`;
    const broken = brokenReport(provider);
    return {
      is: "next",
      why,
      mayHaveBeenAccepted: false,
      ...broken,
      blame: { on: "operator" },
      accountError: upstreamErrorFor(problem, status, provider),
      retrySameAfterMs: undefined,
    };
  }
  if (BUSY_STATUSES.has(status)) return classifyBusy(status, headers, problem, provider);
  const timedOut = status === 408 || status === 504;
  return {
    is: "next",
    why: `provider failed (${status})`,
    mayHaveBeenAccepted: timedOut || status === 502,
    ...(timedOut ? timeoutReport(provider) : brokenReport(provider)),
    // A routing loop says nothing about the endpoint: otherwise a caller could open its circuit for all.
    blame: status === LOOP_DETECTED ? NO_BLAME : { on: "endpoint", retryAfterMs: undefined },
    retrySameAfterMs: undefined,
  };
}

function classifyBusy(
  status: number,
  headers: IncomingHttpHeaders,
  problem: UpstreamProblem,
  provider: string,
): FailureVerdict {
  const seconds = retryAfterSeconds(headers) ?? problemRetryAfterSeconds(problem);
  const retryAfterMs = seconds === undefined ? undefined : seconds * 1000;
  const limited = status === 429;
  const state = limited ? "is at its rate limit" : "is overloaded";
  const advice = seconds === undefined ? "Try again shortly." : `Try again in ${seconds} s.`;
  const busyReport = failureReport((reason) =>
    fault(limited ? "rate_limit_exceeded" : "upstream_error", {
      message: `The provider ${provider} ${state}, and ${reason}. ${advice}`,
      headers: seconds === undefined ? undefined : { "retry-after": String(seconds) },
      messagesType: problem.type === "overloaded_error" ? problem.type : undefined,
    }),
  );
  return {
    is: "next",
    why: limited ? "provider at its rate limit (429)" : `provider failed (${status})`,
    mayHaveBeenAccepted: false,
    ...busyReport,
    blame: { on: "endpoint", retryAfterMs },
    retrySameAfterMs: retryAfterMs !== undefined && retryAfterMs <= RETRY_WAIT_MS_MAX ? retryAfterMs : undefined,
  };
}

/** No response, or a truncated one. */
export function classifyFailure(failure: UpstreamFailure, provider: string): FailureVerdict {
  if (failure.kind === "stopped") return classifyStopped(failure.sent);
  if (failure.kind === "leaving") return classifyLeaving(failure);
  if (failure.kind === "busy") return { is: "busy", why: failure.why };
  return {
    is: "next",
    why: `${failure.kind}: ${failure.why}`,
    mayHaveBeenAccepted: failure.sent,
    ...(failure.kind === "timeout" ? timeoutReport(provider) : brokenReport(provider)),
    blame: failure.kind === "aborted" ? NO_BLAME : { on: "endpoint", retryAfterMs: undefined },
    retrySameAfterMs: failure.sent || failure.kind === "aborted" ? undefined : RECONNECT_AFTER_MS,
  };
}

/** The drain timeout expired: the caller retries at another instance. */
function classifyStopped(sent: boolean): FailureVerdict {
  const problem = fault("service_unavailable", {
    message: "The gateway is stopping, so this response ends incomplete. Nothing is charged; send the request again.",
  });
  return { is: "stop", why: "the gateway is stopping", fault: problem, stopped: { sent } };
}

/** A stopping peer ended the request: this instance continues with the next endpoint. */
function classifyLeaving({ sent, why }: UpstreamFailure): FailureVerdict {
  const finalFault = fault("service_unavailable", {
    message:
      "The gateway instance that the node is connected to is stopping, so this response ends incomplete. Nothing is charged; send the request again.",
  });
  const retrySameAfterMs = sent ? undefined : RECONNECT_AFTER_MS;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: sent,
    finalFault,
    blame: NO_BLAME,
    isPeerStopping: true,
    retrySameAfterMs,
  };
}

/** A surface-specific fault code, with the requested model. */
type ModelFailure = { readonly code: FaultCode; readonly model: string };

/** Status 200 with a body that is not a reply of the dialect. */
export function classifyMalformed(what: string, provider: string, named?: ModelFailure): FailureVerdict {
  return {
    is: "next",
    why: `malformed response: ${what}`,
    mayHaveBeenAccepted: true,
    ...(named === undefined ? brokenReport(provider) : unusableReport(provider, named, what)),
    blame: { on: "endpoint", retryAfterMs: undefined },
    isMalformed: true,
    retrySameAfterMs: undefined,
  };
}

/** The policy was tightened after planning; nothing was sent. */
export function classifyExcluded(why: string, refusal: Fault): FailureVerdict {
  return {
    is: "next",
    why: `policy: ${why}`,
    mayHaveBeenAccepted: false,
    finalFault: refusal,
    blame: NO_BLAME,
    retrySameAfterMs: undefined,
  };
}

/** The endpoint was removed from the catalogue or disconnected after planning. */
export function classifyWithdrawn({ id, model }: { readonly id: string; readonly model: string }): FailureVerdict {
  const finalFault = fault("model_not_found", {
    message: `The model ${model} can no longer be called: ${id} was just withdrawn. Try again.`,
    param: "model",
  });
  const why = "withdrawn since the plan was made";
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    finalFault,
    blame: NO_BLAME,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/** The workspace's own key was removed or replaced after planning; a retry is planned with the current keys. */
export function classifyOwnKeyRemoved(provider: string, how: "removed" | "replaced"): FailureVerdict {
  const removedReport = (when: string) =>
    failureReport((reason) =>
      fault("upstream_error", {
        message: `The workspace's own key for ${provider} was ${how} ${when}, and ${reason}. Retry: the request then uses the current keys.`,
      }),
    );
  const why = `your key for ${provider} was ${how} since the plan was made`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...removedReport("before the request was sent"),
    afterPartialSend: removedReport("after part of the request was sent"),
    blame: NO_BLAME,
    wasNotSent: true,
    isOwnKeyRemoved: true,
    retrySameAfterMs: undefined,
  };
}

/** The workspace restricted a provider to its own key after planning. */
export function classifyOwnOnly(provider: string): FailureVerdict {
  const ownOnly = failureReport((reason) =>
    fault("upstream_error", {
      message: `Since the request was planned, only the workspace's own key for ${provider} may be used, and ${reason}. Retry: the request then uses the current keys.`,
    }),
  );
  const why = `only your own key for ${provider} may be used now`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...ownOnly,
    blame: NO_BLAME,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/** The node disconnected or dropped the model after planning; a retry may find it again. */
export function classifyNodeOffline(name: string, model: string): FailureVerdict {
  const offline = failureReport((reason) =>
    fault("upstream_error", {
      message: `The node ${name} no longer serves ${model}, and ${reason}. Try again shortly, or check its agent.`,
    }),
  );
  const why = "the node stopped serving it since the plan was made";
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...offline,
    blame: NO_BLAME,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/**
 * Encoding failed for this endpoint's dialect; another endpoint may support the request. The fault may quote the request,
 * so the log gets only its code.
 */
export function classifyUnencodable(finalFault: Fault): FailureVerdict {
  const why = `cannot be encoded: ${finalFault.code}${finalFault.param === undefined ? "" : ` (${finalFault.param})`}`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    finalFault,
    blame: NO_BLAME,
    isUnencodable: true,
    retrySameAfterMs: undefined,
  };
}

/** The key was revoked mid-request: no further attempts. */
export function classifyKeyRevoked(refusal: Fault): FailureVerdict {
  return { is: "stop", why: `no longer admitted: ${refusal.code}`, fault: refusal };
}

/** No credential is available, and a retry would not get one; nothing was sent. */
export function classifyCredentialFailure(provider: string): FailureVerdict {
  const why = "the gateway's own credential was rejected by its issuer";
  const broken = brokenReport(provider);
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...broken,
    blame: { on: "operator" },
    retrySameAfterMs: undefined,
  };
}

/** The verdict for an attempt with the workspace's own key: its members, not the operator, are responsible for the account. */
export function attributeToOwnKey(verdict: FailureVerdict, provider: string, status: number | null): FailureVerdict {
  if (verdict.is !== "next" || verdict.blame.on !== "operator") return verdict;
  const shown = status === null ? "" : ` (${status})`;
  const isRefused = status === null || status === 401 || status === 403 || status === 400;
  const why = isRefused
    ? `your key for ${provider} was rejected${shown}`
    : `your account at ${provider} rejected the request${shown}`;
  const refused = failureReport((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} rejected the workspace's own key${shown}, and ${reason}. An admin of the workspace can test the key, or connect another one.`,
      headers: { "x-should-retry": "false" },
      detail: { ownKey: provider },
      upstream: verdict.accountError,
    }),
  );
  return { ...verdict, why, ...refused, blame: { on: "workspace" } };
}

/** The verdict for an attempt at a node: the workspace is responsible for its server. */
export function attributeToNode(verdict: FailureVerdict, name: string, status: number | null): FailureVerdict {
  if (verdict.is !== "next") return verdict;
  const { code, messagesType } = verdict.finalFault;
  const isRefused = verdict.blame.on === "operator" && status !== null;
  const rejected = verdict.rejected === undefined ? "" : ` (${verdict.rejected})`;
  const messageFor = (reason: string) => {
    if (code === "upstream_timeout") return `The node ${name} did not respond in time, and ${reason}. Try again.`;
    return isRefused
      ? `The local server of the node ${name} rejected the request (${status}), and ${reason}. Check its key and its models.`
      : `The node ${name} returned no usable response${rejected}, and ${reason}. Try again, or check its local server.`;
  };
  const isGeneric = code === "upstream_timeout" || code === "upstream_error";
  const failed = {
    ...verdict,
    ...(isGeneric ? failureReport((reason) => fault(code, { message: messageFor(reason), messagesType })) : {}),
  };
  if (!isRefused) return failed;
  const why = `the local server rejected the request (${status})`;
  return { ...failed, why, blame: { on: "endpoint", retryAfterMs: undefined } };
}

/** The provider rejects a parameter that the catalogue claims for the endpoint: another endpoint may support it. */
export function classifyUnclaimed(refused: Fault, parameter: string): FailureVerdict {
  return {
    is: "next",
    why: `provider rejected ${parameter}, which the catalogue says it supports`,
    mayHaveBeenAccepted: false,
    finalFault: refused,
    blame: { on: "catalogue", parameter },
    retrySameAfterMs: undefined,
  };
}

/** Removes the presented credential and other secrets from a provider's words, then bounds them. */
export function redactVerdict(verdict: FailureVerdict, secrets: readonly string[]): FailureVerdict {
  if (verdict.is === "next") {
    const { accountError } = verdict;
    return accountError === undefined
      ? verdict
      : { ...verdict, accountError: cleanUpstreamError(accountError, secrets) };
  }
  if (verdict.is !== "stop") return verdict;
  const { message, upstream } = verdict.fault;
  const words = {
    message: cleanMessage(message, secrets),
    upstream: upstream && cleanUpstreamError(upstream, secrets),
  };
  return { ...verdict, fault: verdict.fault.reworded(words) };
}

/** The fault for a request that the model declined, with the provider's own error. */
export function classifyDeclined(
  status: number,
  problem: UpstreamProblem,
  provider: string,
  declined: Fault,
): FailureVerdict {
  const { message } = declined;
  const upstream = upstreamErrorFor(problem, status, provider);
  return { is: "stop", why: `provider declined (${status})`, fault: declined.reworded({ message, upstream }) };
}

function passThroughRefusal(status: number, problem: UpstreamProblem, provider: string): FailureVerdict {
  const message = redactCredentials(problem.message);
  const upstream = upstreamErrorFor(problem, status, provider);
  return {
    is: "stop",
    why: `provider rejected the request (${status})`,
    fault: fault("provider_error", { message, status, upstream }),
    unsupportedField: unsupportedParameterIn(problem),
  };
}

const BAD_KEY = /^(api[_ -]?key[_ ]?(not valid|invalid)|(incorrect|invalid)[_ -]?api[_ -]?key)/i;

/** Some providers report a bad key or account with 400, which is the operator's problem and not the caller's. */
function isBadCredential({ code }: UpstreamProblem): boolean {
  // Google: an account without billing, or in an unsupported country.
  return code === "FAILED_PRECONDITION" || BAD_KEY.test(code ?? "");
}

/** The account's quota is exhausted: some report a rate limit, but waiting does not help. */
const QUOTA_CODES: ReadonlySet<string | null> = new Set([
  "insufficient_quota",
  "enforced_spend_limit_reached",
  "ServiceQuotaExceededException",
  "Arrearage",
  "organization_restricted",
]);

function isQuotaExhausted({ code }: UpstreamProblem): boolean {
  return QUOTA_CODES.has(code);
}

function isOperatorStatus(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 404;
}

const timeoutReport = (provider: string) =>
  failureReport((reason) =>
    fault("upstream_timeout", {
      message: `The provider ${provider} did not respond in time, and ${reason}. Try again.`,
    }),
  );

const brokenReport = (provider: string) =>
  failureReport((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} returned no usable response, and ${reason}. Try again.`,
    }),
  );

const unusableReport = (provider: string, { code, model }: ModelFailure, what: string) =>
  failureReport((reason) =>
    fault(code, {
      message: `The provider ${provider} returned no usable response of ${model} (${what}), and ${reason}. Try again, or use another model.`,
    }),
  );

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Retry-After in seconds, retry-after-ms, or a date relative to the provider's Date; invalid values are ignored, large ones capped. */
function retryAfterSeconds(headers: IncomingHttpHeaders): number | undefined {
  const { "retry-after": header, "retry-after-ms": milliseconds, date: sentAt } = headers;
  if (header === undefined) {
    if (typeof milliseconds !== "string" || !/^\d{1,15}(?:\.\d{1,15})?$/.test(milliseconds)) return undefined;
    return Math.min(Math.ceil(Number(milliseconds) / 1000), RETRY_AFTER_SECONDS_MAX);
  }
  if (/^\d{1,12}$/.test(header)) return Math.min(Number(header), RETRY_AFTER_SECONDS_MAX);
  if (!HTTP_DATE.test(header) || sentAt === undefined) return undefined;
  const seconds = Math.ceil((Date.parse(header) - Date.parse(sentAt)) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), RETRY_AFTER_SECONDS_MAX);
}

function problemRetryAfterSeconds({ retryAfterSeconds: seconds }: UpstreamProblem): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds, RETRY_AFTER_SECONDS_MAX);
}
