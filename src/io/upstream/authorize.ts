import type { Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import { type AwsKeys, awsRegionFor, signAws } from "./sigv4.ts";
import type { UpstreamBody } from "./transport.ts";

/** The header that carries a token. */
export type AuthStyle = "bearer" | "x-api-key" | "x-goog-api-key";

/** A complete request before authorization; a signature covers it. */
export type OutboundRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  readonly endpoint: Pick<Endpoint, "region" | "baseUrl">;
  readonly nowMs: number;
};

/** No credential is available: its issuer rejected the request, or the stored key cannot be decrypted. */
export class CredentialRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CredentialRefused";
  }
}

/** Stands for a stored key that cannot be decrypted: it is planned like any other, and every attempt fails before sending. */
export const UNDECRYPTABLE_CREDENTIAL: Credential = { kind: "bearer", token: "" };

/** The headers that carry the credential; created right before the request is sent and stored nowhere. */
export function authorize(
  credential: Credential | undefined,
  style: AuthStyle,
  request: OutboundRequest,
): MaybePromise<Record<string, string>> {
  if (credential === undefined || credential.kind === "none") return {};
  if (credential === UNDECRYPTABLE_CREDENTIAL) throw new CredentialRefusedError("the key that is kept does not open");
  if (credential.kind === "aws") return sigV4Headers(credential.keys, request);
  if (credential.kind === "minted")
    return credential.token().then((token): Record<string, string> => ({ authorization: `Bearer ${token}` }));
  return style === "bearer" ? { authorization: `Bearer ${credential.token}` } : { [style]: credential.token };
}

const CREDENTIAL_HEADERS = ["authorization", "x-api-key", "x-goog-api-key", "x-amz-security-token"] as const;

/** The secrets of a credential itself. A minted token is not included: each request knows the one it presented. */
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

/** The secrets that one request presented, and those they were derived from: none may reach a caller. */
export function presentedSecrets(
  credential: Credential | undefined,
  headers: Readonly<Record<string, string>>,
): string[] {
  const presented = CREDENTIAL_HEADERS.flatMap((name) => headers[name]?.replace(/^Bearer /, "") ?? []);
  return credential === undefined ? presented : [...presented, ...credentialSecrets(credential)];
}

/** Signs only the headers that no proxy modifies. */
function sigV4Headers(keys: AwsKeys, { url, headers, body, endpoint, nowMs }: OutboundRequest): Record<string, string> {
  const region = awsRegionFor(url, endpoint.baseUrl, endpoint.region);
  if (region === undefined) throw new Error(`no AWS region is known for the endpoint's region ${endpoint.region}`);
  if (typeof body !== "string") throw new Error("an upload cannot be signed");
  const { "content-type": contentType } = headers;
  const covered = contentType === undefined ? {} : { "content-type": contentType };
  return signAws({ method: "POST", url, headers: covered, body }, keys, { region, service: "bedrock", nowMs });
}
