import type { IncomingHttpHeaders } from "node:http";
import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import { redactSecrets } from "../../kit/secret.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { UpstreamFailure } from "./transport.ts";

/** Whose fault a failed attempt was, for those who come after it. */
export type Blame =
  /** The endpoint's, which may say when it wants to be asked again. */
  | { readonly on: "endpoint"; readonly retryAfterMs: number | undefined }
  /** The gateway's own credential, account or deployment there: the operator has to hear of it. */
  | { readonly on: "operator" }
  /** The same, where the key is the workspace's own: that is for its people to hear, not for the operator. */
  | { readonly on: "workspace" }
  /** Nobody's: nothing was asked, or the gateway itself gave up. */
  | { readonly on: "nobody" };

/** What the caller gets for a failed attempt that was the last one. */
export type FailureReport = {
  /** When no other endpoint is left. */
  readonly finalFault: Fault;
  /** When others are left, and the request ended for another reason; absent where the words name none. */
  readonly faultFor?: (reason: string) => Fault;
};

/** What follows from a failed attempt. */
export type FailureVerdict =
  | (FailureReport & {
      readonly is: "next";
      readonly why: string;
      readonly mayHaveBeenAccepted: boolean;
      readonly blame: Blame;
      /** What came was no answer. */
      readonly isMalformed?: true;
      /** Nothing was asked: the request has no words in the endpoint's dialect. */
      readonly isUnencodable?: true;
      /** Nothing was asked: what holds now does not let it, although the plan did. */
      readonly wasNotSent?: true;
      /** The workspace's own key that it was planned with is there no more, or serves other addresses. */
      readonly isOwnKeyRemoved?: true;
      /** Told in its place where other parts of the request had gone out; absent where the words are the same. */
      readonly afterPartialSend?: FailureReport;
      /** Another instance of the gateway, on the way there, was told to stop. */
      readonly isPeerStopping?: true;
      /** How long to wait before the same endpoint may be asked once more; undefined when it may not. */
      readonly retrySameAfterMs: number | undefined;
    })
  /** It has as many requests as it takes, and did nothing with this one: as if it had not been asked. */
  | { readonly is: "busy"; readonly why: string }
  /** The request itself was refused, by an endpoint that does its work; or the gateway ends, and nobody else is asked. */
  | { readonly is: "stop"; readonly why: string; readonly fault: Fault; readonly stopped?: { readonly sent: boolean } };

/** Refusals of the caller's own request: another endpoint would refuse it too. */
const CALLERS_FAULT: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const CONTENT_POLICY = /content[_ -]?(policy|filter)|moderation|safety|policy_violation/i;
/** A month is as good as for ever. */
const RETRY_AFTER_SECONDS_MAX = 31 * 86_400;
/** Those who are busy say when to come back; 529 is one provider's own word for 503. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529]);
const LOOP = 508;
/** Who asks for a longer wait than this is not waited for. */
const AGAIN_WITHIN_MS = 2000;
/** A server that starts again, or a network that blinks, is back within moments or not for a while. */
const CONNECT_AGAIN_MS = 100;
const NOBODY: Blame = { on: "nobody" };
const NOBODY_LEFT = "no other endpoint is left";

function told(faultFor: (reason: string) => Fault): FailureReport {
  return { finalFault: faultFor(NOBODY_LEFT), faultFor };
}

/** The last failure of a request that ended although others are left, with what it really ended for. */
export function faultEndedBy({ finalFault, faultFor }: FailureReport, reason: string): Fault {
  return faultFor?.(reason) ?? finalFault;
}

