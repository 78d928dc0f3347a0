import type { IncomingHttpHeaders } from "node:http";
import { fault } from "../../contract/faults.ts";
import { ownOrigins } from "../../domain/tenancy/own-origins.ts";

/** Browsers say from where a change comes; other clients say nothing, and have no cookies of anyone. */
export function refuseForeign(headers: IncomingHttpHeaders, publicUrl: string | null): void {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  const isForeign =
    origin === undefined
      ? headers.cookie !== undefined || (site !== undefined && site !== "same-origin" && site !== "none")
      : !ownOrigins(publicUrl, host).includes(origin.toLowerCase());
  if (!isForeign) return;
  throw fault("cross_site_request", {
    message:
      publicUrl === null
        ? "This came from a page of another address. Open the portal under the address the gateway prints, or set GATEWAY_PUBLIC_URL to the one you use."
        : `This came from a page of another address. Open the portal at ${publicUrl}.`,
  });
}
