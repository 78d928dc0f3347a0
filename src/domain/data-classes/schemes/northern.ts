import {
  digit,
  isDate,
  isDayMonthYear,
  isYearMonthDay,
  luhn,
  number,
  weighted,
  weighted11Twice,
} from "../checksums.ts";
import { always, type Scheme } from "../scheme.ts";

/** Denmark, Sweden, Norway, Finland, Iceland, Estonia, Latvia and Lithuania. */
const person = { label: "NATIONAL_ID", class: "personal" } as const;
const tax = { label: "TAX_ID", class: "personal" } as const;
const vat = { label: "VAT_ID", class: "personal" } as const;
const company = { label: "COMPANY_ID", class: "business" } as const;

function isDanishVat(value: string): boolean {
  const own = value.slice(-8);
  return own[0] !== "0" && weighted(own, [2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0;
}

/** Sex and century, date, serial. Estonia and Lithuania share the rule. */
function isBaltic(value: string): boolean {
  if (value[0] === "0" || value[0] === "9" || !isYearMonthDay(value, 1)) return false;
  return weighted11Twice(value, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1], [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) === digit(value, 10);
}

function isRegistrikood(value: string): boolean {
  return (
    /^[1789]/.test(value) && weighted11Twice(value, [1, 2, 3, 4, 5, 6, 7], [3, 4, 5, 6, 7, 8, 9]) === digit(value, 7)
  );
}

const HETU_CHECKS = "0123456789ABCDEFHJKLMNPRSTUVWXY";

/** With a letter as century sign there are eleven characters, with + or - ten. */
function isHetu(value: string): boolean {
  if (value.length === 11 && !/^\d{6}[YXWVUABCDEF]/.test(value)) return false;
  const serial = value.slice(-4, -1);
  if (!/^\d{3}$/.test(serial) || Number(serial) < 2 || !isDayMonthYear(value)) return false;
  return HETU_CHECKS[Number(value.slice(0, 6) + serial) % 31] === value.slice(-1);
}

const isYtunnus = (value: string) => weighted(value.slice(-8), [7, 9, 10, 5, 8, 4, 2, 1]) % 11 === 0;

function isPersonasKods(value: string): boolean {
  if (!value.startsWith("32") && !(isDayMonthYear(value) && "012".includes(value.charAt(6)))) return false;
  return ((1 + weighted(value, [10, 5, 8, 4, 2, 1, 6, 3, 7, 9])) % 11) % 10 === digit(value, 10);
}

function isLatvianVat(value: string): boolean {
  const own = value.slice(2);
  if (digit(own, 0) < 4) return isPersonasKods(own);
  return weighted(own, [9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1]) % 11 === 3;
}

function isLithuanianVat(value: string): boolean {
  const own = value.slice(2);
  const weights = (from: number) => Array.from({ length: own.length - 1 }, (_, at) => ((at + from - 1) % 9) + 1);
  return own.at(-2) === "1" && weighted11Twice(own, weights(1), weights(3)) === digit(own, own.length - 1);
}

/** The last ten digits; people have a date, coordination numbers 60 more in the day. */
function isSwedish(value: string, dayAdded: number): boolean {
  const own = value.slice(-10);
  return isDate(number(own, 0, 2), number(own, 2, 4), number(own, 4, 6) - dayAdded) && isCentury(value) && luhn(own);
}

const isCentury = (value: string) => value.length === 10 || /^(18|19|20)/.test(value);

/** Norwegian dates have 40 added to the day in D-numbers and 80 or 40 to the month in test numbers. */
function isNorwegian(value: string, dayAdded: number, monthsAdded: readonly number[]): boolean {
  const [day, month] = [number(value, 0, 2) - dayAdded, number(value, 2, 4)];
  if (!monthsAdded.some((added) => isDate(number(value, 4, 6), month - added, day))) return false;
  const first = (11 - (weighted(value, [3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11)) % 11;
  const second = (11 - (weighted(value, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
  return first === digit(value, 9) && second === digit(value, 10);
}

function isNorwegianCompany(value: string): boolean {
  const own = value.replace(/\D/g, "");
  return (own[0] === "8" || own[0] === "9") && weighted(own, [3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0;
}

/** Companies have 40 added to the day. Numbers issued since 2026 have no check digit. */
function isKennitala(value: string): boolean {
  const day = number(value, 0, 2);
  const isDay = isDate(number(value, 4, 6), number(value, 2, 4), day > 40 ? day - 40 : day);
  return isDay && number(value, 6, 8) >= 20 && "890".includes(value.charAt(9));
}

const FNR_FORMS = ["99999999999", "999999 99999"];

export const NORTHERN_SCHEMES: readonly Scheme[] = [
  // The check digit is no rule any more: numbers since 2007 do without it.
  {
    id: "dk.cpr",
    ...person,
    isUnchecked: true,
    free: ["999999-9999"],
    bound: ["9999999999", "999999 9999"],
    check: (value) => isDayMonthYear(value),
  },
  {
    id: "dk.vat",
    ...vat,
    free: ["DK99999999", "DK 99999999", "DK-99999999", "DK 99 99 99 99"],
    bound: ["99999999", "99 99 99 99"],
    check: isDanishVat,
  },
  { id: "ee.ik", ...person, free: [], bound: ["99999999999"], check: isBaltic },
  {
    id: "ee.vat",
    ...vat,
    free: ["EE999999999"],
    bound: [],
    check: (value) => value.startsWith("EE10") && weighted(value, [3, 7, 1, 3, 7, 1, 3, 7, 1], 2) % 10 === 0,
  },
  { id: "ee.reg", ...company, free: [], bound: ["99999999"], check: isRegistrikood },
  { id: "fi.hetu", ...person, free: ["999999-999c", "999999+999c", "999999a999c"], bound: [], check: isHetu },
  { id: "fi.ytunnus", ...company, free: ["9999999-9"], bound: ["99999999"], check: isYtunnus },
  { id: "fi.vat", ...vat, free: ["FI99999999", "FI 99999999"], bound: [], check: isYtunnus },
  { id: "fi.veronumero", ...tax, free: [], bound: ["999999999999"], isUnchecked: true, check: always },
  {
    id: "lv.pk",
    ...person,
    free: ["999999-99999"],
    bound: ["99999999999"],
    check: isPersonasKods,
  },
  { id: "lv.vat", ...vat, free: ["LV99999999999"], bound: [], check: isLatvianVat },
  { id: "lt.ak", ...person, free: [], bound: ["99999999999"], check: isBaltic },
  { id: "lt.vat", ...vat, free: ["LT999999999", "LT999999999999"], bound: [], check: isLithuanianVat },
  {
    id: "se.pnr",
    ...person,
    free: ["999999-9999", "999999+9999", "99999999-9999", "99999999+9999"],
    bound: ["9999999999", "999999999999"],
    check: (value) => isSwedish(value, 0),
  },
  {
    id: "se.samordning",
    ...person,
    free: ["999999-9999", "99999999-9999"],
    bound: ["9999999999", "999999999999"],
    check: (value) => isSwedish(value, 60),
  },
  {
    id: "se.orgnr",
    ...company,
    free: ["999999-9999"],
    bound: ["9999999999"],
    check: (value) => digit(value, 2) >= 2 && luhn(value),
  },
  {
    id: "se.vat",
    ...vat,
    free: ["SE999999999999", "SE 999999999999"],
    bound: [],
    check: (value) => value.endsWith("01") && luhn(value.slice(2, 12)),
  },
  { id: "is.kt", ...person, isUnchecked: true, free: ["999999-9999"], bound: ["9999999999"], check: isKennitala },
  {
    id: "is.vsk",
    ...vat,
    free: [],
    bound: ["99999", "999999", "IS99999", "IS999999"],
    isUnchecked: true,
    check: always,
  },
  { id: "no.fnr", ...person, free: FNR_FORMS, bound: [], check: (value) => isNorwegian(value, 0, [0]) },
  { id: "no.dnr", ...person, free: FNR_FORMS, bound: [], check: (value) => isNorwegian(value, 40, [0]) },
  {
    id: "no.synthetic",
    label: "TEST_ID",
    class: "test",
    free: FNR_FORMS,
    bound: [],
    check: (value) => isNorwegian(value, 0, [80, 40]),
  },
  { id: "no.orgnr", ...company, free: [], bound: ["999999999", "999 999 999"], check: isNorwegianCompany },
  {
    id: "no.mva",
    ...vat,
    free: ["NO999999999MVA", "NO 999 999 999 MVA", "NO999999999 MVA", "NO 999999999 MVA"],
    bound: ["999999999MVA", "999 999 999 MVA"],
    check: isNorwegianCompany,
  },
];
