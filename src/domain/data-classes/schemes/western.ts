import { digit, isDate, isDayMonthYear, luhn, luhnSum, mod97, number, verhoeff, weighted } from "../checksums.ts";
import { always, type Scheme } from "../scheme.ts";

/** Belgium, the Netherlands, Luxembourg, France, Ireland, Italy, Spain, Portugal, Malta, Greece and Cyprus. */
const person = { label: "NATIONAL_ID", class: "personal" } as const;
const tax = { label: "TAX_ID", class: "personal" } as const;
const social = { label: "SOCIAL_SECURITY", class: "personal" } as const;
const document = { label: "ID_DOCUMENT", class: "personal" } as const;
const vat = { label: "VAT_ID", class: "personal" } as const;
const company = { label: "COMPANY_ID", class: "business" } as const;

/** Births from 2000 have a 2 before the nine digits. */
function belgianCheck(value: string): boolean {
  const [base, check] = [number(value, 0, 9), number(value, 9, 11)];
  return 97 - (base % 97) === check || 97 - ((base + 2_000_000_000) % 97) === check;
}

function isBelgian(value: string, monthsAdded: readonly number[]): boolean {
  const month = number(value, 2, 4);
  const isMonth = monthsAdded.some((added) => month >= added && month <= added + 12);
  return isMonth && number(value, 4, 6) <= 31 && belgianCheck(value);
}

const isBelgianCard = (value: string) => (number(value, 0, 10) % 97 || 97) === number(value, 10, 12);

function isBelgianVat(value: string): boolean {
  const own = value.slice(-10);
  return (own[0] === "0" || own[0] === "1") && 97 - (number(own, 0, 8) % 97) === number(own, 8, 10);
}

function elfproef(value: string): number {
  return (((weighted(value, [9, 8, 7, 6, 5, 4, 3, 2]) - digit(value, 8)) % 11) + 11) % 11;
}

const isBsn = (value: string) => elfproef(value.padStart(9, "0")) === 0;

function isDutchVat(value: string): boolean {
  return value.slice(-2) !== "00" && (elfproef(value.slice(2, 11)) === 0 || mod97(value) === 1);
}

function isDutchDocument(value: string): boolean {
  return /^[A-NP-Z]{2}[A-NP-Z0-9]{6}\d$/.test(value);
}

function isMatricule(value: string): boolean {
  if (!isDate(number(value, 0, 4), number(value, 4, 6), number(value, 6, 8)) || !/^(18|19|20)/.test(value))
    return false;
  const base = value.slice(0, 11);
  return luhn(base + value.slice(11, 12)) && verhoeff(base + value.slice(12, 13));
}

function isNirMonth(month: number): boolean {
  return (month >= 1 && month <= 12) || (month >= 20 && month <= 42) || month >= 50;
}

/** Corsica's departments count as 19 and 18. Without its key the number needs a context word. */
function isNir(value: string, sure: boolean): boolean {
  const digits = value.replace("2A", "19").replace("2B", "18");
  if (!/^[123478]\d+$/.test(digits) || !isNirMonth(number(digits, 3, 5))) return false;
  if (digits.length === 13) return sure && isNirMonth(number(digits, 3, 5));
  return 97 - (number(digits, 0, 13) % 97) === number(digits, 13, 15);
}

const isSpi = (value: string) => value.charCodeAt(0) <= 51 && number(value, 0, 10) % 511 === number(value, 10, 13);

function isSiret(value: string): boolean {
  if (value.startsWith("356000000")) return weighted(value, Array<number>(14).fill(1)) % 5 === 0;
  return luhn(value) && luhn(value.slice(0, 9));
}

const KEY_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ";

function isFrenchVat(value: string): boolean {
  const [key, siren] = [value.slice(2, 4), value.slice(4)];
  if (!luhn(siren) && !siren.startsWith("000")) return false;
  if (/^\d\d$/.test(key)) return (Number(siren) * 100 + 12) % 97 === Number(key);
  const [first, second] = [KEY_ALPHABET.indexOf(key.charAt(0)), KEY_ALPHABET.indexOf(key.charAt(1))];
  if (first < 0 || second < 0) return false;
  const check = first < 10 ? first * 24 + second - 10 : first * 34 + second - 100;
  return (Number(siren) + 1 + Math.floor(check / 11)) % 11 === check % 11;
}

