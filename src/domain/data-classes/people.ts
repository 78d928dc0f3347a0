import { DIGIT, FOREIGN, folded, isDigitAt, isLetterAt, kindAt, LETTER, LOWER, UPPER, wordEnd } from "./characters.ts";
import { isDate } from "./checksums.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { ADDRESS, BIRTH, PERSON } from "./kinds.ts";

/** Names, addresses and dates of birth: words decide, so that these are less certain than numbers with check digits. */

const TITLES =
  "mr mrs ms mister herr herrn frau fraulein monsieur madame mme mlle mademoiselle signor signora signorina senor senora senhor senhora " +
  "sra dhr mevr meneer mevrouw pani froken fru dr prof dott";
const LABELS =
  "surname nachname vorname familienname lastname firstname fullname prenom apellido apellidos cognome achternaam voornaam nazwisko imie " +
  "efternamn fornamn etternavn fornavn efternavn sukunimi etunimi apelido prijmeni priezvisko vezeteknev keresztnev";
/** Words that end an introduction: "ich heiße", "je m'appelle", "my name is". */
const INTRODUCTIONS = "heisse heiße appelle llamo chiamo heet nazywam heter hedder";
const STREETS = "rue avenue boulevard via viale piazza calle avenida plaza rua ulica ul str";

type Trigger = "title" | "label" | "introduction" | "street";

const TRIGGERS = new Map<string, Trigger>([
  ...TITLES.split(" ").map((word) => [word, "title"] as const),
  ...LABELS.split(" ").map((word) => [word, "label"] as const),
  ...INTRODUCTIONS.split(" ").map((word) => [word, "introduction"] as const),
  ...STREETS.split(" ").map((word) => [word, "street"] as const),
]);

const HASH_BITS = 12;
const hashed = new Uint8Array(2 ** HASH_BITS);

/** Length, first and last letter: these alone rule out most words. */
function hash(first: number, last: number, length: number): number {
  return ((first & 31) | ((last & 31) << 5) | ((length & 3) << 10)) & (hashed.length - 1);
}

for (const word of TRIGGERS.keys()) hashed[hash(word.charCodeAt(0), word.charCodeAt(word.length - 1), word.length)] = 1;

const TRIGGER_CHARS_MAX = 12;

/** A word of letters alone; most return after one look-up. */
export function matchWord(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  const length = end - start;
  if (length > TRIGGER_CHARS_MAX) {
    matchStreetSuffix(scan, start, end);
    return;
  }
  if (length < 2) return;
  if (hashed[hash(text.charCodeAt(start), text.charCodeAt(end - 1), length)] === 1) {
    const trigger = TRIGGERS.get(folded(text.slice(start, end)));
    if (trigger === "title") matchTitled(scan, start, end);
    else if (trigger === "label") matchLabelled(scan, end);
    else if (trigger === "introduction") matchName(scan, skipSpace(text, end), 1);
    else if (trigger === "street") matchStreetWord(scan, start, end);
  }
  matchStreetSuffix(scan, start, end);
}

function isCapital(text: string, at: number): boolean {
  const kind = kindAt(text, at);
  if (kind === UPPER) return true;
  const char = text.charAt(at);
  return kind === FOREIGN && char !== char.toLowerCase();
}

function isSmall(text: string, at: number): boolean {
  const kind = kindAt(text, at);
  return kind === LOWER || (kind === FOREIGN && !isCapital(text, at));
}

const NAME_CHARS_MAX = 24;

/** The end of a capitalised word, hyphens and apostrophes inside allowed; -1 when there is none. */
function capitalisedEnd(text: string, from: number): number {
  if (!isCapital(text, from)) return -1;
  let small = 0;
  let at = from + 1;
  for (; at - from < NAME_CHARS_MAX; at++) {
    if (isSmall(text, at)) small++;
    else if (isCapital(text, at)) continue;
    else if ((text.charCodeAt(at) === 45 || text.charCodeAt(at) === 39) && isCapital(text, at + 1)) continue;
    else break;
  }
  return small > 0 && (kindAt(text, at) & (LETTER | DIGIT)) === 0 && text.charCodeAt(at) !== 95 ? at : -1;
}

const PARTICLES = /^(?:von|van|de|der|den|di|da|la|le|du|del|dos|af|zu|el) /;
const WORDS_MAX = 3;

