import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { z } from "zod";
import type { Credential } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseDocument } from "../../kit/json-document.ts";
import type { Timers } from "../../kit/timers.ts";
import { CredentialRefusedError } from "./credential-secrets.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

const KeyFile = z.looseObject({
  type: z.literal("service_account"),
  project_id: z.string().min(1),
  private_key_id: z.string().optional(),
  private_key: z.string().min(1),
  client_email: z.string().min(1),
  token_uri: z.url({ protocol: /^https?$/ }),
});

export type GoogleServiceAccount = {
  readonly project: string;
  readonly email: string;
  readonly keyId: string | undefined;
  readonly key: KeyObject;
  readonly tokenUri: string;
};

/** Parses a key file, or explains what is wrong without revealing the key. */
export function parseServiceAccountKey(text: string): GoogleServiceAccount | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "it is not JSON" };
  }
  const parsed = KeyFile.safeParse(value);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join(".") ?? "";
    return {
      problem: `it is not the key file of a service account: ${field === "" ? "not an object" : `see ${field}`}`,
    };
  }
  const file = parsed.data;
  const key = parsePrivateKey(file.private_key);
  if (key === undefined) return { problem: "its private_key is not an RSA key in PEM form" };
  return {
    project: file.project_id,
    email: file.client_email,
    keyId: file.private_key_id,
    key,
    tokenUri: file.token_uri,
  };
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  }
}

export type TokenMintingDeps = { readonly transport: Transport; readonly clock: Clock; readonly timers: Timers };

export type MintedCredential = Extract<Credential, { kind: "minted" }>;

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_SECONDS = 3600;
const TOKEN_TIMEOUT_MS = 10_000;
/** A token is not used in its last minute: it must be valid when the request arrives. */
const EXPIRY_MARGIN_MS = 60_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const TOKEN_HEADERS = {
  "content-type": "application/x-www-form-urlencoded",
  accept: "application/json",
  "accept-encoding": "identity",
  "user-agent": "inference-gateway",
};
/** Statuses for an invalid, disabled or deleted account; all others are transient. */
const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** A credential whose tokens are fetched on demand, shared by all requests and refreshed before they expire. */
export function createMintedCredential(account: GoogleServiceAccount, deps: TokenMintingDeps): MintedCredential {
  const { clock } = deps;
  let cached: { readonly token: string; readonly untilMs: number } | undefined;
  let fetching: Promise<string> | undefined;
  const refreshToken = async (): Promise<string> => {
    const requestedAtMs = clock.nowMs();
    const { token, lifeSeconds } = await fetchToken(account, deps, requestedAtMs);
    cached = { token, untilMs: requestedAtMs + lifeSeconds * 1000 - EXPIRY_MARGIN_MS };
    return token;
  };
  return {
    kind: "minted",
    project: account.project,
    async token() {
      if (cached !== undefined && clock.nowMs() < cached.untilMs) return cached.token;
      // Concurrent requests share one fetch.
      fetching ??= refreshToken().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
  };
}

const TokenResponse = z.looseObject({ access_token: z.string().min(1), expires_in: z.number().positive() });

async function fetchToken(
  account: GoogleServiceAccount,
  { transport, timers }: TokenMintingDeps,
  nowMs: number,
): Promise<{ token: string; lifeSeconds: number }> {
  const body = new URLSearchParams({ grant_type: GRANT, assertion: signAssertion(account, nowMs) }).toString();
  const request = { url: account.tokenUri, headers: TOKEN_HEADERS, body };
  const bounds = { timers, timeoutMs: TOKEN_TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX };
  const response = await fetchOnce(transport, request, bounds);
  if (!("status" in response)) throw new Error(`the token endpoint did not respond: ${response.why}`);
  const why = `the token endpoint responded with ${response.status}`;
  if (REFUSAL_STATUSES.has(response.status)) throw new CredentialRefusedError(why);
  if (response.status !== 200) throw new Error(why);
  const parsed = TokenResponse.safeParse(tryParseDocument(response.bytes));
  if (!parsed.success) throw new Error("the token endpoint returned no token");
  return { token: parsed.data.access_token, lifeSeconds: parsed.data.expires_in };
}

/** The signed JWT assertion of RFC 7523. */
function signAssertion({ email, keyId, key, tokenUri }: GoogleServiceAccount, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(keyId === undefined ? {} : { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: tokenUri, iat: issuedAt, exp: issuedAt + ASSERTION_SECONDS };
  const signed = `${base64url(header)}.${base64url(claims)}`;
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), key).toString("base64url")}`;
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