const PPS_LETTERS = "WABCDEFGHIJKLMNOPQRSTUV";

function isPps(value: string): boolean {
  const second = value.charAt(8);
  const added = second === "" || "WTX".includes(second) ? 0 : 9 * (second.charCodeAt(0) - 64);
  if (added > 81) return false;
  return PPS_LETTERS[(weighted(value, [8, 7, 6, 5, 4, 3, 2]) + added) % 23] === value.charAt(7);
}

/** The old form has a letter at the second place, which counts nothing. */
function isIrishVat(value: string): boolean {
  const own = value.slice(2);
  return isPps(/^\d[A-Z]/.test(own) ? `0${own.slice(2, 7)}${own.charAt(0)}${own.slice(7)}` : own);
}

const CF_FORM = /^[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]$/;
const CF_ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
const OMOCODIA = "LMNPQRSTUV";

/** Digits may have been replaced by letters where two people would share a code. */
function isCodiceFiscale(value: string): boolean {
  if (!CF_FORM.test(value)) return false;
  const day = Number(value.slice(9, 11).replace(/[A-Z]/g, (letter) => String(OMOCODIA.indexOf(letter)))) % 40;
  let sum = 0;
  for (let at = 0; at < 15; at++) {
    const code = value.charCodeAt(at);
    const one = code <= 57 ? code - 48 : code - 65;
    sum += at % 2 === 0 ? (CF_ODD[one] ?? 0) : one;
  }
  return day >= 1 && day <= 31 && (sum % 26) + 65 === value.charCodeAt(15);
}

function isPartitaIva(value: string): boolean {
  const own = value.slice(-11);
  const province = number(own, 7, 10);
  const isProvince = (province >= 1 && province <= 100) || [120, 121, 888, 999].includes(province);
  return isProvince && own.slice(0, 7) !== "0000000" && luhn(own);
}

const DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE";

const dniLetter = (digits: string) => DNI_LETTERS[Number(digits) % 23];
const isDni = (value: string) => /^\d{8}[A-Z]$/.test(value) && dniLetter(value.slice(0, 8)) === value.charAt(8);

function isNie(value: string): boolean {
  const first = "XYZ".indexOf(value.charAt(0));
  return first >= 0 && dniLetter(first + value.slice(1, 8)) === value.charAt(8);
}

const isNifKlm = (value: string) => /^[KLM]/.test(value) && dniLetter(value.slice(1, 8)) === value.charAt(8);

function isCif(value: string): boolean {
  if (!/^[ABCDEFGHJNPQRSUVW]\d{7}[0-9A-J]$/.test(value)) return false;
  const check = (10 - (luhnSum(`${value.slice(1, 8)}0`) % 10)) % 10;
  return value.charAt(8) === String(check) || value.charAt(8) === "JABCDEFGHI"[check];
}

function isSpanishVat(value: string): boolean {
  const own = value.slice(2);
  if (!/^[A-Z0-9]\d{7}[A-Z0-9]$/.test(own)) return false;
  return isDni(own) || isNie(own) || isNifKlm(own) || isCif(own);
}

function isNuss(value: string): boolean {
  const [province, serial] = [number(value, 0, 2), number(value, 2, 10)];
  const base = serial < 10_000_000 ? province * 10_000_000 + serial : number(value, 0, 10);
  return province >= 1 && province <= 66 && base % 97 === number(value, 10, 12);
}

function isNif(value: string): boolean {
  const own = value.slice(-9);
  const rest = 11 - (weighted(own, [9, 8, 7, 6, 5, 4, 3, 2]) % 11);
  return /^([1235678]|45|9)/.test(own) && (rest > 9 ? 0 : rest) === digit(own, 8);
}

