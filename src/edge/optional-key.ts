import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../contract/faults.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal, Scope } from "../domain/tenancy/key.ts";
import { authenticateKey, keyFault, presentedToken } from "./authenticate.ts";

export type OptionalKeyDeps = {
  readonly directory: Directory;
  readonly fleet: Pick<Fleet, "isSingleInstance" | "catchUp">;
};

type KeyedRequest = {
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly receivedAtMs: number;
};

/**
 * The principal of a valid API key on a public route. Such a route accepts every caller: one with an invalid key, or with one
 * that lacks the scope, counts as anonymous.
 */
export async function optionalPrincipal(
  { directory, fleet }: OptionalKeyDeps,
  request: KeyedRequest,
  scope: Scope,
): Promise<Principal | undefined> {
  if (presentedToken(request.headers) === "") return undefined;
  const known = findValid(directory, request, scope);
  if (known !== undefined || fleet.isSingleInstance) return known;
  // The key may have been created on another instance.
  await fleet.catchUp();
  return findValid(directory, request, scope);
}

function findValid(directory: Directory, request: KeyedRequest, scope: Scope): Principal | undefined {
  try {
    const principal = authenticateKey(request.headers, directory);
    const { scopes } = principal.key;
    const isValid = keyFault(principal, request.clientAddress, request.receivedAtMs) === undefined;
    return isValid && (scopes === null || scopes.includes(scope)) ? principal : undefined;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
