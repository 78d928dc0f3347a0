import { z } from "zod";
import type { CatalogueSnapshot, Credential } from "../../domain/catalogue/catalogue.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import { type JsonObject, tryParseJsonObject } from "../../kit/json.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { createMintedCredential, parseServiceAccountKey, type TokenMintingDeps } from "./google-service-account.ts";
import { projectProviders, sigV4Providers } from "./provider-connections.ts";

/** A workspace's provider key: its kind, what may be displayed of it, and the credential. */
export type ParsedOwnKey = Pick<OwnKey, "kind" | "hint" | "fingerprint"> & {
  readonly credential: Credential;
};

export type OwnKeyParsingContext = TokenMintingDeps & {
  readonly snapshot: CatalogueSnapshot;
  /** Allowed token endpoints: a key file is untrusted input and may name any URL. */
  readonly tokenUris: readonly string[];
  /** Providers that accept no plain key. */
  readonly serviceAccountOnly: ReadonlySet<string>;
};

export const GOOGLE_TOKEN_URIS: readonly string[] = [
  "https://oauth2.googleapis.com/token",
  "https://www.googleapis.com/oauth2/v4/token",
  "https://accounts.google.com/o/oauth2/token",
];

const AwsKeyPair = z.looseObject({
  access_key_id: z.string().regex(/^\w{4,128}$/),
  secret_access_key: z.string().regex(/^[\x21-\x7e]{4,256}$/),
  session_token: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/)
    .nullish(),
});

/** Printable ASCII without spaces: what fits into a header. */
const PLAIN_KEY = /^[\x21-\x7e]{8,4096}$/;
const HINT_CHARS = 4;
/** For a shorter secret the hint would reveal too much. */
const HINT_SECRET_CHARS_MIN = 16;
const FINGERPRINT_CHARS = 8;

/** Parses a key, or explains what is wrong with it without revealing any of it. */
export function parseOwnKey(
  text: string,
  provider: string,
  context: OwnKeyParsingContext,
): ParsedOwnKey | { readonly problem: string } {
  const secret = text.trim();
  const fingerprint = sha256Hex(secret).slice(0, FINGERPRINT_CHARS);
  if (secret.startsWith("{")) {
    const fields = tryParseJsonObject(secret);
    const parsed =
      fields?.["type"] === "service_account"
        ? parseServiceAccount(secret, provider, context)
        : parseAwsKeyPair(fields, provider, context);
    return "problem" in parsed ? parsed : { ...parsed, fingerprint };
  }
  if (context.serviceAccountOnly.has(provider))
    return { problem: `must be the key file of a service account: ${provider} does not support plain keys` };
  if (!PLAIN_KEY.test(secret))
    return { problem: "must be the key alone, 8 to 4096 characters on one line, or a JSON file" };
  return {
    kind: "key",
    hint: lastCharsOf(secret),
    fingerprint,
    credential: { kind: "bearer", token: secret },
  };
}

type ParseResult = Omit<ParsedOwnKey, "fingerprint"> | { readonly problem: string };

function parseAwsKeyPair(
  fields: JsonObject | undefined,
  provider: string,
  { snapshot }: OwnKeyParsingContext,
): ParseResult {
  const pair = AwsKeyPair.safeParse(snakeCased(fields));
  if (!pair.success)
    return { problem: "must be JSON with access_key_id and secret_access_key, or the key file of a service account" };
  if (!sigV4Providers(snapshot).has(provider))
    return { problem: `must be a plain key: ${provider} does not support AWS key pairs` };
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token } = pair.data;
  const sessionToken = session_token ?? null;
  return {
    kind: "aws",
    hint: lastCharsOf(accessKeyId),
    credential: { kind: "aws", keys: { accessKeyId, secretAccessKey, sessionToken } },
  };
}

function parseServiceAccount(text: string, provider: string, context: OwnKeyParsingContext): ParseResult {
  const account = parseServiceAccountKey(text);
  if ("problem" in account) return { problem: `must be the key file as downloaded: ${account.problem}` };
  if (!projectProviders(context.snapshot).has(provider))
    return { problem: `must be a plain key: ${provider} does not support service accounts` };
  if (!context.tokenUris.includes(account.tokenUri))
    return { problem: `must have a token_uri of Google: ${context.tokenUris[0] ?? "none"}` };
  return {
    kind: "google",
    hint: account.keyId === undefined ? null : lastCharsOf(account.keyId),
    credential: createMintedCredential(account, context),
  };
}

/** Accepts the spellings of AWS tools: AccessKeyId, aws_access_key_id, AWS_ACCESS_KEY_ID. */
function snakeCased(fields: JsonObject | undefined): Record<string, unknown> {
  const named = Object.entries(fields ?? {}).map(([name, value]): [string, unknown] => {
    const lower = name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
    return [lower.replace(/^aws_/, ""), value];
  });
  return Object.fromEntries(named);
}

function lastCharsOf(text: string): string | null {
  return text.length < HINT_SECRET_CHARS_MIN ? null : text.slice(-HINT_CHARS);
}
