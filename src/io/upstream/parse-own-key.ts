import { z } from "zod";
import type { CatalogueSnapshot, Credential } from "../../domain/catalogue/catalogue.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import { type JsonObject, tryParseJsonObject } from "../../kit/json.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { createMintedCredential, parseServiceAccountKey, type TokenMintingDeps } from "./google-service-account.ts";
import { projectProviders, sigV4Providers } from "./provider-connections.ts";

/** A key of a workspace, read: what it is, what may be shown of it, and what requests are made with. */
export type ParsedOwnKey = Pick<OwnKey, "kind" | "hint" | "fingerprint"> & {
  readonly credential: Credential;
};

export type OwnKeyParsingContext = TokenMintingDeps & {
  readonly snapshot: CatalogueSnapshot;
  /** Where service accounts may be sent to for tokens: a key file is a stranger's word, and says any address it likes. */
  readonly tokenUris: readonly string[];
  /** Providers at which a plain key is of no use. */
  readonly serviceAccountOnly: ReadonlySet<string>;
};

/** Google's own addresses for it. */
export const GOOGLE_TOKEN_URIS: readonly string[] = [
  "https://oauth2.googleapis.com/token",
  "https://www.googleapis.com/oauth2/v4/token",
  "https://accounts.google.com/o/oauth2/token",
];

const KeyPair = z.looseObject({
  access_key_id: z.string().regex(/^\w{4,128}$/),
  secret_access_key: z.string().regex(/^[\x21-\x7e]{4,256}$/),
  session_token: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/)
    .nullish(),
});

/** Visible characters of one line: what fits into a header. */
const PLAIN = /^[\x21-\x7e]{8,4096}$/;
const SHOWN_CHARS = 4;
/** Of a shorter text the last characters would be too much of it. */
const SHOWN_OF_MIN = 16;
const FINGERPRINT_CHARS = 8;

/** The credential in a text, or a sentence about what is wrong with it that shows nothing of it. */
export function parseOwnKey(
  text: string,
  provider: string,
  reading: OwnKeyParsingContext,
): ParsedOwnKey | { readonly problem: string } {
  const secret = text.trim();
  const fingerprint = sha256Hex(secret).slice(0, FINGERPRINT_CHARS);
  if (secret.startsWith("{")) {
    const fields = tryParseJsonObject(secret);
    const read =
      fields?.["type"] === "service_account"
        ? serviceAccount(secret, provider, reading)
        : keyPair(fields, provider, reading);
    return "problem" in read ? read : { ...read, fingerprint };
  }
  if (reading.serviceAccountOnly.has(provider))
    return { problem: `${provider} takes no plain key: write the key file of a service account` };
  if (!PLAIN.test(secret)) return { problem: "write the key alone, 8 to 4096 characters on one line, or a JSON file" };
  return {
    kind: "key",
    hint: lastOf(secret),
    fingerprint,
    credential: { kind: "bearer", token: secret },
  };
}

type Read = Omit<ParsedOwnKey, "fingerprint"> | { readonly problem: string };

function keyPair(fields: JsonObject | undefined, provider: string, { snapshot }: OwnKeyParsingContext): Read {
  const pair = KeyPair.safeParse(lowerCased(fields));
  if (!pair.success)
    return { problem: "write JSON with access_key_id and secret_access_key, or the key file of a service account" };
  if (!sigV4Providers(snapshot).has(provider))
    return { problem: `${provider} takes a plain key, not a key pair of AWS` };
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token } = pair.data;
  const sessionToken = session_token ?? null;
  return {
    kind: "aws",
    hint: lastOf(accessKeyId),
    credential: { kind: "aws", keys: { accessKeyId, secretAccessKey, sessionToken } },
  };
}

function serviceAccount(text: string, provider: string, reading: OwnKeyParsingContext): Read {
  const account = parseServiceAccountKey(text);
  if ("problem" in account) return { problem: `write the key file as it was downloaded: ${account.problem}` };
  if (!projectProviders(reading.snapshot).has(provider))
    return { problem: `${provider} takes a plain key, not a service account` };
  if (!reading.tokenUris.includes(account.tokenUri))
    return { problem: `its token_uri is not one of Google's: write ${reading.tokenUris[0] ?? "none"}` };
  return {
    kind: "google",
    hint: account.keyId === undefined ? null : lastOf(account.keyId),
    credential: createMintedCredential(account, reading),
  };
}

/** The names that AWS's own tools write, as well: AccessKeyId, aws_access_key_id, AWS_ACCESS_KEY_ID. */
function lowerCased(fields: JsonObject | undefined): Record<string, unknown> {
  const named = Object.entries(fields ?? {}).map(([name, value]): [string, unknown] => {
    const lower = name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
    return [lower.replace(/^aws_/, ""), value];
  });
  return Object.fromEntries(named);
}

function lastOf(text: string): string | null {
  return text.length < SHOWN_OF_MIN ? null : text.slice(-SHOWN_CHARS);
}