/** The endpoint answered with an error status. */
export function classifyStatus(
  status: number,
  headers: IncomingHttpHeaders,
  problem: UpstreamProblem,
  provider: string,
): FailureVerdict {
  if (CALLERS_FAULT.has(status) && !isBadCredential(problem) && !isSpent(problem)) return passedOn(status, problem);
  if (status === 403 && CONTENT_POLICY.test(`${problem.code ?? ""} ${problem.type ?? ""}`))
    return passedOn(status, problem);
  if (isOperatorsFault(status) || isSpent(problem) || isBadCredential(problem)) {
    const why = `provider refused the gateway's own credential or deployment (${status})`;
    const broken = brokenAt(provider);
    return {
      is: "next",
      why,
      mayHaveBeenAccepted: false,
      ...broken,
      blame: { on: "operator" },
      retrySameAfterMs: undefined,
    };
  }
  if (BUSY.has(status)) return classifyBusy(status, headers, problem, provider);
  const timedOut = status === 408 || status === 504;
  return {
    is: "next",
    why: `provider failed (${status})`,
    mayHaveBeenAccepted: timedOut || status === 502,
    ...(timedOut ? timeoutAt(provider) : brokenAt(provider)),
    // That it has passed too many gateways says nothing of the last one: a caller could have it set aside for everybody.
    blame: status === LOOP ? NOBODY : { on: "endpoint", retryAfterMs: undefined },
    retrySameAfterMs: undefined,
  };
}

/** It would, but not now. */
function classifyBusy(
  status: number,
  headers: IncomingHttpHeaders,
  problem: UpstreamProblem,
  provider: string,
): FailureVerdict {
  const seconds = retryAfterSeconds(headers) ?? statedDelay(problem);
  const retryAfterMs = seconds === undefined ? undefined : seconds * 1000;
  const limited = status === 429;
  const state = limited ? "is at its rate limit" : "is overloaded";
  const advice = seconds === undefined ? "Try again shortly." : `Try again in ${seconds} s.`;
  const busy = told((reason) =>
    fault(limited ? "rate_limit_exceeded" : "upstream_error", {
      message: `The provider ${provider} ${state} and ${reason}. ${advice}`,
      ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
    }),
  );
  return {
    is: "next",
    why: limited ? "provider at its rate limit (429)" : `provider failed (${status})`,
    mayHaveBeenAccepted: false,
    ...busy,
    blame: { on: "endpoint", retryAfterMs },
    retrySameAfterMs: retryAfterMs !== undefined && retryAfterMs <= AGAIN_WITHIN_MS ? retryAfterMs : undefined,
  };
}

/** No usable answer came at all. */
export function classifyFailure(failure: UpstreamFailure, provider: string): FailureVerdict {
  if (failure.kind === "stopped") return classifyStopped(failure.sent);
  if (failure.kind === "leaving") return classifyLeaving(failure);
  if (failure.kind === "busy") return { is: "busy", why: failure.why };
  return {
    is: "next",
    why: `${failure.kind}: ${failure.why}`,
    mayHaveBeenAccepted: failure.sent,
    ...(failure.kind === "timeout" ? timeoutAt(provider) : brokenAt(provider)),
    blame: failure.kind === "aborted" ? NOBODY : { on: "endpoint", retryAfterMs: undefined },
    retrySameAfterMs: failure.sent || failure.kind === "aborted" ? undefined : CONNECT_AGAIN_MS,
  };
}

/** The time for a stopping gateway's last answers is over: the same call is for whoever serves after it. */
function classifyStopped(sent: boolean): FailureVerdict {
  const problem = fault("service_unavailable", {
    message: "The gateway was told to stop before this answer was whole. Nothing is charged; send the request again.",
  });
  return { is: "stop", why: "the gateway was told to stop", fault: problem, stopped: { sent } };
}

/** Another instance ended what was asked through it: this one goes on, and asks whoever else there is. */
function classifyLeaving({ sent, why }: UpstreamFailure): FailureVerdict {
  const finalFault = fault("service_unavailable", {
    message:
      "The instance of the gateway that the node is connected to was told to stop before the answer was whole. Nothing is charged; send the request again.",
  });
  const retrySameAfterMs = sent ? undefined : CONNECT_AGAIN_MS;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: sent,
    finalFault,
    blame: NOBODY,
    isPeerStopping: true,
    retrySameAfterMs,
  };
}

/** Told by a code of its own, with the model that was asked. */
type NamedFailure = { readonly code: FaultCode; readonly model: string };

/** Status 200 with something that is not an answer of the dialect. */
export function classifyMalformed(what: string, provider: string, named?: NamedFailure): FailureVerdict {
  return {
    is: "next",
    why: `malformed answer: ${what}`,
    mayHaveBeenAccepted: true,
    ...(named === undefined ? brokenAt(provider) : unusableAt(provider, named, what)),
    blame: { on: "endpoint", retryAfterMs: undefined },
    isMalformed: true,
    retrySameAfterMs: undefined,
  };
}

