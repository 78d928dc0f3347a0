import { alnumValue, ibanRest, luhn, mod97, number } from "../checksums.ts";
import type { Scheme } from "../scheme.ts";

/** Length of an IBAN by country; beside the EEA and Switzerland, those that share their schemes. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = {
  ...{ AT: 20, BE: 16, BG: 22, HR: 21, CY: 28, CZ: 24, DK: 18, EE: 20, FI: 18, FR: 27, DE: 22, GR: 27, HU: 28, IE: 22 },
  ...{ IT: 27, LV: 21, LT: 20, LU: 20, MT: 31, NL: 18, PL: 28, PT: 25, RO: 24, SK: 24, SI: 19, ES: 24, SE: 24, IS: 26 },
  ...{ LI: 21, NO: 15, CH: 21, MC: 27, SM: 27, AD: 24, GB: 22, GI: 23, VA: 22 },
};

export function ibanLength(country: string): number | undefined {
  return IBAN_LENGTHS[country];
}

/** What follows the bank code is digits in most countries; the check digits decide. */
export function isIban(compact: string): boolean {
  const check = number(compact, 2, 4);
  return check >= 2 && check <= 98 && ibanRest(compact) === 1;
}

/** SEPA creditor identifiers: places 5–7 are the holder's own and not checked. */
export function isCreditorId(compact: string): boolean {
  return compact.length >= 8 && compact.length <= 35 && ibanRest(compact.slice(0, 4) + compact.slice(7)) === 1;
}

type CardRange = {
  readonly from: number;
  readonly to: number;
  readonly lengths: readonly number[];
  readonly common: boolean;
};

const SIXTEEN = [16];
const UP_TO_19 = [16, 17, 18, 19];

/** By the first four digits. `common`: found without a context word too. */
const CARD_RANGES: readonly CardRange[] = [
  { from: 4000, to: 4999, lengths: [16], common: true },
  { from: 4000, to: 4999, lengths: [13, 19], common: false },
  { from: 5100, to: 5599, lengths: SIXTEEN, common: true },
  { from: 2221, to: 2720, lengths: SIXTEEN, common: true },
  { from: 3400, to: 3499, lengths: [15], common: true },
  { from: 3700, to: 3799, lengths: [15], common: true },
  { from: 6011, to: 6011, lengths: UP_TO_19, common: false },
  { from: 6440, to: 6599, lengths: UP_TO_19, common: false },
  { from: 3000, to: 3059, lengths: [14, ...UP_TO_19], common: false },
  { from: 3095, to: 3095, lengths: [14, ...UP_TO_19], common: false },
  { from: 3600, to: 3699, lengths: [14, ...UP_TO_19], common: false },
  { from: 3800, to: 3999, lengths: [14, ...UP_TO_19], common: false },
  { from: 3528, to: 3589, lengths: UP_TO_19, common: false },
  { from: 2200, to: 2204, lengths: UP_TO_19, common: false },
  { from: 9792, to: 9792, lengths: SIXTEEN, common: false },
  { from: 5080, to: 5089, lengths: SIXTEEN, common: false },
  { from: 8100, to: 8299, lengths: UP_TO_19, common: false },
  { from: 5000, to: 5099, lengths: [12, 13, 14, 15, 16, 17, 18, 19], common: false },
  { from: 5600, to: 5899, lengths: [12, 13, 14, 15, 16, 17, 18, 19], common: false },
  { from: 6000, to: 6999, lengths: [12, 13, 14, 15, 16, 17, 18, 19], common: false },
];

function isCard(compact: string, sure: boolean): boolean {
  const start = number(compact, 0, 4);
  const range = CARD_RANGES.find(
    ({ from, to, lengths, common }) =>
      start >= from && start <= to && lengths.includes(compact.length) && (common || sure),
  );
  return range !== undefined && luhn(compact) && !/^(\d)\1+$/.test(compact);
}

const ISO_COUNTRIES = new Set(
  (
    "AD AE AF AG AL AM AO AR AT AU AZ BA BB BD BE BG BH BM BN BO BR BS BY BZ CA CH CL CN CO CR CU CW CY CZ DE DK DO DZ EC EE EG ES EU FI FO FR " +
    "GB GE GG GH GI GL GR GT HK HN HR HU ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KR KW KY KZ LB LI LK LT LU LV LY MA MC MD ME MK MO MT MU MV MX " +
    "MY NA NG NL NO NZ OM PA PE PH PK PL PR PT PY QA RO RS RU SA SE SG SI SK SM SN TH TN TR TW TZ UA UG US UY UZ VA VE VG VN XI XK XS ZA ZW"
  ).split(" "),
);

export function isCountry(code: string): boolean {
  return ISO_COUNTRIES.has(code);
}

const isBic = (compact: string) => isCountry(compact.slice(4, 6));
const isLei = (compact: string) => mod97(compact) === 1 && /^[0-9A-Z]{18}\d\d$/.test(compact);

function isIsin(compact: string): boolean {
  if (!isCountry(compact.slice(0, 2))) return false;
  let digits = "";
  for (let at = 0; at < compact.length; at++) digits += String(alnumValue(compact.charCodeAt(at)));
  return luhn(digits);
}

const isEhic = (compact: string) => compact.startsWith("80");

const CARD_LENGTHS = [12, 13, 14, 15, 16, 17, 18, 19].map((length) => "9".repeat(length));

export const INTERNATIONAL_SCHEMES: readonly Scheme[] = [
  {
    id: "x.card",
    label: "CARD",
    class: "personal",
    free: [
      "9999 9999 9999 9999",
      "9999-9999-9999-9999",
      "9999 999999 99999",
      "9999-999999-99999",
      "9999 999999 9999",
      "9999 9999 9999 9999 999",
      ...CARD_LENGTHS,
    ],
    bound: [],
    check: isCard,
  },
  { id: "x.bic", label: "BIC", class: "business", free: [], bound: ["aaaaaacc", "aaaaaaccccc"], check: isBic },
  { id: "x.lei", label: "LEI", class: "business", free: ["cccccccccccccccccc99"], bound: [], check: isLei },
  { id: "x.isin", label: "ISIN", class: "business", free: ["aaccccccccc9"], bound: [], check: isIsin },
  {
    id: "x.ehic",
    label: "HEALTH_INSURANCE",
    class: "personal",
    free: [],
    bound: ["99999999999999999999"],
    check: isEhic,
  },
];
