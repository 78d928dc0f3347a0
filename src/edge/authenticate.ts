import type { IncomingHttpHeaders } from "node:http";
import type { Exchange } from "../app/exchange.ts";
import { toFault } from "../app/to-fault.ts";
import { Fault, fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { KeyRef, RateWindowVerdict } from "../domain/admission/shared-state.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { keyValidityOf } from "../domain/tenancy/directory-reader.ts";
import { KEY_PREFIXES, type Principal } from "../domain/tenancy/key.ts";
import type { Clock } from "../kit/clock.ts";
import { chain, type MaybePromise } from "../kit/maybe-promise.ts";
import { sha256Hex } from "../kit/secret.ts";
import type { KeyAuthenticatorDeps } from "./edge-deps.ts";
import type { UnauthenticatedExchange } from "./edge-exchange.ts";
import { SWITCHED_OFF_FAULTS } from "./edge-faults.ts";
import {
  addressNotAllowedFault,
  expiredKeyFault,
  invalidKeyFault,
  missingKeyFault,
  missingScopeFault,
  pendingKeyFault,
} from "./key-faults.ts";

const PREFIXES = Object.values(KEY_PREFIXES).flatMap((kind) => Object.values(kind));
const KEY_CHARS_MAX = 256;
/** Rate limit of log entries for an invalid key, so that its holder cannot fill the log. */
const REJECTED_RPM_MAX = 10;

/** The result of all checks of a known key. */
export type KeyCheck = {
  readonly principal: Principal;
  readonly refusal: Fault | undefined;
  /** Undefined when the rate window was not read, or the shared state failed. */
  readonly window: RateWindowVerdict | undefined;
};

/** Authenticates API keys against the newest version of their workspace in the fleet. */
export class KeyAuthenticator {
  readonly #deps: KeyAuthenticatorDeps;

  constructor(deps: KeyAuthenticatorDeps) {
    this.#deps = deps;
  }

  /** Finds the principal of the key. A key that this instance would reject may be valid on another one. */
  identify(exchange: UnauthenticatedExchange): MaybePromise<Principal> {
    const { fleet } = this.#deps;
    if (fleet.isSingleInstance) return this.findPrincipal(exchange);
    try {
      const known = this.findPrincipal(exchange);
      if (keyFault(known, exchange.clientAddress, exchange.receivedAtMs) === undefined) return known;
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "missing_api_key") throw error;
    }
    return fleet.catchUp().then(() => this.findPrincipal(exchange));
  }

  /** Checks validity, address, scope, switched-off surfaces and the rate window, in this order. */
  check(exchange: UnauthenticatedExchange, route: Route, principal: Principal): MaybePromise<KeyCheck> {
    const invalid = keyFault(principal, exchange.clientAddress, exchange.receivedAtMs);
    if (invalid !== undefined) return this.#rejectInvalid(route, principal, invalid);
    const forbidden = this.routeFault(principal, route);
    const window = this.checkWindow(exchange, route, principal);
    // A forbidden call is counted like any other; its refusal takes precedence over the rate limit's.
    const withForbidden = (check: KeyCheck) => (forbidden === undefined ? check : { ...check, refusal: forbidden });
    if (!(window instanceof Promise)) return withForbidden(window);
    return window.then(withForbidden, (error: unknown) => {
      const refusal = forbidden ?? toFault(error);
      return { principal, refusal, window: undefined };
    });
  }

  findPrincipal({ request, errorShape }: UnauthenticatedExchange): Principal {
    return authenticateKey(request.headers, this.#deps.directory, errorShape === "gemini" ? "x-goog-api-key" : "");
  }

  routeFault(principal: Principal, route: Route): Fault | undefined {
    const { switchedBy } = route;
    const isSwitchedOff = switchedBy !== undefined && this.#deps.switchedOff.has(switchedBy);
    return scopeFault(principal, route) ?? (isSwitchedOff ? SWITCHED_OFF_FAULTS[switchedBy] : undefined);
  }

  /**
   * Lets a few rejected calls through to the log; the others get the fault at once. They have a rate window of their own, so
   * that they do not use up the window of valid calls.
   */
  #rejectInvalid(route: Route, principal: Principal, refusal: Fault): MaybePromise<KeyCheck> {
    const conclude = ({ isAllowed }: Pick<RateWindowVerdict, "isAllowed">): KeyCheck => {
      if (!isAllowed) throw refusal;
      return { principal, refusal, window: undefined };
    };
    const { id, workspaceId } = principal.key;
    const limit = Math.min(this.limitOf(principal), REJECTED_RPM_MAX);
    const window = this.#readWindow(route, { id: `${id}.kept-out`, workspaceId }, limit);
    return window instanceof Promise ? window.catch(() => ({ isAllowed: false })).then(conclude) : conclude(window);
  }

  limitOf({ key }: Principal): number {
    return key.rpm ?? this.#deps.rpmDefaults[key.environment];
  }

  checkWindow(exchange: UnauthenticatedExchange, route: Route, principal: Principal): MaybePromise<KeyCheck> {
    return chain(this.#readWindow(route, principal.key, this.limitOf(principal)), (window) => {
      addRateHeaders(exchange.baseHeaders, window);
      return { principal, refusal: windowFault(window, route), window };
    });
  }

  #readWindow({ counted }: Route, key: KeyRef, limit: number): MaybePromise<RateWindowVerdict> {
    const { state } = this.#deps;
    return counted ? state.consumeRateWindow(key, limit) : state.peekRateWindow(key, limit);
  }
}

