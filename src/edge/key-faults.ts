import { type Fault, fault } from "../contract/faults.ts";

export function missingKeyFault(): Fault {
  return fault("missing_api_key", {
    message: "No API key was sent. Send it as `Authorization: Bearer <key>` or as `x-api-key: <key>`.",
  });
}

export function invalidKeyFault(): Fault {
  return fault("invalid_api_key", {
    message:
      "The API key is not valid here: it is unknown, revoked, or not a key of this service. Check it, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

export function expiredKeyFault(): Fault {
  return fault("expired_api_key", {
    message: "The API key has expired. Use its successor, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

export function addressNotAllowedFault(address: string): Fault {
  return fault("ip_not_allowed", {
    message: `The address ${address} is not on this key's allowlist. An admin of the workspace can add it.`,
  });
}

export function missingScopeFault(scope: string, scopes: readonly string[]): Fault {
  return fault("insufficient_scope", {
    message: `This key lacks the scope ${scope}; it has ${scopes.length === 0 ? "none" : scopes.join(", ")}. Use another key, or let an admin add the scope.`,
  });
}
