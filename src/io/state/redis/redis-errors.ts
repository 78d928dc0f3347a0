import { type Fault, fault } from "../../../contract/faults.ts";

/** It was not carried out, and it never will be. */
export class CommandRejected extends Error {
  override readonly name = "NotSent";
}

/** It may have been carried out, or may still be. */
export class OutcomeUnknown extends Error {
  override readonly name = "Unanswered";
}

export function redisUnavailable(cause: unknown): Fault {
  return fault("service_unavailable", {
    message:
      "What the instances of this gateway share does not answer at the moment, so the request cannot be admitted. Try again shortly.",
    headers: { "retry-after": "1" },
    detail: { cause: String(cause) },
  });
}

export function walletsOpening(): Fault {
  return fault("service_unavailable", {
    message:
      "The gateway is filling its wallets from its books again, so it takes no paid work for a moment. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

/** Whether Redis answers, and lets nobody in with this user and password. */
export function isAuthFailure(why: string): boolean {
  return /^(?:WRONGPASS|NOAUTH|NOPERM)/.test(why);
}

/** Whether the certificate of a server over TLS is none that can be believed. */
export function isCertificateFailure(why: string): boolean {
  return /certificate/i.test(why);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
