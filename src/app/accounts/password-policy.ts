import { type Fault, fault } from "../../contract/faults.ts";
import { HashingBusyError } from "../../kit/password-hasher.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { tooBusy } from "./auth-errors.ts";

export const PASSWORD_CHARS_MIN = 12;
export const PASSWORD_CHARS_MAX = 256;

/** Common passwords of at least the minimum length; repetitions and sequences are detected by their form. */
const COMMON_PASSWORDS: ReadonlySet<string> = new Set([
  "adminadminadmin",
  "administrator",
  "changemechangeme",
  "correcthorsebatterystaple",
  "iloveyouiloveyou",
  "letmeinletmein",
  "passwordpassword",
  "password1234",
  "password12345",
  "password123456",
  "password123456789",
  "passw0rdpassw0rd",
  "qazwsxedcrfv",
  "qwerty123456",
  "qwertyuiop12",
  "qwertyuiop123",
  "qwertyuiop[]",
  "qwertyuiopasdfghjkl",
  "qwertzuiopas",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "welcomewelcome",
  "welcome12345",
  "gatewaygateway",
]);

/** The fault of a weak password; `param` is its field, and `personal` are strings that it may not repeat. */
export function passwordFault(password: string, param: string, personal: readonly string[] = []): Fault | undefined {
  const chars = [...password].length;
  if (chars < PASSWORD_CHARS_MIN)
    return weakPassword(param, `it has fewer than ${PASSWORD_CHARS_MIN} characters. Choose a longer one`);
  if (chars > PASSWORD_CHARS_MAX)
    return weakPassword(param, `it has more than ${PASSWORD_CHARS_MAX} characters. Choose a shorter one`);
  const plain = password.toLowerCase();
  const isGuessable =
    COMMON_PASSWORDS.has(plain) ||
    isRepeated(plain) ||
    isSequence(plain) ||
    personal.some((word) => isPersonal(plain, word));
  return isGuessable ? weakPassword(param, "it is a common password. Choose another one") : undefined;
}

function weakPassword(param: string, why: string): Fault {
  return fault("invalid_value", { message: `This password cannot be used: ${why}.`, param });
}

/** One to four characters repeated: `aaaa…`, `abcabc…`. */
function isRepeated(text: string): boolean {
  return /^(.{1,4})\1+.{0,3}$/su.test(text) && new Set(text).size <= 4;
}

function isSequence(text: string): boolean {
  return ["01234567890123456789", "98765432109876543210", "abcdefghijklmnopqrstuvwxyz"].some(
    (row) => row.includes(text) || text.replace(row.slice(0, 10), "").length === 0,
  );
}

/** The address, a name or the local part, once or twice. */
function isPersonal(plain: string, word: string): boolean {
  const own = word.trim().toLowerCase();
  return own !== "" && (plain === own || plain === own.repeat(2) || plain === own.split("@")[0]?.repeat(2));
}

/** Throws `service_unavailable` when too many hashes are in progress. */
export function hashPassword({ hasher }: Pick<AccountsDeps, "hasher">, password: string): Promise<string> {
  return hasher.hash(password).catch((error: unknown) => {
    throw error instanceof HashingBusyError ? tooBusy() : error;
  });
}
