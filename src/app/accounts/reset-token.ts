import { RESET_IDENTIFIER_PREFIX } from "../../domain/tenancy/person.ts";
import { sha256Hex } from "../../kit/secret.ts";

/** What the library names a token of a link to a new password by, before the token itself. */
export const RESET_PREFIX = "reset-password:";

/** What is kept of it, told apart from what else waits for a person: links stay good when sessions end. */
export function keptReset(identifier: string): string {
  return `${RESET_IDENTIFIER_PREFIX}${sha256Hex(identifier)}`;
}

export const keptOf = (token: string): string => keptReset(`${RESET_PREFIX}${token}`);