/** One to three capitalised words, with particles between them. */
function matchName(scan: ScannedText, from: number, wordsMin: number): void {
  const { text } = scan;
  let end = -1;
  let at = from;
  for (let words = 1; words <= WORDS_MAX; words++) {
    for (let turn = 0; turn < 2; turn++) at += PARTICLES.exec(text.slice(at, at + 4))?.[0].length ?? 0;
    const one = capitalisedEnd(text, at);
    if (one < 0) break;
    if (words >= wordsMin) end = one;
    if (text.charCodeAt(one) !== 32) break;
    at = one + 1;
  }
  if (end > 0) scan.add(PERSON, from, end, RANK.worded);
}

function skipSpace(text: string, at: number): number {
  return text.charCodeAt(at) === 32 ? at + 1 : at;
}

/** "Herr Dr. Müller": written with a capital and small letters, so that MS and DR are none. */
function matchTitled(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  if (!isCapital(text, start) || !isSmall(text, start + 1)) return;
  const at = text.charCodeAt(end) === 46 ? end + 1 : end;
  if (text.charCodeAt(at) !== 32) return;
  // Another title follows, which comes to its name itself.
  const next = text.slice(at + 1, wordEnd(text, at + 1, at + 1 + TRIGGER_CHARS_MAX));
  if (TRIGGERS.get(folded(next)) !== "title") matchName(scan, at + 1, 1);
}

/** `Nachname: Muster`, `"surname": "Muster"`. */
function matchLabelled(scan: ScannedText, end: number): void {
  const { text } = scan;
  let at = text.charCodeAt(end) === 34 ? end + 1 : end;
  if (text.charCodeAt(at) !== 58 && text.charCodeAt(at) !== 61) return;
  at = skipSpace(text, at + 1);
  if (text.charCodeAt(at) === 34) at++;
  matchName(scan, at, 1);
}

const SURE_SUFFIXES = ["strasse", "straße", "straat", "gasse", "gatan", "vägen", "katu"];
const OTHER_SUFFIXES = ["weg", "platz", "allee", "vej", "veien", "gade", "gata", "laan", "plein"];
const ADDRESS_CHARS_MAX = 100;
const HOUSE = /^ \d{1,4} ?[a-zA-Z]?(?![\w])(?: ?[-–/] ?\d{1,4}[a-z]?)?/;
const TOWN = /^,? {0,2}\n?(?:[A-Z]{1,2}-)?\d{4,5}(?: ?[A-Z]{2})? (?:\p{Lu}[\p{L}-]{1,30})(?: \p{Lu}[\p{L}-]{1,30})?/u;
const TOWN_PL = /^,? {0,2}\n?\d{2}-\d{3} \p{Lu}[\p{L}-]{1,30}/u;

function townEnd(text: string, at: number): number {
  const rest = text.slice(at, at + ADDRESS_CHARS_MAX);
  const town = TOWN.exec(rest) ?? TOWN_PL.exec(rest);
  return town === null ? -1 : at + town[0].length;
}

/** `Musterstraße 12, 10115 Berlin`: a street by its ending, before a house number. */
function matchStreetSuffix(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  if (text.charCodeAt(end) !== 32 || !isDigitAt(text, end + 1) || !isCapital(text, start)) return;
  const word = text.slice(Math.max(start, end - 9), end).toLowerCase();
  const isSure = SURE_SUFFIXES.some((suffix) => word.endsWith(suffix));
  if (!isSure && !OTHER_SUFFIXES.some((suffix) => word.endsWith(suffix))) return;
  const house = HOUSE.exec(text.slice(end, end + 20));
  if (house === null) return;
  const after = end + house[0].length;
  const town = townEnd(text, after);
  if (town > 0) scan.add(ADDRESS, start, town, RANK.worded);
  else if (isSure) scan.add(ADDRESS, start, after, RANK.worded);
}

