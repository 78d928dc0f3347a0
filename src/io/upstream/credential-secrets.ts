import type { Credential } from "../../domain/catalogue/catalogue.ts";

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
