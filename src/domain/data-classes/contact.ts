import { ALNUM, DIGIT, FOREIGN, isAlnumAt, isDigitAt, kindAt, LETTER, wordEnd } from "./characters.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { EMAIL, IPV4, IPV6, MAC } from "./kinds.ts";

const LOCAL_CHARS_MAX = 64;
const DOMAIN_CHARS_MAX = 253;
const TOP_LEVEL_CHARS_MAX = 24;
/** How far back a URL may begin that has its password before the `@`. */
const URL_CHARS_MAX = 100;

const FILE_SUFFIXES = new Set(
  "png jpg jpeg gif svg webp avif ico bmp js mjs cjs jsx ts mts tsx css scss html json map md txt yml yaml toml lock tgz gz zip tar wasm".split(
    " ",
  ),
);
/** `git@host:path` addresses a repository. */
const NOT_MAILBOXES = new Set(["git", "hg", "svn"]);

function isLocalAt(text: string, at: number): boolean {
  if (at < 0) return false;
  if ((kindAt(text, at) & (ALNUM | FOREIGN)) !== 0) return true;
  const code = text.charCodeAt(at);
  // . _ % + - ' &
  return code === 46 || code === 95 || code === 37 || code === 43 || code === 45 || code === 39 || code === 38;
}

/** An address around the `@` at a place. */
export function matchEmail(scan: ScannedText, at: number): void {
  const { text } = scan;
  let start = at;
  while (at - start < LOCAL_CHARS_MAX && isLocalAt(text, start - 1)) start--;
  while (start < at && (kindAt(text, start) & (ALNUM | FOREIGN)) === 0 && text.charCodeAt(start) !== 95) start++;
  if (start === at || text.charCodeAt(at - 1) === 46) return;
  const end = domainEnd(text, at + 1);
  if (end < 0 || NOT_MAILBOXES.has(text.slice(start, at)) || isInUrl(text, start)) return;
  scan.add(EMAIL, start, end, RANK.checked);
}

/** The end of a domain with at least two labels and a top level of letters, or -1. */
function domainEnd(text: string, from: number): number {
  const max = Math.min(text.length, from + DOMAIN_CHARS_MAX);
  let label = from;
  let end = -1;
  for (let labels = 1; ; labels++) {
    let at = label;
    let letters = 0;
    while (at < max && ((kindAt(text, at) & (ALNUM | FOREIGN)) !== 0 || text.charCodeAt(at) === 45)) {
      if ((kindAt(text, at) & LETTER) !== 0) letters++;
      at++;
    }
    while (at > label && text.charCodeAt(at - 1) === 45) at--;
    const length = at - label;
    if (length === 0 || text.charCodeAt(label) === 45) return end;
    if (labels > 1 && isTopLevel(text, label, at, letters)) end = at;
    if (text.charCodeAt(at) !== 46) return labels > 1 && end !== at ? -1 : end;
    label = at + 1;
  }
}

function isTopLevel(text: string, start: number, end: number, letters: number): boolean {
  const length = end - start;
  const isWord = letters === length || text.slice(start, start + 4).toLowerCase() === "xn--";
  return (
    isWord && length >= 2 && length <= TOP_LEVEL_CHARS_MAX && !FILE_SUFFIXES.has(text.slice(start, end).toLowerCase())
  );
}

function isInUrl(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1);
  if (before !== 58 && before !== 47) return false;
  const piece = text.slice(Math.max(0, start - URL_CHARS_MAX), start);
  return piece.lastIndexOf("://") > Math.max(piece.lastIndexOf(" "), piece.lastIndexOf("\n"));
}

/** Places that stand before an address which is part of something longer: a version, a path, a product token. */
function startsInside(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1);
  // . - _ and, after a letter or digit, a slash: Chrome/120.0.0.0
  if (before === 46 || before === 45 || before === 95) return true;
  return before === 47 && isAlnumAt(text, start - 2);
}

