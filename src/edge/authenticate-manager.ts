import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../contract/faults.ts";
import type { Actor, Person } from "../domain/tenancy/actor.ts";
import { TOKEN_PREFIX, type TokenRegistry } from "../domain/tenancy/token.ts";
import { trustedOrigins } from "../domain/tenancy/trusted-origins.ts";
import type { Incoming } from "../http1/server/server-message.ts";
import { parseBearerToken } from "../kit/bearer-token.ts";
import { sha256Hex } from "../kit/secret.ts";
import { isOperator } from "./authenticate.ts";

/** Who may manage, and how they are known. */
export type Managers = {
  readonly adminToken: string;
  readonly tokens: Pick<TokenRegistry, "valid">;
  /** Where the portal is reached; null: on this machine alone. */
  readonly publicUrl: string | null;
  /** Whose session a cookie or a bearer is. */
  personOf(headers: IncomingHttpHeaders): Promise<Person | undefined>;
};

const SAFE_METHODS: readonly (string | undefined)[] = ["GET", "HEAD"];

/** The operator's token or a management token in `Authorization`, else the session of a person. */
export async function authenticateActor(request: Incoming, managers: Managers, nowMs: number): Promise<Actor> {
  const { headers } = request;
  const { authorization } = headers;
  if (isOperator(authorization, managers.adminToken)) return { is: "operator" };
  if (authorization === undefined && headers.cookie === undefined) throw nobody();
  const bearer = parseBearerToken(authorization);
  if (bearer?.startsWith(TOKEN_PREFIX) === true) {
    const token = managers.tokens.findValid(sha256Hex(bearer), nowMs);
    if (token === undefined) throw wrongToken();
    return { is: "token", token };
  }
  const person = await managers.personOf(headers);
  if (person === undefined) throw authorization === undefined ? signedOut() : wrongToken();
  if (person.via === "cookie" && !SAFE_METHODS.includes(request.method) && !isOurs(headers, managers.publicUrl))
    throw crossSite();
  return { is: "person", person };
}

/** A cookie goes along with what any page sends here: a change counts only from a page of our own. */
function isOurs(headers: IncomingHttpHeaders, publicUrl: string | null): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return false;
  return origin !== undefined && trustedOrigins(publicUrl, host).includes(origin.toLowerCase());
}

function nobody(): Fault {
  return fault("invalid_admin_token", {
    message:
      "The management API needs the operator token or a management token as `Authorization: Bearer <token>`, or a session of the portal.",
  });
}

function wrongToken(): Fault {
  return fault("invalid_admin_token", {
    message:
      "This is not the operator token, and no valid management token or session. The operator's is in the file admin-token of DATA_DIR, or in GATEWAY_ADMIN_TOKEN.",
  });
}

function signedOut(): Fault {
  return fault("not_signed_in", { message: "The session is over, or there was none. Sign in again." });
}

function crossSite(): Fault {
  return fault("cross_site_request", {
    message:
      "A change with the session of the portal must come from a page of the portal. From a program, use a management token.",
  });
}
