import {
  alnumValue,
  digit,
  icaoDigit,
  isDate,
  isYearMonthDay,
  luhn,
  mod11And10,
  number,
  weighted,
  weighted11Twice,
} from "../checksums.ts";
import { always, type Scheme } from "../scheme.ts";

/** Germany, Austria, Switzerland, Liechtenstein, Poland, Czechia, Slovakia, Hungary, Slovenia and Croatia. */
const person = { label: "NATIONAL_ID", class: "personal" } as const;
const tax = { label: "TAX_ID", class: "personal" } as const;
const social = { label: "SOCIAL_SECURITY", class: "personal" } as const;
const document = { label: "ID_DOCUMENT", class: "personal" } as const;
const vat = { label: "VAT_ID", class: "personal" } as const;
const company = { label: "COMPANY_ID", class: "business" } as const;

function isSvnr(value: string): boolean {
  const rest = weighted(value, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11;
  const [day, month] = [number(value, 4, 6), number(value, 6, 8)];
  return value[0] !== "0" && rest === digit(value, 3) && day >= 1 && day <= 31 && month >= 1 && month <= 15;
}

function isAustrianVat(value: string): boolean {
  let sum = 4;
  for (let at = 0; at < 7; at++) {
    const one = digit(value, 3 + at) * (at % 2 === 0 ? 1 : 2);
    sum += one > 9 ? one - 9 : one;
  }
  return (10 - (sum % 10)) % 10 === digit(value, 10);
}

/** Ten digits of which exactly one occurs two or three times, three not in a row; first not 0. */
function isIdnr(value: string): boolean {
  if (value[0] === "0" || !mod11And10(value)) return false;
  const counts = Array<number>(10).fill(0);
  for (let at = 0; at < 10; at++) counts[digit(value, at)] = (counts[digit(value, at)] ?? 0) + 1;
  const repeated = counts.filter((count) => count > 1);
  return repeated.length === 1 && (repeated[0] ?? 0) <= 3 && !/(.)\1\1/.test(value.slice(0, 10));
}

/** The letter counts as two digits; of each product the digits are added. */
function lettered(value: string, letterAt: number, weights: readonly number[]): boolean {
  const ordinal = String(value.charCodeAt(letterAt) - 64).padStart(2, "0");
  const digits = value.slice(0, letterAt) + ordinal + value.slice(letterAt + 1, -1);
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const product = digit(digits, at) * (weights[at] ?? 0);
    sum += Math.floor(product / 10) + (product % 10);
  }
  return sum % 10 === digit(value, value.length - 1);
}

function isRvnr(value: string): boolean {
  const [day, month] = [number(value, 2, 4), number(value, 4, 6)];
  return month <= 12 && day <= 31 && lettered(value, 8, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]);
}

/** The serial, with or without its check digit. */
function isGermanDocument(value: string): boolean {
  if (!/^[CFGHJKLMNPRTVWXY][0-9CFGHJKLMNPRTVWXYZ]{8}\d?$/.test(value) || !/\d/.test(value.slice(0, 9))) return false;
  return value.length === 9 || icaoDigit(value.slice(0, 9)) === digit(value, 9);
}

