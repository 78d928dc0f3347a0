import type { IncomingHttpHeaders } from "node:http";
import type { Exchange } from "../app/exchange.ts";
import { type Fault, fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { KEY_PREFIXES, keyValidityOf, type Principal } from "../domain/tenancy/key.ts";
import { secretsEqual, sha256Hex } from "../kit/secret.ts";

const PREFIXES = Object.values(KEY_PREFIXES).flatMap((kind) => Object.values(kind));
const KEY_CHARS_MAX = 256;
/** Stands for credentials of another scheme beside an `x-api-key`: they win, and are not valid here. Nothing can spell it. */
const NO_BEARER = "\0";

/** The token a caller sent, "" when none: `Authorization` wins over `x-api-key`, also when it is bad. */
function presentedToken(headers: IncomingHttpHeaders): string {
  const { authorization } = headers;
  if (authorization === undefined) return String(headers["x-api-key"] ?? "").trim();
  const bearer = /^bearer(?:[ \t]+(\S.*))?$/i.exec(authorization.trim());
  if (bearer !== null) return bearer[1] ?? "";
  return authorization.trim() === "" || headers["x-api-key"] === undefined ? "" : NO_BEARER;
}

/** Key to digest to principal, who may not be let in any more. The key itself is never compared or kept. */
export function authenticateKey(headers: IncomingHttpHeaders, directory: Directory): Principal {
  const token = presentedToken(headers);
  if (token === "") {
    throw fault("missing_api_key", {
      message: "No API key was sent. Send it as `Authorization: Bearer <key>` or as `x-api-key: <key>`.",
    });
  }
  const principal =
    token.length <= KEY_CHARS_MAX && PREFIXES.some((prefix) => token.startsWith(prefix))
      ? directory.principalByDigest(sha256Hex(token))
      : undefined;
  if (principal === undefined) throw invalidKey();
  return principal;
}

/** What is wrong when the key may not be used now, or not from an address. Its workspace finds such a call in its log. */
export function keyFault(principal: Principal, address: string, nowMs: number): Fault | undefined {
  switch (keyValidityOf(principal.key, nowMs)) {
    case "invalid":
      return invalidKey();
    case "expired":
      return expiredKey();
    case "valid":
      return addressFault(principal, address);
  }
}

function invalidKey(): Fault {
  return fault("invalid_api_key", {
    message:
      "The API key is not valid here: it is unknown, revoked, or not a key of this service. Check it, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

function expiredKey(): Fault {
  return fault("expired_api_key", {
    message: "The API key has expired. Use its successor, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

function addressFault({ allowlist }: Principal, address: string): Fault | undefined {
  if (allowlist === undefined || allowlist.has(address)) return undefined;
  return fault("ip_not_allowed", {
    message: `The address ${address} is not on this key's allowlist. An admin of the workspace can add it.`,
  });
}

/** What is wrong when the key's scopes do not open the route. */
export function scopeFault({ key: { scopes } }: Principal, { access }: Route): Fault | undefined {
  if (access.by !== "key" || access.scope === null || scopes === null) return undefined;
  const { scope } = access;
  if (scopes.some((held) => held === scope)) return undefined;
  return fault("insufficient_scope", {
    message: `This key lacks the scope ${scope}; it has ${scopes.length === 0 ? "none" : scopes.join(", ")}. Use another key, or let an admin add the scope.`,
  });
}

/**
 * The key's own rules once more, for a call that began some time ago: only where something was changed since, or its
 * time is over. By what is known of the key, not by the headers: work that is taken up again after a restart has none.
 */
export function recheckKey(exchange: Exchange, directory: Directory, nowMs: number): void {
  const { principal, clientAddress, route } = exchange;
  if (principal === undefined) return;
  const now = directory.principalByDigest(principal.key.digest);
  if (now === principal && keyValidityOf(now.key, nowMs) === "valid") return;
  const outside = now === undefined ? invalidKey() : (keyFault(now, clientAddress, nowMs) ?? scopeFault(now, route));
  if (outside !== undefined) throw outside;
}

/** Whether an `Authorization` header carries the operator's token. */
export function isOperator(authorization: string | undefined, adminToken: string): boolean {
  const token = authorization === undefined ? "" : presentedToken({ authorization });
  return token !== "" && secretsEqual(token, adminToken);
}