/** Four numbers up to 255. Private, reserved and documentation networks belong to no person. */
function matchIpv4(scan: ScannedText, start: number): void {
  const { text } = scan;
  if (startsInside(text, start)) return;
  const octets: number[] = [];
  let at = start;
  for (let octet = 0; octet < 4; octet++) {
    let value = 0;
    const from = at;
    while (at - from < 3 && isDigitAt(text, at)) value = value * 10 + text.charCodeAt(at++) - 48;
    if (at === from || value > 255 || (at - from > 1 && text.charCodeAt(from) === 48)) return;
    octets.push(value);
    if (octet < 3 && text.charCodeAt(at++) !== 46) return;
  }
  if (isAlnumAt(text, at) || endsInside(text, at) || !isPublic(octets)) return;
  scan.add(IPV4, start, at, RANK.bare);
}

/** Networks (`/24`), longer versions and names that begin with an address. */
function endsInside(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === 95) return true;
  return (
    (code === 46 || code === 45 || code === 47) && isAlnumAt(text, at + 1) && !(code === 47 && !isDigitAt(text, at + 1))
  );
}

function isPublic([a = 0, b = 0, c = 0, d = 0]: readonly number[]): boolean {
  if (a < 8 || a === 10 || a === 127 || a >= 224 || (c === 0 && d === 0) || d === 255) return false;
  if ((a === 169 && b === 254) || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168)) return false;
  if ((a === 100 && b >= 64 && b < 128) || (a === 198 && (b === 18 || b === 19))) return false;
  const network = `${a}.${b}.${c}`;
  return network !== "192.0.2" && network !== "198.51.100" && network !== "203.0.113";
}

function hexEnd(text: string, from: number, max: number): number {
  let at = from;
  while (at - from < max && isHex(text.charCodeAt(at))) at++;
  return at;
}

function isHex(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70);
}

const IPV6_GROUPS = 8;

/** Global unicast alone: its first group begins with 2 or 3, and it is no documentation network. `2001::` is a network too. */
function matchIpv6(scan: ScannedText, start: number): void {
  const { text } = scan;
  if (startsInside(text, start) || text.charCodeAt(start - 1) === 58) return;
  let groups = 0;
  let gaps = 0;
  let at = start;
  while (groups < IPV6_GROUPS) {
    const end = hexEnd(text, at, 4);
    if (end === at) break;
    groups++;
    at = end;
    if (text.charCodeAt(at) !== 58) break;
    if (text.charCodeAt(at + 1) === 58) {
      gaps++;
      at += 2;
    } else if (isHex(text.charCodeAt(at + 1))) at++;
    else break;
  }
  if (
    gaps > 1 ||
    groups < 3 ||
    (gaps === 0 && groups !== IPV6_GROUPS) ||
    (gaps === 1 && groups > 7) ||
    isAlnumAt(text, at)
  )
    return;
  const head = text.slice(start, start + 9).toLowerCase();
  if (head.startsWith("2001:db8:") || head.startsWith("3fff:")) return;
  scan.add(IPV6, start, at, RANK.checked);
}

/** Six pairs with one separator throughout. */
function matchMac(scan: ScannedText, start: number): void {
  const { text } = scan;
  const separator = text.charCodeAt(start + 2);
  const before = text.charCodeAt(start - 1);
  if (before === 58 || before === 45 || before === 95) return;
  for (let pair = 0; pair < 6; pair++) {
    const at = start + pair * 3;
    if (hexEnd(text, at, 2) !== at + 2) return;
    if (pair < 5 && text.charCodeAt(at + 2) !== separator) return;
  }
  const end = start + 17;
  if (isAlnumAt(text, end) || (text.charCodeAt(end) === separator && isAlnumAt(text, end + 1))) return;
  if (!/[1-9a-e]/i.test(text.slice(start, end)) || /^(?:00.00.5e.00.53|01.00.5e.90.10)/i.test(text.slice(start, end)))
    return;
  scan.add(MAC, start, end, RANK.checked);
}

/** Whether a word of one to four hexadecimal digits may begin one of these; called for few words. */
export function matchHexGroups(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  const next = text.charCodeAt(end);
  if (end - start === 2 && (next === 58 || next === 45)) matchMac(scan, start);
  if (end - start === 4 && next === 58 && (text.charCodeAt(start) === 50 || text.charCodeAt(start) === 51)) {
    matchIpv6(scan, start);
  }
  if (end - start <= 3 && next === 46 && kindAt(text, start) === DIGIT && wordEnd(text, start, end) === end)
    matchIpv4(scan, start);
}