const isNiss = (value: string) =>
  (value[0] === "1" || value[0] === "2") &&
  9 - (weighted(value, [29, 23, 19, 17, 13, 11, 7, 5, 3, 2]) % 10) === digit(value, 10);

const isCitizenCard = (value: string) => /[A-Z]/.test(value) && luhnSum(value) % 10 === 0;

const MALTESE_VAT_WEIGHTS = [3, 4, 6, 7, 8, 9, 10, 1];

const isMalteseVat = (value: string) => value[2] !== "0" && weighted(value, MALTESE_VAT_WEIGHTS, 2) % 37 === 0;

function isAfm(value: string): boolean {
  const own = value.slice(-9);
  return (weighted(own, [256, 128, 64, 32, 16, 8, 4, 2]) % 11) % 10 === digit(own, 8);
}

const CYPRIOT_ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];

function isCypriotTax(value: string): boolean {
  const own = value.slice(-9);
  let sum = 0;
  for (let at = 0; at < 8; at++) sum += at % 2 === 0 ? (CYPRIOT_ODD[digit(own, at)] ?? 0) : digit(own, at);
  return !own.startsWith("12") && (sum % 26) + 65 === own.charCodeAt(8);
}

export const WESTERN_SCHEMES: readonly Scheme[] = [
  {
    id: "be.nn",
    ...person,
    free: ["99.99.99-999.99", "99.99.99-999-99"],
    bound: ["99999999999", "99 99 99 999 99", "999999 999 99", "999999-999-99"],
    check: (value) => isBelgian(value, [0]),
  },
  {
    id: "be.bis",
    ...person,
    free: ["99.99.99-999.99", "99.99.99-999-99"],
    bound: ["99999999999", "99 99 99 999 99"],
    check: (value) => isBelgian(value, [20, 40]),
  },
  { id: "be.eid", ...document, free: [], bound: ["999999999999", "999-9999999-99"], check: isBelgianCard },
  {
    id: "be.vat",
    ...vat,
    free: ["BE9999999999", "BE 9999999999", "BE 9999.999.999", "BE9999.999.999", "BE 9999 999 999", "9999.999.999"],
    bound: ["9999999999"],
    check: isBelgianVat,
  },
  { id: "cy.tin", ...tax, free: ["99999999a"], bound: [], check: isCypriotTax },
  { id: "cy.vat", ...vat, free: ["CY99999999a"], bound: [], check: isCypriotTax },
  {
    id: "cy.idcard",
    ...document,
    free: [],
    bound: ["999999", "9999999", "99999999", "999999999", "9999999999"],
    isUnchecked: true,
    check: always,
  },
  {
    id: "fr.nir",
    ...person,
    free: [
      "999999999999999",
      "999992a99999999",
      "9 99 99 99 999 999 99",
      "9 99 99 2a 999 999 99",
      "9999999999999 99",
      "999992a999999 99",
    ],
    bound: ["9999999999999", "999992a999999", "9 99 99 99 999 999"],
    check: isNir,
  },
  { id: "fr.spi", ...tax, free: ["99 99 999 999 999"], bound: ["9999999999999"], check: isSpi },
  { id: "fr.siren", ...company, free: [], bound: ["999999999", "999 999 999"], check: luhn },
  { id: "fr.siret", ...company, free: [], bound: ["99999999999999", "999 999 999 99999"], check: isSiret },
  {
    id: "fr.vat",
    ...vat,
    free: [
      "FRcc999999999",
      "FR cc999999999",
      "FR cc 999999999",
      "FRcc 999999999",
      "FR cc 999 999 999",
      "FRcc 999 999 999",
    ],
    bound: [],
    check: isFrenchVat,
  },
  { id: "gr.afm", ...tax, free: [], bound: ["999999999"], check: isAfm },
  { id: "gr.vat", ...vat, free: ["EL999999999", "EL 999999999"], bound: [], check: isAfm },
  {
    id: "gr.amka",
    ...social,
    free: [],
    bound: ["99999999999"],
    check: (value) => isDayMonthYear(value) && luhn(value),
  },
  {
    id: "gr.adt",
    ...document,
    free: [],
    bound: ["a999999", "aa999999", "a 999999", "aa 999999", "a-999999", "aa-999999"],
    // Greek capitals that look like Latin ones are written as either.
    check: (value) => /^[ABEZHIKMNOPTYX]/.test(value),
  },
  { id: "ie.pps", ...person, free: ["9999999a", "9999999aa"], bound: [], check: isPps },
  {
    id: "ie.vat",
    ...vat,
    free: ["IE9999999a", "IE9999999aa", "IE9a99999a"],
    bound: [],
    check: isIrishVat,
  },
  { id: "it.cf", ...person, free: ["aaaaaaccaccaccca", "aaa aaa ccacc accca"], bound: [], check: isCodiceFiscale },
  { id: "it.vat", ...vat, free: ["IT99999999999", "IT 99999999999"], bound: ["99999999999"], check: isPartitaIva },
  {
    id: "lu.matricule",
    ...person,
    free: ["9999999999999", "9999 9999 999 99", "99999999 99999", "9999 99 99 999 99"],
    bound: [],
    check: isMatricule,
  },
  {
    id: "lu.vat",
    ...vat,
    free: ["LU99999999", "LU 99999999"],
    bound: [],
    check: (value) => number(value, 2, 8) % 89 === number(value, 8, 10),
  },
  {
    id: "mt.id",
    ...person,
    free: [],
    bound: ["99999a", "999999a", "9999999a"],
    check: (value) => /[MGAPLHBZ]$/.test(value),
  },
  { id: "mt.vat", ...vat, free: ["MT99999999", "MT 99999999", "MT 9999-9999"], bound: [], check: isMalteseVat },
  {
    id: "nl.bsn",
    ...person,
    free: [],
    bound: ["999999999", "99999999", "9999.99.999", "999-999-999", "999 999 999"],
    check: isBsn,
  },
  {
    id: "nl.onderwijs",
    ...person,
    free: [],
    bound: ["999999999"],
    check: (value) => value.startsWith("10") && elfproef(value) === 5,
  },
  {
    id: "nl.btw",
    ...vat,
    free: ["NL999999999B99", "NL 999999999 B99", "NL9999.99.999.B99", "NL 9999.99.999.B99", "NL9999.99.999.B.99"],
    bound: [],
    check: isDutchVat,
  },
  { id: "nl.doc", ...document, free: [], bound: ["aacccccc9"], check: isDutchDocument },
  { id: "pt.nif", ...tax, free: [], bound: ["999999999", "999 999 999"], check: isNif },
  { id: "pt.vat", ...vat, free: ["PT999999999", "PT 999999999", "PT 999 999 999"], bound: [], check: isNif },
  { id: "pt.niss", ...social, free: [], bound: ["99999999999"], check: isNiss },
  {
    id: "pt.cc",
    ...document,
    free: ["999999999cc9", "99999999 9 cc9", "999999999 cc9"],
    bound: [],
    check: isCitizenCard,
  },
  {
    id: "es.dni",
    ...person,
    free: ["99999999a", "99999999-a", "99.999.999-a", "99.999.999a"],
    bound: [],
    check: isDni,
  },
  { id: "es.nie", ...person, free: ["a9999999a", "a-9999999-a", "a-9999999a", "a9999999-a"], bound: [], check: isNie },
  { id: "es.nifklm", ...tax, free: ["a9999999a", "a-9999999-a", "a-9999999a"], bound: [], check: isNifKlm },
  { id: "es.cif", ...company, free: ["a9999999c", "a-9999999-c", "a-9999999c"], bound: [], check: isCif },
  { id: "es.vat", ...vat, free: ["ESccccccccc", "ES ccccccccc"], bound: [], check: isSpanishVat },
  {
    id: "es.nuss",
    ...social,
    free: ["99/99999999/99", "99/99999999-99"],
    bound: ["999999999999", "99 99999999 99"],
    check: isNuss,
  },
];
