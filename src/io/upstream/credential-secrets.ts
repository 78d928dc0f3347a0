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

/** No credential is available: its issuer rejected the request, or the stored key cannot be decrypted. */
export class CredentialRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CredentialRefused";
  }
}

/** Stands for a stored key that cannot be decrypted: it is planned like any other, and every attempt fails before sending. */
export const UNDECRYPTABLE_CREDENTIAL: Credential = { kind: "bearer", token: "" };
