/** What a character is to the detectors: one table look-up for each. Letters beyond ASCII count as letters. */
export const DIGIT = 1;
export const UPPER = 2;
export const LOWER = 4;
/** A letter that no identifier contains: it only ends words. */
export const FOREIGN = 8;
export const ALNUM = DIGIT | UPPER | LOWER;
export const LETTER = UPPER | LOWER | FOREIGN;

export const CHARACTERS = new Uint8Array(0x10000);
CHARACTERS.fill(DIGIT, 48, 58);
CHARACTERS.fill(UPPER, 65, 91);
CHARACTERS.fill(LOWER, 97, 123);
CHARACTERS.fill(FOREIGN, 0xc0, 0x2000);
CHARACTERS.fill(FOREIGN, 0x2c00, 0x2e00);
for (const sign of [0xd7, 0xf7, 0xaa, 0xba]) CHARACTERS[sign] = 0;

/** What the character at a place is; 0 beyond the end of the text. */
export function kindAt(text: string, at: number): number {
  return at >= 0 && at < text.length ? (CHARACTERS[text.charCodeAt(at)] ?? 0) : 0;
}

export function isAlnumAt(text: string, at: number): boolean {
  return (kindAt(text, at) & ALNUM) !== 0;
}

export function isDigitAt(text: string, at: number): boolean {
  return kindAt(text, at) === DIGIT;
}

export function isLetterAt(text: string, at: number): boolean {
  return (kindAt(text, at) & LETTER) !== 0;
}

/** The end of the letters and digits that begin here. */
export function wordEnd(text: string, from: number, max = text.length): number {
  let at = from;
  while (at < max && isAlnumAt(text, at)) at++;
  return at;
}

const FOLDED = new Uint16Array(0x10000);
for (let code = 0; code < FOLDED.length; code++) FOLDED[code] = code;
for (let code = 0; code < 0x2000; code++) {
  // Accents fall away, so that "cislo" is "číslo"; a character that becomes several stays as it is.
  const base = String.fromCharCode(code).normalize("NFD").charAt(0).toLowerCase();
  if (base.length === 1) FOLDED[code] = base.charCodeAt(0);
}
FOLDED[0xa0] = 32;
FOLDED[0x202f] = 32;
FOLDED[0x2019] = 39;
FOLDED[0x3c2] = 0x3c3;

export function foldedCode(code: number): number {
  return FOLDED[code] ?? 0;
}

/** Small letters without accents, one for one: places stay as they are. */
export function foldedAt(text: string, at: number): number {
  return FOLDED[text.charCodeAt(at)] ?? 0;
}

export function folded(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; at++) out += String.fromCharCode(foldedAt(text, at));
  return out;
}