const STREET_NAME = /^\.? (?:[\p{L}'’.-]{1,24} ){0,4}[\p{L}'’.-]{1,24}/u;

/** `12 rue de la Paix, 75002 Paris` and `Via Roma 1, 00184 Roma`: only with a postcode and a town. */
function matchStreetWord(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  const name = STREET_NAME.exec(text.slice(end, end + ADDRESS_CHARS_MAX));
  if (name === null) return;
  let at = end + name[0].length;
  let from = start;
  if (text.charCodeAt(at) === 44 && isDigitAt(text, at + 2)) {
    const number = /\d{1,4}(?: bis| ter)?,? $/.exec(text.slice(Math.max(0, start - 10), start));
    const town = townEnd(text, at);
    if (number !== null && town > 0) {
      scan.add(ADDRESS, start - number[0].length, town, RANK.worded);
      return;
    }
    at += 1;
  }
  from = text.slice(start, end).toLowerCase() === "str" ? wordBefore(text, start) : start;
  const house = HOUSE.exec(text.slice(at, at + 20));
  const town = house === null ? -1 : townEnd(text, at + house[0].length);
  if (town > 0) scan.add(ADDRESS, from, town, RANK.worded);
}

function wordBefore(text: string, start: number): number {
  let at = start - 1;
  while (start - at < NAME_CHARS_MAX && (kindAt(text, at - 1) & LETTER) !== 0) at--;
  return isCapital(text, at) ? at : start;
}

const DATE =
  /^(?:(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})|(\d{4})([./-])(\d{1,2})\6(\d{1,2})|(\d{1,2})\.? (?:de |of )?(\p{L}{3,12})\.?,? (?:de )?(\d{4}))(?![\p{L}\d])/u;
const DATE_CHARS_MAX = 34;
const OLDEST_YEAR = 1880;
const LATEST_YEAR = 2100;

/** A date near a word such as "geboren". Called for groups of one, two or four digits. */
export function matchBirthDate(scan: ScannedText, start: number): void {
  const { text } = scan;
  if (scan.context.distance("birth", start, start + 1) > 60) return;
  const found = DATE.exec(text.slice(start, start + DATE_CHARS_MAX));
  if (found !== null && isBirthDate(found)) scan.add(BIRTH, start, start + found[0].length, RANK.inContext);
  else matchAmericanDate(scan, start);
}

function isBirthDate([
  ,
  day,
  ,
  month,
  year,
  isoYear,
  ,
  isoMonth,
  isoDay,
  wordDay,
  ,
  wordYear,
]: RegExpExecArray): boolean {
  if (isoYear !== undefined)
    return isPast(Number(isoYear)) && isDate(Number(isoYear), Number(isoMonth), Number(isoDay));
  if (wordYear !== undefined) return isPast(Number(wordYear)) && Number(wordDay) >= 1 && Number(wordDay) <= 31;
  const full = Number(year);
  if (year?.length === 4 && !isPast(full)) return false;
  // Day first, or month first as in English texts.
  return isDate(full, Number(month), Number(day)) || isDate(full, Number(day), Number(month));
}

function isPast(year: number): boolean {
  return year >= OLDEST_YEAR && year < LATEST_YEAR;
}

/** `March 12, 1985`, at the day. */
function matchAmericanDate(scan: ScannedText, start: number): void {
  const { text } = scan;
  const rest = /^\d{1,2}, (\d{4})(?!\d)/.exec(text.slice(start, start + 9));
  if (rest === null || !isPast(Number(rest[1])) || text.charCodeAt(start - 1) !== 32) return;
  const month = wordBefore(text, start - 1);
  if (month < start - 1) scan.add(BIRTH, month, start + rest[0].length, RANK.inContext);
}

/** Cheap first look: a date begins with one, two or four digits; a version has a single one at its end. */
export function mayBeDate(text: string, start: number, end: number): boolean {
  const length = end - start;
  if (length === 3 || length > 4) return false;
  const next = text.charCodeAt(end);
  if (next === 45 || next === 46 || next === 47) {
    if (text.charCodeAt(end + 1) === 32) return length < 3 && isLetterAt(text, end + 2);
    const second = wordEnd(text, end + 1, end + 4);
    if (second - end > 3 || second === end + 1 || text.charCodeAt(second) !== next) return false;
    const third = wordEnd(text, second + 1, second + 6) - second - 1;
    return length === 4 ? third === 1 || third === 2 : third === 2 || third === 4;
  }
  return length < 3 && ((next === 32 && isLetterAt(text, end + 1)) || (next === 44 && isDigitAt(text, end + 2)));
}
