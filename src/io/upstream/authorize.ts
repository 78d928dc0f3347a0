import type { Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { type AwsKeys, awsRegionFor, signAws } from "./sigv4.ts";
import type { UpstreamBody } from "./transport.ts";

/** How a dialect's servers are shown who is calling. */
export type AuthStyle = "bearer" | "x-api-key" | "x-goog-api-key";

/** A request that is about to leave: what a signature covers. */
export type OutboundRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  readonly endpoint: Pick<Endpoint, "region" | "baseUrl">;
  readonly nowMs: number;
};

/** There is no credential to be had: who issues it said no, or what is kept of it does not open. */
export class CredentialRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CredentialRefused";
  }
}

/** In the place of a key that is kept and cannot be opened: it is asked like any other, and never lets anything out. */
export const UNDECRYPTABLE_CREDENTIAL: Credential = { kind: "bearer", token: "" };

/** The headers that carry the operator's credential. They are made right before the request leaves and kept nowhere. */
export function authorize(
  credential: Credential | undefined,
  style: AuthStyle,
  outgoing: OutboundRequest,
): MaybePromise<Record<string, string>> {
  if (credential === undefined || credential.kind === "none") return {};
  if (credential === UNDECRYPTABLE_CREDENTIAL) throw new CredentialRefusedError("the key that is kept does not open");
  if (credential.kind === "aws") return signed(credential.keys, outgoing);
  if (credential.kind === "minted")
    return credential.token().then((token): Record<string, string> => ({ authorization: `Bearer ${token}` }));
  return style === "bearer" ? { authorization: `Bearer ${credential.token}` } : { [style]: credential.token };
}

const CREDENTIAL_HEADERS = ["authorization", "x-api-key", "x-goog-api-key", "x-amz-security-token"] as const;

/** What is secret of a credential itself. A minted token is not: it is known to the requests that show it. */
export function credentialSecrets(credential: Credential): readonly string[] {
  switch (credential.kind) {
    case "bearer":
      return [credential.token];
    case "aws":
      return Object.values(credential.keys).filter((secret) => secret !== null);
    case "minted":
    case "none":
      return [];
  }
}

/** The credential as one request showed it, and what it was made from: nothing of it may be told to a caller. */
export function presentedSecrets(
  credential: Credential | undefined,
  headers: Readonly<Record<string, string>>,
): string[] {
  const shown = CREDENTIAL_HEADERS.flatMap((name) => headers[name]?.replace(/^Bearer /, "") ?? []);
  return credential === undefined ? shown : [...shown, ...credentialSecrets(credential)];
}

/** Headers that a proxy on the way may touch stay out of the signature. */
function signed(keys: AwsKeys, { url, headers, body, endpoint, nowMs }: OutboundRequest): Record<string, string> {
  const region = awsRegionFor(url, endpoint.baseUrl, endpoint.region);
  if (region === undefined) throw new Error(`no AWS region is known for the endpoint's region ${endpoint.region}`);
  if (typeof body !== "string") throw new Error("an upload cannot be signed");
  const { "content-type": contentType } = headers;
  const covered = contentType === undefined ? {} : { "content-type": contentType };
  return signAws({ method: "POST", url, headers: covered, body }, keys, { region, service: "bedrock", nowMs });
}
