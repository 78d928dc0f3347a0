import { isAlnumAt, kindAt, wordEnd } from "./characters.ts";
import { NOT_NEAR } from "./context.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { compactOf, hasSmallLetters } from "./forms.ts";
import { CREDITOR, EORI, IBAN } from "./kinds.ts";
import { ibanLength, isCountry, isCreditorId, isIban } from "./schemes/international.ts";

/** Numbers that begin with a country and have groups of any size: IBAN, SEPA creditor identifiers, EORI. */
export function matchAccount(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  const country = text.slice(start, start + 2).toUpperCase();
  const length = ibanLength(country);
  if (length !== undefined && matchIban(scan, start, length)) return;
  const compact = compactOf(text, start, end);
  if (!isCountry(country) || compact.length > 35 || hasSmallLetters(text, start, end)) return;
  const isCreditor = compact.length >= 11 && isCreditorId(compact);
  if (isCreditor && (compact.startsWith("ZZZ", 4) || scan.context.distance(CREDITOR.id, start, end) !== NOT_NEAR)) {
    scan.add(CREDITOR, start, end, RANK.checked - 1);
  } else if (compact.length <= 17) {
    const distance = scan.context.distance(EORI.id, start, end);
    if (distance !== NOT_NEAR) scan.add(EORI, start, end, RANK.inContext - distance);
  }
}

/** Groups are separated by one space or hyphen; the country says how many characters there are. */
function matchIban(scan: ScannedText, start: number, length: number): boolean {
  const { text } = scan;
  let compact = "";
  let at = start;
  while (compact.length < length) {
    const end = wordEnd(text, at, at + length - compact.length);
    if (end === at) return false;
    compact += compactOf(text, at, end);
    at = end;
    if (compact.length < length) {
      if (!isGap(text.charCodeAt(at)) || !isAlnumAt(text, at + 1)) return false;
      at++;
    }
  }
  if (isAlnumAt(text, at) || text.charCodeAt(at) === 95 || !/^[A-Z]{2}\d\d/.test(compact) || !isIban(compact))
    return false;
  scan.add(IBAN, start, at, RANK.checked);
  return true;
}

function isGap(code: number): boolean {
  return code === 32 || code === 45 || code === 0xa0 || code === 0x202f;
}

/** Two letters and two digits begin all of them. */
export function mayBeAccount(text: string, start: number, end: number): boolean {
  if (end - start < 4) return false;
  return kindAt(text, start) !== 1 && kindAt(text, start + 1) !== 1 && kindAt(text, start + 2) === 1;
}
