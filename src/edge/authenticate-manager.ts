import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../contract/faults.ts";
import { type Actor, isOperatorActor } from "../domain/tenancy/actor.ts";
import { TOKEN_PREFIX } from "../domain/tenancy/token.ts";
import { trustedOrigins } from "../domain/tenancy/trusted-origins.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import { parseBearerToken } from "../kit/bearer-token.ts";
import type { Clock } from "../kit/clock.ts";
import type { RateLimiter } from "../kit/rate-limiter.ts";
import { sha256Hex } from "../kit/secret.ts";
import type { ManagerAuth } from "./edge-deps.ts";
import { changedRightsFault, managerRateLimitFault } from "./edge-faults.ts";

const SAFE_METHODS: readonly (string | undefined)[] = ["GET", "HEAD"];

/** Authenticates and limits callers of the management API. */
export class ManagerAuthenticator {
  readonly #auth: ManagerAuth;
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;

  constructor(
    auth: ManagerAuth,
    { managerLimit, clock }: { readonly managerLimit: RateLimiter; readonly clock: Clock },
  ) {
    this.#auth = auth;
    this.#limiter = managerLimit;
    this.#clock = clock;
  }

  async authenticateWithinLimit(exchange: ReceivedRequest): Promise<Actor> {
    const actor = await authenticateManager(credentialsOf(exchange), this.#auth, exchange.receivedAtMs);
    this.#limit(actor);
    return actor;
  }

  /** Protects the store from one busy caller; the operator's own token is not limited. */
  #limit(actor: Actor): void {
    if (actor.is === "operator") return;
    const waitSeconds = this.#limiter.consume(actor.is === "token" ? actor.token.id : actor.person.userId);
    if (waitSeconds !== undefined) throw managerRateLimitFault(this.#limiter.perMinute, waitSeconds);
  }

  /** A slow upload can outlive the session, the token or the operator role that it started with. */
  async reauthenticate(exchange: ReceivedRequest, before: Actor): Promise<void> {
    const now = await authenticateManager(credentialsOf(exchange), this.#auth, this.#clock.nowMs());
    if (isOperatorActor(now) !== isOperatorActor(before)) throw changedRightsFault();
  }
}

type ReceivedRequest = {
  readonly request: InboundHttpRequest;
  readonly clientAddress: string;
  readonly receivedAtMs: number;
};

type PresentedCredentials = Pick<InboundHttpRequest, "headers" | "method"> & { readonly clientAddress: string };

const credentialsOf = ({ request: { headers, method }, clientAddress }: ReceivedRequest): PresentedCredentials => ({
  headers,
  method,
  clientAddress,
});

/** Accepts the operator token or a management token in `Authorization`, else a person's session. */
export async function authenticateManager(
  request: PresentedCredentials,
  auth: ManagerAuth,
  nowMs: number,
): Promise<Actor> {
  const { headers, clientAddress } = request;
  const { authorization } = headers;
  if (auth.operatorTokens.verify(authorization, clientAddress)) return { is: "operator" };
  if (authorization === undefined && headers.cookie === undefined) throw missingCredentialsFault();
  const bearer = parseBearerToken(authorization);
  if (bearer?.startsWith(TOKEN_PREFIX) === true) {
    const token = auth.tokens.findValid(sha256Hex(bearer), nowMs);
    if (token === undefined) throw rejectToken(auth, request);
    return { is: "token", token };
  }
  const person = await auth.personOf(headers);
  if (person === undefined) throw authorization === undefined ? signedOutFault() : rejectToken(auth, request);
  if (person.via === "cookie" && !SAFE_METHODS.includes(request.method) && !isOwnOrigin(headers, auth.publicUrl))
    throw crossSiteFault();
  return { is: "person", person };
}

/** CSRF check: browsers attach the cookie to requests of any page, so changes must come from the portal's origin. */
function isOwnOrigin(headers: IncomingHttpHeaders, publicUrl: string | null): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return false;
  return origin !== undefined && trustedOrigins(publicUrl, host).includes(origin.toLowerCase());
}

function missingCredentialsFault(): Fault {
  return fault("invalid_admin_token", {
    message:
      "The management API requires the operator token or a management token as `Authorization: Bearer <token>`, or a portal session.",
  });
}

function rejectToken({ operatorTokens }: ManagerAuth, { headers, clientAddress }: PresentedCredentials): Fault {
  operatorTokens.reject(clientAddress, headers.authorization);
  return fault("invalid_admin_token", {
    message:
      "The token is not the operator token, a valid management token or a session. The operator token is in DATA_DIR/admin-token, or in GATEWAY_ADMIN_TOKEN.",
  });
}

function signedOutFault(): Fault {
  return fault("not_signed_in", { message: "The session has expired. Sign in again." });
}

function crossSiteFault(): Fault {
  return fault("cross_site_request", {
    message:
      "A change with a portal session must come from a page of the portal. In a program, use a management token.",
  });
}