/** The policy was tightened after the plan was made, so nobody was asked. */
export function classifyExcluded(why: string, refusal: Fault): FailureVerdict {
  return {
    is: "next",
    why: `policy: ${why}`,
    mayHaveBeenAccepted: false,
    finalFault: refusal,
    blame: NOBODY,
    retrySameAfterMs: undefined,
  };
}

/** The catalogue or the connections changed after the plan was made: nobody is there to ask any more. */
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
    blame: NOBODY,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/** The same where only the workspace's own key is gone. Asked anew, it is planned with what the workspace has then. */
export function classifyOwnKeyRemoved(provider: string, how: "removed" | "replaced"): FailureVerdict {
  const gone = (when: string) =>
    told((reason) =>
      fault("upstream_error", {
        message: `The workspace's own key for ${provider} was ${how} ${when} with it, and ${reason}. Send it again: it goes by the keys that are there then.`,
      }),
    );
  const why = `your key for ${provider} was ${how} since the plan was made`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...gone("before the request went out"),
    afterPartialSend: gone("after parts of the request had gone out"),
    blame: NOBODY,
    wasNotSent: true,
    isOwnKeyRemoved: true,
    retrySameAfterMs: undefined,
  };
}

/** The workspace wants its own key for a provider and no other, which it did not when the plan was made. */
export function classifyOwnOnly(provider: string): FailureVerdict {
  const alone = told((reason) =>
    fault("upstream_error", {
      message: `Only the workspace's own key for ${provider} is to be used since the request was planned, and ${reason}. Send it again: it goes by the keys that are there then.`,
    }),
  );
  const why = `only your own key for ${provider} is to be used now`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...alone,
    blame: NOBODY,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/** The same of a machine that went: it is away, not unknown, and who sends the request again may find it back. */
export function classifyNodeOffline(name: string, model: string): FailureVerdict {
  const lost = told((reason) =>
    fault("upstream_error", {
      message: `The node ${name} has just stopped serving ${model}, and ${reason}. Try again shortly, or look after its agent.`,
    }),
  );
  const why = "the node stopped serving it since the plan was made";
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...lost,
    blame: NOBODY,
    wasNotSent: true,
    retrySameAfterMs: undefined,
  };
}

/**
 * Only writing the request showed that it cannot be said to this endpoint: another one may have words for it. The caller
 * may be told in words of its own request; the log has none of them.
 */
export function classifyUnencodable(finalFault: Fault): FailureVerdict {
  const why = `cannot be told: ${finalFault.code}${finalFault.param === undefined ? "" : ` (${finalFault.param})`}`;
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    finalFault,
    blame: NOBODY,
    isUnencodable: true,
    retrySameAfterMs: undefined,
  };
}

/** Whoever asks may not ask any more, and nobody else is asked for them. */
export function classifyKeyRevoked(refusal: Fault): FailureVerdict {
  return { is: "stop", why: `not admitted any more: ${refusal.code}`, fault: refusal };
}

/** There was no credential to ask with, and trying again gets none: nobody was asked. */
export function classifyCredentialFailure(provider: string): FailureVerdict {
  const why = "the gateway's own credential was refused by who issues it";
  const broken = brokenAt(provider);
  return {
    is: "next",
    why,
    mayHaveBeenAccepted: false,
    ...broken,
    blame: { on: "operator" },
    retrySameAfterMs: undefined,
  };
}

/** The same failure where the endpoint was called with the workspace's own key: whose account it is changes who is told. */
export function attributeToOwnKey(verdict: FailureVerdict, provider: string, status: number | null): FailureVerdict {
  if (verdict.is !== "next" || verdict.blame.on !== "operator") return verdict;
  const shown = status === null ? "" : ` (${status})`;
  const isRefused = status === null || status === 401 || status === 403 || status === 400;
  const why = isRefused
    ? `your key for ${provider} was refused${shown}`
    : `your account at ${provider} did not let the request through${shown}`;
  const refused = told((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} did not accept the workspace's own key${shown}, and ${reason}. An admin of the workspace can test it, or connect another one.`,
      headers: { "x-should-retry": "false" },
      detail: { ownKey: provider },
    }),
  );
  return { ...verdict, why, ...refused, blame: { on: "workspace" } };
}

