import { createHash, createHmac } from "node:crypto";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { percentEncode } from "../../kit/percent-encode.ts";
import type { UpstreamBody } from "./transport.ts";

/** An AWS key pair; temporary pairs have a session token. */
export type AwsKeys = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
};

type SigV4Request = {
  readonly method: string;
  readonly url: string;
  /** Headers to sign besides host and date; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
};

type SigningScope = { readonly region: string; readonly service: string; readonly nowMs: number };

const ALGORITHM = "AWS4-HMAC-SHA256";

/**
 * The headers of AWS Signature Version 4. The signed path is the path on the wire, encoded once more, as every service
 * except S3 expects.
 */
export function signAws(request: SigV4Request, keys: AwsKeys, scope: SigningScope): Record<string, string> {
  const { date, time } = amzDateOf(scope.nowMs);
  const url = new URL(request.url);
  const added: Record<string, string> = {
    "x-amz-date": time,
    ...(keys.sessionToken === null ? {} : { "x-amz-security-token": keys.sessionToken }),
  };
  const signed = Object.entries({ ...request.headers, ...added, host: url.host })
    .map(([name, value]) => [name, value.trim().replace(/ +/g, " ")] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(";");
  const canonical = [
    request.method,
    canonicalPath(url.pathname),
    canonicalQuery(url.searchParams),
    ...signed.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    sha256(request.body),
  ].join("\n");
  const credential = `${date}/${scope.region}/${scope.service}/aws4_request`;
  const toSign = [ALGORITHM, time, credential, sha256(canonical)].join("\n");
  const key = [date, scope.region, scope.service, "aws4_request"].reduce<Buffer>(
    (step, part) => hmac(step, part),
    Buffer.from(`AWS4${keys.secretAccessKey}`),
  );
  const signature = hmac(key, toSign).toString("hex");
  return {
    ...added,
    authorization: `${ALGORITHM} Credential=${keys.accessKeyId}/${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function amzDateOf(nowMs: number): { date: string; time: string } {
  const time = `${new Date(nowMs).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
  return { date: time.slice(0, 8), time };
}

function canonicalPath(path: string): string {
  return path.split("/").map(percentEncode).join("/") || "/";
}

function canonicalQuery(params: URLSearchParams): string {
  return [...params]
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .toSorted()
    .join("&");
}

function sha256(data: Buffer | string): string {
  return createHash("sha256").update(data).digest("hex");
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac("sha256", key).update(data).digest();
}

const AWS_REGION = /^[a-z]{2}(?:-[a-z]+)+-\d+$/;

/** The region to sign for: from the host name, otherwise the first hint that is a region. */
export function awsRegionFor(url: string, ...hints: readonly (string | null)[]): string | undefined {
  const candidates = [url, ...hints].flatMap((candidate) => {
    if (candidate === null) return [];
    return URL.canParse(candidate) ? new URL(candidate).hostname.split(".") : [candidate];
  });
  return candidates.find((candidate) => AWS_REGION.test(candidate));
}

/** The header that carries a token. */
export type AuthStyle = "bearer" | "x-api-key" | "x-goog-api-key" | "x-key" | "none";
/** A complete request before authorization; a signature covers it. */
export type OutboundRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  readonly endpoint: Pick<Endpoint, "region" | "baseUrl">;
  readonly nowMs: number;
};

/** Signs only the headers that no proxy modifies. */
export function sigV4Headers(
  keys: AwsKeys,
  { url, headers, body, endpoint, nowMs }: OutboundRequest,
): Record<string, string> {
  const region = awsRegionFor(url, endpoint.baseUrl, endpoint.region);
  if (region === undefined) throw new Error(`no AWS region is known for the endpoint's region ${endpoint.region}`);
  if (typeof body !== "string") throw new Error("an upload cannot be signed");
  const { "content-type": contentType } = headers;
  const covered = contentType === undefined ? {} : { "content-type": contentType };
  return signAws({ method: "POST", url, headers: covered, body }, keys, { region, service: "bedrock", nowMs });
}
