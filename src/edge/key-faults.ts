import { type Fault, fault } from "../contract/faults.ts";

export function missingKeyFault(): Fault {
  return fault("missing_api_key", {
    message: "No API key was sent. Send it as `Authorization: Bearer <key>` or as `x-api-key: <key>`.",
  });
}

export function invalidKeyFault(): Fault {
  return fault("invalid_api_key", {
    message:
      "The API key is invalid: it is unknown or revoked, or was not issued by this gateway. Check it, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

export function pendingKeyFault(): Fault {
  return fault("invalid_api_key", {
    message:
      "The API key is waiting for approval by an admin of the workspace. Ask an admin to approve it; the same key then works.",
    headers: { "x-should-retry": "false" },
  });
}

export function expiredKeyFault(): Fault {
  return fault("expired_api_key", {
    message: "The API key has expired. Use the key that replaced it, or create a new one.",
    headers: { "x-should-retry": "false" },
  });
}

export function addressNotAllowedFault(address: string): Fault {
  return fault("ip_not_allowed", {
    message: `The IP address ${address} is not on the IP allowlist of this key or its workspace. An admin of the workspace can add it.`,
  });
}

export function missingScopeFault(scope: string, scopes: readonly string[]): Fault {
  return fault("insufficient_scope", {
    message: `This key does not have the scope ${scope}; it has ${scopes.length === 0 ? "none" : scopes.join(", ")}. Use another key, or ask an admin to add the scope.`,
  });
}