function ean13(value: string): boolean {
  return weighted(value, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0;
}

const isAhv = (value: string) => value.startsWith("756") && ean13(value);

function isSwissUid(value: string): boolean {
  return (11 - (weighted(value, [5, 4, 3, 2, 7, 6, 5, 4], 3) % 11)) % 11 === digit(value, 11);
}

const PESEL_CENTURIES = [1900, 2000, 2100, 2200, 1800];

function isPesel(value: string): boolean {
  const century = Math.floor(number(value, 2, 4) / 20);
  const year = (PESEL_CENTURIES[century] ?? 0) + number(value, 0, 2);
  if (!isDate(year, number(value, 2, 4) % 20, number(value, 4, 6))) return false;
  return weighted(value, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;
}

function isNip(value: string): boolean {
  const own = value.slice(-10);
  return weighted(own, [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === digit(own, 9);
}

function isRegon(value: string): boolean {
  const first = (weighted(value, [8, 9, 2, 3, 4, 5, 6, 7]) % 11) % 10 === digit(value, 8);
  if (value.length === 9) return first;
  return first && (weighted(value, [2, 4, 8, 5, 0, 9, 7, 3, 6, 1, 2, 4, 8]) % 11) % 10 === digit(value, 13);
}

function isDowod(value: string): boolean {
  const weights = [7, 3, 1, 0, 7, 3, 1, 7, 3];
  const sum = weights.reduce((total, weight, at) => total + weight * alnumValue(value.charCodeAt(at)), 0);
  return sum % 10 === digit(value, 3);
}

/** Women have 50 added to the month, exhausted days 20 more. Before 1954 there was no check digit. */
function isBirthNumber(value: string): boolean {
  const month = [0, 20, 50, 70].map((added) => number(value, 2, 4) - added).find((one) => one >= 1 && one <= 12);
  if (month === undefined || !isDate(number(value, 0, 2), month, number(value, 4, 6))) return false;
  if (value.length === 9) return number(value, 0, 2) < 54;
  return Number(value) % 11 === 0 || (number(value, 0, 9) % 11 === 10 && value[9] === "0");
}

function isIco(value: string): boolean {
  return (11 - (weighted(value, [8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === digit(value, 7);
}

function isCzechVat(value: string): boolean {
  const own = value.slice(2);
  if (own.length === 8) return isIco(own);
  return isBirthNumber(own);
}

const isSlovakTax = (value: string) => "234789".includes(value.slice(-8, -7)) && Number(value.slice(-10)) % 11 === 0;

/** Numbers of births to 1996 are weighted upwards, later ones downwards; births of both kinds are in use. */
function isSzemelyi(value: string): boolean {
  if (value[0] === "0" || value[0] === "9" || !isYearMonthDay(value, 1)) return false;
  const check = digit(value, 10);
  const upwards = weighted(value, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) % 11;
  return upwards === check || weighted(value, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === check;
}

const isTaj = (value: string) => weighted(value, [3, 7, 3, 7, 3, 7, 3, 7]) % 10 === digit(value, 8);
const isAdoTorzs = (value: string) => weighted(value, [9, 7, 3, 1, 9, 7, 3, 1]) % 10 === 0;

function isAdoszam(value: string): boolean {
  const county = number(value, 9, 11);
  const isCounty = (county >= 2 && county <= 44 && county !== 21) || county === 51;
  return isCounty && digit(value, 8) >= 1 && digit(value, 8) <= 5 && isAdoTorzs(value);
}

const isAdoazonosito = (value: string) =>
  value[0] === "8" && weighted(value, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 === digit(value, 9);

const JMBG_WEIGHTS = [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2];
/** The year has three digits: 800–999 are 1800–1999, 000 and up 2000 and up. */
const JMBG_YEAR_TURN = 800;
const JMBG_YEAR_LAST = 99;

function isJmbg(value: string, regionFrom: number, regionTo: number): boolean {
  const [year, region] = [number(value, 4, 7), number(value, 7, 9)];
  if (year > JMBG_YEAR_LAST && year < JMBG_YEAR_TURN) return false;
  if (!isDate(year + (year < JMBG_YEAR_TURN ? 2000 : 1000), number(value, 2, 4), number(value, 0, 2))) return false;
  return (
    region >= regionFrom &&
    region <= regionTo &&
    ((11 - (weighted(value, JMBG_WEIGHTS) % 11)) % 11) % 10 === digit(value, 12)
  );
}

function isDdv(value: string): boolean {
  const own = value.slice(-8);
  const rest = 11 - (weighted(own, [8, 7, 6, 5, 4, 3, 2]) % 11);
  return own[0] !== "0" && rest !== 11 && rest % 10 === digit(own, 7);
}

const BULGARIAN_WEIGHTS = [1, 2, 3, 4, 5, 6, 7, 8];

function isEgn(value: string): boolean {
  const month = number(value, 2, 4) % 20;
  if (number(value, 2, 4) > 52 || !isDate(number(value, 0, 2), month, number(value, 4, 6))) return false;
  return (weighted(value, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === digit(value, 9);
}

const isLnch = (value: string) => weighted(value, [21, 19, 17, 13, 11, 9, 7, 3, 1]) % 10 === digit(value, 9);

function isBulgarianVat(value: string): boolean {
  const own = value.slice(2);
  if (own.length === 10) return isEgn(own) || isLnch(own);
  return weighted11Twice(own, BULGARIAN_WEIGHTS, [3, 4, 5, 6, 7, 8, 9, 10]) === digit(own, 8);
}

const CNP_COUNTIES = new Set([51, 52, 70, 80, 81, 82, 83]);

function isCnp(value: string): boolean {
  const county = number(value, 7, 9);
  if (value[0] === "0" || !isYearMonthDay(value, 1) || county < 1) return false;
  if (county > 48 && !CNP_COUNTIES.has(county)) return false;
  const rest = weighted(value, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
  return (rest === 10 ? 1 : rest) === digit(value, 12);
}

function isRomanianVat(value: string, sure: boolean): boolean {
  const own = value.replace(/^RO/, "").padStart(10, "0");
  return sure && ((10 * weighted(own, [7, 5, 3, 2, 1, 7, 5, 3, 2])) % 11) % 10 === digit(own, 9);
}

export const CENTRAL_SCHEMES: readonly Scheme[] = [
  { id: "at.svnr", ...social, free: ["9999 999999", "9999 99 99 99"], bound: ["9999999999"], check: isSvnr },
  { id: "at.tin", ...tax, free: [], bound: ["999999999", "99-999/9999", "99 999/9999"], check: luhn },
  { id: "at.vat", ...vat, free: ["ATU99999999", "ATU 99999999", "ATU 9999 9999"], bound: [], check: isAustrianVat },
  { id: "bg.egn", ...person, free: [], bound: ["9999999999"], check: isEgn },
  { id: "bg.lnch", ...person, free: [], bound: ["9999999999"], check: isLnch },
  { id: "bg.vat", ...vat, free: ["BG999999999", "BG9999999999"], bound: [], check: isBulgarianVat },
  { id: "hr.oib", ...person, free: [], bound: ["99999999999"], check: mod11And10 },
  { id: "hr.jmbg", ...person, free: ["9999999999999"], bound: [], check: (value) => isJmbg(value, 30, 39) },
  { id: "hr.vat", ...vat, free: ["HR99999999999"], bound: [], check: (value) => mod11And10(value.slice(2)) },
  {
    id: "cz.rc",
    ...person,
    free: ["999999/9999"],
    bound: ["9999999999", "999999999", "999999/999"],
    check: isBirthNumber,
  },
  { id: "cz.ico", ...company, free: [], bound: ["99999999", "999 99 999"], check: isIco },
  { id: "cz.vat", ...vat, free: ["CZ99999999", "CZ999999999", "CZ9999999999"], bound: [], check: isCzechVat },
  { id: "cz.op", ...document, free: [], bound: ["999999999", "999999aa99"], isUnchecked: true, check: always },
  { id: "de.idnr", ...tax, free: ["99999999999", "99 999 999 999"], bound: [], check: isIdnr },
  {
    id: "de.stnr",
    ...tax,
    free: ["99/999/99999", "999/999/99999", "999/9999/9999"],
    bound: ["9999999999", "99999999999", "9999999999999", "99 999 99999"],
    isUnchecked: true,
    check: always,
  },
  { id: "de.rvnr", ...social, free: ["99999999a999", "99 999999 a 999", "99 999999 a 99 9"], bound: [], check: isRvnr },
  {
    id: "de.kvnr",
    label: "HEALTH_INSURANCE",
    class: "personal",
    free: [],
    bound: ["a999999999"],
    check: (value) => lettered(value, 0, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]),
  },
  { id: "de.ausweis", ...document, free: [], bound: ["ccccccccc", "ccccccccc9"], check: isGermanDocument },
  {
    id: "de.vat",
    ...vat,
    free: ["DE999999999", "DE 999999999", "DE 999 999 999"],
    bound: [],
    check: (value) => value[2] !== "0" && mod11And10(value.slice(2)),
  },
  { id: "hu.szemelyi", ...person, free: ["9-999999-9999"], bound: ["99999999999"], check: isSzemelyi },
  { id: "hu.taj", ...social, free: [], bound: ["999999999", "999 999 999", "999-999-999"], check: isTaj },
  { id: "hu.adoazonosito", ...tax, free: [], bound: ["9999999999"], check: isAdoazonosito },
  { id: "hu.adoszam", ...tax, free: ["99999999-9-99"], bound: ["99999999999"], check: isAdoszam },
  { id: "hu.vat", ...vat, free: ["HU99999999"], bound: [], check: (value) => isAdoTorzs(value.slice(2)) },
  { id: "pl.pesel", ...person, free: [], bound: ["99999999999"], check: isPesel },
  {
    id: "pl.nip",
    ...tax,
    free: ["999-999-99-99", "999-99-99-999"],
    bound: ["9999999999", "999 999 99 99"],
    check: (value) => isNip(value) && !value.slice(0, 3).includes("0"),
  },
  { id: "pl.vat", ...vat, free: ["PL9999999999", "PL 9999999999"], bound: [], check: isNip },
  { id: "pl.regon", ...company, free: [], bound: ["999999999", "99999999999999"], check: isRegon },
  { id: "pl.dowod", ...document, free: [], bound: ["aaa999999", "aaa 999999"], check: isDowod },
  {
    id: "ro.cnp",
    ...person,
    free: ["9999999999999"],
    bound: [],
    check: isCnp,
  },
  {
    id: "ro.vat",
    ...vat,
    free: ["RO999999", "RO9999999", "RO99999999", "RO999999999", "RO9999999999"],
    bound: ["RO99", "RO999", "RO9999", "RO99999", "999999", "9999999", "99999999", "999999999"],
    check: isRomanianVat,
  },
  {
    id: "sk.rc",
    ...person,
    free: ["999999/9999"],
    bound: ["9999999999", "999999999", "999999/999"],
    check: isBirthNumber,
  },
  { id: "sk.dic", ...tax, free: [], bound: ["9999999999"], check: isSlovakTax },
  { id: "sk.vat", ...vat, free: ["SK9999999999", "SK 9999999999"], bound: [], check: isSlovakTax },
  { id: "sk.ico", ...company, free: [], bound: ["99999999", "99 999 999"], check: isIco },
  { id: "sk.op", ...document, free: [], bound: ["aa999999", "aa 999999"], isUnchecked: true, check: always },
  { id: "si.emso", ...person, free: ["9999999999999"], bound: [], check: (value) => isJmbg(value, 50, 50) },
  { id: "si.ddv", ...tax, free: [], bound: ["99999999"], check: isDdv },
  { id: "si.vat", ...vat, free: ["SI99999999", "SI 99999999"], bound: [], check: isDdv },
  {
    id: "li.peid",
    ...tax,
    free: [],
    bound: ["9999", "99999", "999999", "9999999", "99999999", "999999999", "999999999999"],
    isUnchecked: true,
    check: always,
  },
  { id: "li.vat", ...vat, free: [], bound: ["99999"], isUnchecked: true, check: always },
  { id: "ch.ahv", ...person, free: ["9999999999999", "999.9999.9999.99", "999 9999 9999 99"], bound: [], check: isAhv },
  { id: "li.ahv", ...person, free: [], bound: ["9999999999999", "999.9999.9999.99"], check: isAhv },
  {
    id: "ch.uid",
    ...company,
    free: ["CHE999999999", "CHE-999.999.999", "CHE 999 999 999"],
    bound: [],
    check: isSwissUid,
  },
  {
    id: "ch.vat",
    ...vat,
    free: ["MWST", "TVA", "IVA", "TPV"].flatMap((suffix) => [
      `CHE999999999${suffix}`,
      `CHE-999.999.999 ${suffix}`,
      `CHE-999.999.999${suffix}`,
    ]),
    bound: [],
    check: isSwissUid,
  },
];
