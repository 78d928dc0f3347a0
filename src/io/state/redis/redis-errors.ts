import { type Fault, fault } from "../../../contract/faults.ts";

/** Redis did not execute the command and never will. */
export class CommandRejected extends Error {
  override readonly name = "CommandRejected";
}

/** Redis may have executed the command, or may still do so. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** Redis answers, but cannot be used like this. */
export class UnsupportedRedis extends Error {
  override readonly name = "UnsupportedRedis";
  /** What the operator should do. */
  readonly fix: string;

  constructor(problem: string, fix: string) {
    super(problem);
    this.fix = fix;
  }
}

export function redisUnavailable(cause: unknown): Fault {
  return fault("service_unavailable", {
    message:
      "The shared state of this gateway (Redis) does not respond, so the request cannot be admitted. Try again shortly.",
    headers: { "retry-after": "1" },
    detail: { cause: String(cause) },
  });
}

export function walletsOpening(): Fault {
  return fault("service_unavailable", {
    message:
      "The gateway is rebuilding its wallets from the ledger and refuses paid requests meanwhile. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

/** Passes everything on but failures of Redis, which callers get as `service_unavailable`. */
export async function unavailableOnFailure<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof CommandRejected || error instanceof OutcomeUnknown ? redisUnavailable(error) : error;
  }
}

/** Redis answers and rejects the user or the password. */
export function isAuthFailure(message: string): boolean {
  return /^(?:WRONGPASS|NOAUTH|NOPERM)/.test(message);
}

export function isCertificateFailure(message: string): boolean {
  return /certificate/i.test(message);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