/**
 * The presented token, "" when there is none. A bearer `Authorization` wins over `x-api-key`, even when it is invalid; any
 * other one belongs to a proxy or client that adds its own.
 */
export function presentedToken(headers: IncomingHttpHeaders): string {
  const bearer = /^bearer(?:[ \t]+(\S.*))?$/i.exec((headers.authorization ?? "").trim());
  return bearer === null ? String(headers["x-api-key"] ?? "").trim() : (bearer[1] ?? "");
}

/** Looks the key up by its digest; the principal's key may be expired or revoked. */
export function authenticateKey(headers: IncomingHttpHeaders, directory: Directory, otherHeader = ""): Principal {
  const token = presentedToken(headers) || String(headers[otherHeader] ?? "").trim();
  if (token === "") throw missingKeyFault();
  const principal =
    token.length <= KEY_CHARS_MAX && PREFIXES.some((prefix) => token.startsWith(prefix))
      ? directory.principalByDigest(sha256Hex(token))
      : undefined;
  if (principal === undefined) throw invalidKeyFault();
  return principal;
}

/** A key that is not valid now, or not from this address. Such calls appear in the workspace's log. */
export function keyFault(principal: Principal, address: string, nowMs: number): Fault | undefined {
  switch (keyValidityOf(principal.key, nowMs)) {
    case "invalid":
      return principal.key.state === "pending" ? pendingKeyFault() : invalidKeyFault();
    case "expired":
      return expiredKeyFault();
    case "valid":
      return addressFault(principal, address);
  }
}

function addressFault({ allowlist }: Principal, address: string): Fault | undefined {
  if (allowlist === undefined || allowlist.has(address)) return undefined;
  return addressNotAllowedFault(address);
}

export function scopeFault({ key: { scopes } }: Principal, { access }: Route): Fault | undefined {
  if (access.by !== "key" || access.scope === null || scopes === null) return undefined;
  const { scope } = access;
  return scopes.some((held) => held === scope) ? undefined : missingScopeFault(scope, scopes);
}

/**
 * Repeats the key checks for a running request: the key may have been revoked, narrowed or expired since it began. It uses
 * the principal instead of the headers, because a resumed background job has no headers.
 */
export function createKeyRecheck(directory: Directory, clock: Pick<Clock, "nowMs">): (exchange: Exchange) => void {
  return ({ principal, clientAddress, route }) => {
    if (principal === undefined) return;
    const nowMs = clock.nowMs();
    const now = directory.principalByDigest(principal.key.digest);
    if (now === principal && keyValidityOf(now.key, nowMs) === "valid") return;
    const refusal =
      now === undefined ? invalidKeyFault() : (keyFault(now, clientAddress, nowMs) ?? scopeFault(now, route));
    if (refusal !== undefined) throw refusal;
  };
}

export function addRateHeaders(
  headers: Record<string, string>,
  { limit, remaining, resetAtMs }: RateWindowVerdict,
): void {
  headers["x-ratelimit-limit"] = String(limit);
  headers["x-ratelimit-remaining"] = String(remaining);
  headers["x-ratelimit-reset"] = String(Math.ceil(resetAtMs / 1000));
}

export function windowFault(window: RateWindowVerdict, { counted }: Route): Fault | undefined {
  return window.isAllowed || !counted ? undefined : rateLimitFault(window);
}

export function rateLimitFault(window: RateWindowVerdict): Fault {
  const waitSeconds = Math.max(1, Math.ceil(window.waitMs / 1000));
  const headers: Record<string, string> = { "retry-after": String(waitSeconds) };
  addRateHeaders(headers, window);
  return fault("rate_limit_exceeded", {
    message: `This key exceeded its rate limit of ${window.limit} requests per minute. Try again in ${waitSeconds} s.`,
    headers,
  });
}