/** The same failure at a machine of the workspace's own: what stands there is for its people to look after. */
export function attributeToNode(verdict: FailureVerdict, name: string, status: number | null): FailureVerdict {
  if (verdict.is !== "next") return verdict;
  const { code } = verdict.finalFault;
  const isRefused = verdict.blame.on === "operator" && status !== null;
  const words = (reason: string) => {
    if (code === "upstream_timeout") return `The node ${name} did not answer in time and ${reason}. Try again.`;
    return isRefused
      ? `The local server of the node ${name} refused the request (${status}), and ${reason}. Look at its key and its models.`
      : `The node ${name} gave no usable answer and ${reason}. Try again, or look after its server.`;
  };
  const isOurs = code === "upstream_timeout" || code === "upstream_error";
  const failed = { ...verdict, ...(isOurs ? told((reason) => fault(code, { message: words(reason) })) : {}) };
  if (!isRefused) return failed;
  const why = `the local server refused the request (${status})`;
  return { ...failed, why, blame: { on: "endpoint", retryAfterMs: undefined } };
}

/** A provider's words without the very credential it was shown, in whatever form that is. */
export function redactVerdict(verdict: FailureVerdict, secrets: readonly string[]): FailureVerdict {
  if (verdict.is !== "stop") return verdict;
  return { ...verdict, fault: verdict.fault.reworded({ message: redactSecrets(verdict.fault.message, secrets) }) };
}

function passedOn(status: number, problem: UpstreamProblem): FailureVerdict {
  const message = withoutSecrets(problem.message);
  return {
    is: "stop",
    why: `provider refused the request (${status})`,
    fault: fault("provider_error", { message, status }),
  };
}

const BAD_KEY = /^(api[_ -]?key[_ ]?(not valid|invalid)|(incorrect|invalid)[_ -]?api[_ -]?key)/i;

/** Some providers answer a bad key or account of the operator with 400; that is nobody's business but the operator's. */
function isBadCredential({ code }: UpstreamProblem): boolean {
  // Google's word for an account without billing, or in a country that is not served.
  return code === "FAILED_PRECONDITION" || BAD_KEY.test(code ?? "");
}

/** The operator's account is used up: told as a rate limit by some, but waiting does not help. */
const SPENT: ReadonlySet<string | null> = new Set([
  "insufficient_quota",
  "enforced_spend_limit_reached",
  "ServiceQuotaExceededException",
  "Arrearage",
  "organization_restricted",
]);

function isSpent({ code }: UpstreamProblem): boolean {
  return SPENT.has(code);
}

function isOperatorsFault(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 404;
}

const timeoutAt = (provider: string) =>
  told((reason) =>
    fault("upstream_timeout", {
      message: `The provider ${provider} did not answer in time and ${reason}. Try again.`,
    }),
  );

const brokenAt = (provider: string) =>
  told((reason) =>
    fault("upstream_error", {
      message: `The provider ${provider} gave no usable answer and ${reason}. Try again.`,
    }),
  );

const unusableAt = (provider: string, { code, model }: NamedFailure, what: string) =>
  told((reason) =>
    fault(code, {
      message: `The provider ${provider} gave no usable answer of ${model} (${what}), and ${reason}. Try again, or ask another model.`,
    }),
  );

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Seconds, milliseconds where there are no seconds, or a date by the provider's own clock; garbage counts as absent, absurd values are capped. */
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

function statedDelay({ retryAfterSeconds: seconds }: UpstreamProblem): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds, RETRY_AFTER_SECONDS_MAX);
}

const SECRET =
  /\b(?:sk|pk|rk|gsk|xai|AIza|ya29)[-_.][\w.-]{6,}|\bAIza[\w-]{10,}|\bA[KS]IA[A-Z\d]{16}\b|\b[Bb]earer\s+\S+|\b(?:x-)?api-key["']?\s*[:=]\s*["']?[^\s"',]+|([?&](?:(?:api_?|access_)?key|(?:access_|auth_)?token|sig(?:nature)?)=)[^&\s"']+/gi;

/** A provider's message can echo a credential; the caller never sees one. */
function withoutSecrets(message: string): string {
  return message.replace(SECRET, "[redacted]");
}
