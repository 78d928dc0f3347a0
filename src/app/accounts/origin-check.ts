import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import type { SessionWithPerson } from "../../domain/tenancy/person.ts";
import { trustedOrigins } from "../../domain/tenancy/trusted-origins.ts";
import type { Exchange } from "../exchange.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import type { AttemptSession, LoginAttempt } from "./login-throttle.ts";

/** A custom header needs a CORS preflight, which the gateway never answers: pages of other origins cannot send it. */
const PORTAL_HEADER = "x-svc-portal";

/** CSRF check of a change: a browser sends Origin with it, and other clients send no cookies. */
export function requireSameOrigin(headers: IncomingHttpHeaders, publicUrl: string | null): void {
  const hasCookieWithoutOrigin = headers.origin === undefined && headers.cookie !== undefined;
  if (hasCookieWithoutOrigin || isCrossSite(headers, publicUrl)) throw crossSite(publicUrl);
}

/**
 * Begins a throttled read. Browsers send no Origin with most reads, and no Sec-Fetch-Site over plain http: reads without
 * a proven origin have their own counter, or an image on a foreign page would use up its visitor's attempts.
 */
export function beginReadAttempt(
  { loginThrottle, publicUrl }: Pick<AccountsDeps, "loginThrottle" | "publicUrl">,
  { headers, clientAddress }: Exchange,
  signedIn?: SessionWithPerson,
): LoginAttempt {
  if (isCrossSite(headers, publicUrl)) throw crossSite(publicUrl);
  const isSameOrigin =
    headers.origin !== undefined || headers["sec-fetch-site"] === "same-origin" || headers[PORTAL_HEADER] !== undefined;
  return loginThrottle.beginRead(clientAddress, { isSameOrigin, session: attemptSession(signedIn) });
}

export function attemptSession(signedIn: SessionWithPerson | undefined): AttemptSession | undefined {
  return signedIn && { personId: signedIn.person.id, sessionId: signedIn.session.id };
}

function isCrossSite(headers: IncomingHttpHeaders, publicUrl: string | null): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  return origin === undefined
    ? site !== undefined && site !== "same-origin" && site !== "none"
    : !trustedOrigins(publicUrl, host).includes(origin.toLowerCase());
}

function crossSite(publicUrl: string | null): Fault {
  return fault("cross_site_request", {
    message:
      publicUrl === null
        ? "The request came from another origin. Open the portal at the URL that the gateway prints at start, or set GATEWAY_PUBLIC_URL to the URL you use."
        : `The request came from another origin. Open the portal at ${publicUrl}.`,
  });
}
