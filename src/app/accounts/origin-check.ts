import type { IncomingHttpHeaders } from "node:http";
import { type Fault, fault } from "../../contract/faults.ts";
import type { SessionWithPerson } from "../../domain/tenancy/person.ts";
import { trustedOrigins } from "../../domain/tenancy/trusted-origins.ts";
import type { Exchange } from "../exchange.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import type { LoginAttempt } from "./login-throttle.ts";

/** Pages of other addresses cannot send it: browsers ask for leave first, and get none. */
const PORTAL_HEADER = "x-svc-portal";

/** Browsers say from where a change comes; other clients say nothing, and have no cookies of anyone. */
export function refuseForeign(headers: IncomingHttpHeaders, publicUrl: string | null): void {
  const isUnsaid = headers.origin === undefined && headers.cookie !== undefined;
  if (isUnsaid || isForeign(headers, publicUrl)) throw foreign(publicUrl);
}

/**
 * A try that only reads. Browsers say less of those, and nothing over plain http: what no page of ours says to have asked
 * has a count of its own, or a picture of a foreign page would use up the tries of whoever looks at it.
 */
export function beginRead(
  { loginThrottle, publicUrl }: Pick<AccountsDeps, "tries" | "publicUrl">,
  { headers, clientAddress }: Exchange,
  held?: SessionWithPerson,
): LoginAttempt {
  if (isForeign(headers, publicUrl)) throw foreign(publicUrl);
  const isOurs =
    headers.origin !== undefined || headers["sec-fetch-site"] === "same-origin" || headers[PORTAL_HEADER] !== undefined;
  return loginThrottle.beginRead(clientAddress, isOurs, held?.person.id, held?.session.id);
}

function isForeign(headers: IncomingHttpHeaders, publicUrl: string | null): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  return origin === undefined
    ? site !== undefined && site !== "same-origin" && site !== "none"
    : !trustedOrigins(publicUrl, host).includes(origin.toLowerCase());
}

function foreign(publicUrl: string | null): Fault {
  return fault("cross_site_request", {
    message:
      publicUrl === null
        ? "This came from a page of another address. Open the portal under the address the gateway prints, or set GATEWAY_PUBLIC_URL to the one you use."
        : `This came from a page of another address. Open the portal at ${publicUrl}.`,
  });
}
