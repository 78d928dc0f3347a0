import type { IncomingHttpHeaders } from "node:http";
import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import { redactSecrets } from "../../kit/secret.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { UpstreamFailure } from "./transport.ts";

/** Who caused a failed attempt. */
export type Blame =
  /** The endpoint, possibly with a Retry-After. */
  | { readonly on: "endpoint"; readonly retryAfterMs: number | undefined }
  /** The platform's credential, account or deployment: the operator is alerted. */
  | { readonly on: "operator" }
  /** The same for a workspace's own key: its members are alerted. */
  | { readonly on: "workspace" }
  /** No request was sent, or the gateway itself aborted it. */
  | { readonly on: "none" };

/** The faults that the caller gets if a failed attempt was the last one. */
export type FailureReport = {
  /** If no other endpoint is left. */
  readonly finalFault: Fault;
  /** If others are left but the request ended for another reason; absent if the message names no reason. */
  readonly faultFor?: (reason: string) => Fault;
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
      /** Nothing was sent: the request cannot be encoded in the endpoint's dialect. */
      readonly isUnencodable?: true;
      /** Nothing was sent: a check right before sending failed, although the plan allowed it. */
      readonly wasNotSent?: true;
      /** The workspace's own key was removed or replaced after planning. */
      readonly isOwnKeyRemoved?: true;
      /** Used instead if other sub-requests were already sent; absent if the message is the same. */
      readonly afterPartialSend?: FailureReport;
      /** Another instance on the way to a node is stopping. */
      readonly isPeerStopping?: true;
      /** Wait before a retry at the same endpoint; undefined: no such retry. */
      readonly retrySameAfterMs: number | undefined;
    })
  /** The node is at capacity and did nothing with the request: as if it had not been sent. */
  | { readonly is: "busy"; readonly why: string }
  /** A healthy endpoint rejected the request itself, or the gateway is stopping: no further attempts. */
  | { readonly is: "stop"; readonly why: string; readonly fault: Fault; readonly stopped?: { readonly sent: boolean } };

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
const NO_ENDPOINT_LEFT = "no other endpoint is left";

function failureReport(faultFor: (reason: string) => Fault): FailureReport {
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
    return passThroughRefusal(status, problem);
  if (status === 403 && CONTENT_POLICY.test(`${problem.code ?? ""} ${problem.type ?? ""}`))
    return passThroughRefusal(status, problem);
  if (isOperatorStatus(status) || isQuotaExhausted(problem) || isBadCredential(problem)) {
    const why = `provider refused the gateway's own credential or deployment (${status})`;
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
      message: `The provider ${provider} ${state} and ${reason}. ${advice}`,
      ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
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
    message: "The gateway was told to stop before this answer was whole. Nothing is charged; send the request again.",
  });
  return { is: "stop", why: "the gateway was told to stop", fault: problem, stopped: { sent } };
}

/** A stopping peer ended the request: this instance continues with the next endpoint. */
function classifyLeaving({ sent, why }: UpstreamFailure): FailureVerdict {
  const finalFault = fault("service_unavailable", {
    message:
      "The instance of the gateway that the node is connected to was told to stop before the answer was whole. Nothing is charged; send the request again.",
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
    why: `malformed answer: ${what}`,
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
    message: `The model ${model} can no longer be called here: ${id} was just withdrawn. Try again.`,
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
        message: `The workspace's own key for ${provider} was ${how} ${when} with it, and ${reason}. Send it again: it goes by the keys that are there then.`,
      }),
    );
  const why = `your key for ${provider} was ${how} since the plan was made`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...removedReport("before the request went out"),
    afterPartialSend: removedReport("after parts of the request had gone out"),
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
      message: `Only the workspace's own key for ${provider} is to be used since the request was planned, and ${reason}. Send it again: it goes by the keys that are there then.`,
    }),
  );
  const why = `only your own key for ${provider} is to be used now`;
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
      message: `The node ${name} has just stopped serving ${model}, and ${reason}. Try again shortly, or look after its agent.`,
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
  const why = `cannot be told: ${finalFault.code}${finalFault.param === undefined ? "" : ` (${finalFault.param})`}`;
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
  return { is: "stop", why: `not admitted any more: ${refusal.code}`, fault: refusal };
}

