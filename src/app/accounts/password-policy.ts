import { type Fault, fault } from "../../contract/faults.ts";

export const PASSWORD_CHARS_MIN = 12;
export const PASSWORD_CHARS_MAX = 256;

/** What people use most among those that are long enough; what is only repeated or counted up is found by its form. */
const COMMON: ReadonlySet<string> = new Set([
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

/** The fault of a password that nobody should have; `param` is the field it came in. */
export function passwordFault(password: string, param: string, about: readonly string[] = []): Fault | undefined {
  const chars = [...password].length;
  if (chars < PASSWORD_CHARS_MIN)
    return refused(param, `it has fewer than ${PASSWORD_CHARS_MIN} characters. Take a longer one`);
  if (chars > PASSWORD_CHARS_MAX)
    return refused(param, `it has more than ${PASSWORD_CHARS_MAX} characters. Take a shorter one`);
  const plain = password.toLowerCase();
  const known =
    COMMON.has(plain) || isRepeated(plain) || isCounted(plain) || about.some((word) => isAbout(plain, word));
  return known ? refused(param, "it is one of the first that somebody would try. Take another") : undefined;
}

function refused(param: string, why: string): Fault {
  return fault("invalid_value", { message: `This password cannot be used: ${why}.`, param });
}

/** One to four characters again and again: `aaaa…`, `abcabc…`. */
function isRepeated(text: string): boolean {
  return /^(.{1,4})\1+.{0,3}$/su.test(text) && new Set(text).size <= 4;
}

function isCounted(text: string): boolean {
  return ["01234567890123456789", "98765432109876543210", "abcdefghijklmnopqrstuvwxyz"].some(
    (row) => row.includes(text) || text.replace(row.slice(0, 10), "").length === 0,
  );
}

/** The address itself, or its name twice. */
function isAbout(plain: string, word: string): boolean {
  const own = word.trim().toLowerCase();
  return own !== "" && (plain === own || plain === own.repeat(2) || plain === own.split("@")[0]?.repeat(2));
}
