import type { IncomingHttpHeaders } from "node:http";
import { fault } from "../../contract/faults.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** The origins whose pages may act for a person: the public address, or the machine's own by the name it was called by. */
export function ownOrigins(publicUrl: string | null, host: string | undefined): string[] {
  const origins = publicUrl === null ? [] : [new URL(publicUrl).origin];
  // By name: a page of elsewhere whose name was made to lead here says that name, and not one of these.
  if (host !== undefined && LOOPBACK.test(host)) origins.push(`http://${host.toLowerCase()}`);
  return origins;
}

/** Browsers say from where a change comes; other clients say nothing, and have no cookies of anyone. */
export function refuseForeign(headers: IncomingHttpHeaders, publicUrl: string | null): void {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  const isForeign =
    origin === undefined
      ? site !== undefined && site !== "same-origin" && site !== "none"
      : !ownOrigins(publicUrl, host).includes(origin.toLowerCase());
  if (!isForeign) return;
  throw fault("cross_site_request", {
    message:
      publicUrl === null
        ? "This came from a page of another address. Open the portal under the address the gateway prints, or set GATEWAY_PUBLIC_URL to the one you use."
        : `This came from a page of another address. Open the portal at ${publicUrl}.`,
  });
}