/** No credential is available, and a retry would not get one; nothing was sent. */
export function classifyCredentialFailure(provider: string): FailureVerdict {
  const why = "the gateway's own credential was refused by who issues it";
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
    ? `your key for ${provider} was refused${shown}`
    : `your account at ${provider} did not let the request through${shown}`;
  const refused = failureReport((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} did not accept the workspace's own key${shown}, and ${reason}. An admin of the workspace can test it, or connect another one.`,
      headers: { "x-should-retry": "false" },
      detail: { ownKey: provider },
    }),
  );
  return { ...verdict, why, ...refused, blame: { on: "workspace" } };
}

/** The verdict for an attempt at a node: the workspace is responsible for its server. */
export function attributeToNode(verdict: FailureVerdict, name: string, status: number | null): FailureVerdict {
  if (verdict.is !== "next") return verdict;
  const { code } = verdict.finalFault;
  const isRefused = verdict.blame.on === "operator" && status !== null;
  const messageFor = (reason: string) => {
    if (code === "upstream_timeout") return `The node ${name} did not answer in time and ${reason}. Try again.`;
    return isRefused
      ? `The local server of the node ${name} refused the request (${status}), and ${reason}. Look at its key and its models.`
      : `The node ${name} gave no usable answer and ${reason}. Try again, or look after its server.`;
  };
  const isGeneric = code === "upstream_timeout" || code === "upstream_error";
  const failed = {
    ...verdict,
    ...(isGeneric ? failureReport((reason) => fault(code, { message: messageFor(reason) })) : {}),
  };
  if (!isRefused) return failed;
  const why = `the local server refused the request (${status})`;
  return { ...failed, why, blame: { on: "endpoint", retryAfterMs: undefined } };
}

/** Removes the presented credential from a provider's message. */
export function redactVerdict(verdict: FailureVerdict, secrets: readonly string[]): FailureVerdict {
  if (verdict.is !== "stop") return verdict;
  return { ...verdict, fault: verdict.fault.reworded({ message: redactSecrets(verdict.fault.message, secrets) }) };
}

function passThroughRefusal(status: number, problem: UpstreamProblem): FailureVerdict {
  const message = redactCredentials(problem.message);
  return {
    is: "stop",
    why: `provider refused the request (${status})`,
    fault: fault("provider_error", { message, status }),
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
      message: `The provider ${provider} did not answer in time and ${reason}. Try again.`,
    }),
  );

const brokenReport = (provider: string) =>
  failureReport((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} gave no usable answer and ${reason}. Try again.`,
    }),
  );

const unusableReport = (provider: string, { code, model }: ModelFailure, what: string) =>
  failureReport((reason) =>
    fault(code, {
      message: `The provider ${provider} gave no usable answer of ${model} (${what}), and ${reason}. Try again, or ask another model.`,
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

const CREDENTIAL_PATTERN =
  /\b(?:sk|pk|rk|gsk|xai|AIza|ya29)[-_.][\w.-]{6,}|\bAIza[\w-]{10,}|\bA[KS]IA[A-Z\d]{16}\b|\b[Bb]earer\s+\S+|\b(?:x-)?api-key["']?\s*[:=]\s*["']?[^\s"',]+|([?&](?:(?:api_?|access_)?key|(?:access_|auth_)?token|sig(?:nature)?)=)[^&\s"']+/gi;

/** A provider's message may echo a credential, which the caller must not see. */
function redactCredentials(message: string): string {
  return message.replace(CREDENTIAL_PATTERN, "[redacted]");
}
