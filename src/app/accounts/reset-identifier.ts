import { RESET_IDENTIFIER_PREFIX } from "../../domain/tenancy/person.ts";
import { sha256Hex } from "../../kit/secret.ts";

/** The prefix that the auth library puts before a reset token. */
export const LIBRARY_RESET_PREFIX = "reset-password:";

/** The stored form of a reset identifier. Its prefix keeps reset links out of the cleanup that ends sessions. */
export function storedResetIdentifier(identifier: string): string {
  return `${RESET_IDENTIFIER_PREFIX}${sha256Hex(identifier)}`;
}
