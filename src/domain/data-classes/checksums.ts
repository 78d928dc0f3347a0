/** Check digits of identifiers. Values are compact: capitals and digits without separators. */

/** The value of a digit 0–9, or 10–35 for A–Z. */
export function alnumValue(code: number): number {
  return code <= 57 ? code - 48 : code - 55;
}

export function digit(value: string, index: number): number {
  return value.charCodeAt(index) - 48;
}

export function number(value: string, from: number, to?: number): number {
  return Number(value.slice(from, to));
}

/** Each weight times the digit at its place. */
export function weighted(value: string, weights: readonly number[], from = 0): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at++) sum += digit(value, from + at) * (weights[at] ?? 0);
  return sum;
}

export function luhn(value: string): boolean {
  return luhnSum(value) % 10 === 0;
}

/** Letters count as 10–35, each of them one value (Portuguese card numbers). */
export function luhnSum(value: string): number {
  let sum = 0;
  for (let at = value.length - 1, doubled = false; at >= 0; at--, doubled = !doubled) {
    const one = alnumValue(value.charCodeAt(at)) * (doubled ? 2 : 1);
    sum += doubled && one > 9 ? one - 9 : one;
  }
  return sum;
}

/** ISO 7064 mod 97-10 over digits and letters (10–35), the whole value; without big integers. */
export function mod97(value: string): number {
  let rest = 0;
  for (let at = 0; at < value.length; at++) {
    const one = alnumValue(value.charCodeAt(at));
    rest = (rest * (one > 9 ? 100 : 10) + one) % 97;
  }
  return rest;
}

/** IBAN order: the first four characters are moved to the end. */
export function ibanRest(value: string): number {
  return mod97(value.slice(4) + value.slice(0, 4));
}

/** ISO 7064 mod 11,10: the last digit checks the others. */
export function mod11And10(value: string): boolean {
  let product = 10;
  for (let at = 0; at < value.length - 1; at++) {
    const sum = (digit(value, at) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === digit(value, value.length - 1);
}

const DIHEDRAL_PRODUCT = [
  "0123456789",
  "1234067895",
  "2340178956",
  "3401289567",
  "4012395678",
  "5987604321",
  "6598710432",
  "7659821043",
  "8765932104",
  "9876543210",
];
const VERHOEFF_STEP = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

export function verhoeff(value: string): boolean {
  let check = 0;
  for (let place = 0; place < value.length; place++) {
    let one = digit(value, value.length - 1 - place);
    for (let turn = 0; turn < place % 8; turn++) one = VERHOEFF_STEP[one] ?? 0;
    check = digit(DIHEDRAL_PRODUCT[check] ?? "", one);
  }
  return check === 0;
}

const ICAO_WEIGHTS = [7, 3, 1];

/** ICAO 9303: weights 7, 3, 1; a filler counts 0. */
export function icaoDigit(value: string): number {
  let sum = 0;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    sum += (code === 60 ? 0 : alnumValue(code)) * (ICAO_WEIGHTS[at % 3] ?? 0);
  }
  return sum % 10;
}

/** One weight row, and a second one for the remainder 10. */
export function weighted11Twice(value: string, first: readonly number[], second: readonly number[]): number {
  const rest = weighted(value, first) % 11;
  return rest < 10 ? rest : (weighted(value, second) % 11) % 10;
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The year decides about 29 February; one with two digits may mean any century. */
export function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1 || day > (DAYS[month - 1] ?? 0)) return false;
  if (month !== 2 || day < 29) return true;
  return year % 4 === 0 && (year < 100 || year % 100 !== 0 || year % 400 === 0);
}

export function isDayMonthYear(value: string, at = 0): boolean {
  return isDate(number(value, at + 4, at + 6), number(value, at + 2, at + 4), number(value, at, at + 2));
}

export function isYearMonthDay(value: string, at = 0): boolean {
  return isDate(number(value, at, at + 2), number(value, at + 2, at + 4), number(value, at + 4, at + 6));
}
