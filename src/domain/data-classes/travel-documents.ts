import { icaoDigit, isDate, number } from "./checksums.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { MRZ_KINDS } from "./kinds.ts";

/** Places of a field: the line, from, to (exclusive), and where its check digit is. */
type Layout = {
  readonly size: keyof typeof MRZ_KINDS;
  readonly lines: number;
  readonly chars: number;
  readonly birth: number;
  readonly dateLine: number;
  readonly fields: readonly (readonly [line: number, from: number, to: number])[];
  readonly whole: readonly (readonly [line: number, from: number, to: number])[];
};

/** Document number, date of birth and date of expiry, each before its check digit. */
const TWO_LINE_FIELDS: Layout["fields"] = [
  [1, 0, 9],
  [1, 13, 19],
  [1, 21, 27],
];

const LAYOUTS: readonly Layout[] = [
  {
    ...{ size: "td3", lines: 2, chars: 44, dateLine: 1, birth: 13 },
    fields: TWO_LINE_FIELDS,
    whole: [
      [1, 0, 10],
      [1, 13, 20],
      [1, 21, 43],
    ],
  },
  {
    ...{ size: "td2", lines: 2, chars: 36, dateLine: 1, birth: 13 },
    fields: TWO_LINE_FIELDS,
    whole: [
      [1, 0, 10],
      [1, 13, 20],
      [1, 21, 35],
    ],
  },
  {
    ...{ size: "td1", lines: 3, chars: 30, dateLine: 1, birth: 0 },
    fields: [
      [1, 0, 6],
      [1, 8, 14],
    ],
    whole: [
      [0, 5, 30],
      [1, 0, 7],
      [1, 8, 15],
      [1, 18, 29],
    ],
  },
];

/** Capitals, digits and fillers. */
function isMrzCode(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 60;
}

/** Lines follow each other after a line break, as it is or escaped, or after one space. */
function breakAt(text: string, at: number): number {
  if (text.startsWith("\r\n", at) || text.startsWith("\\n", at)) return 2;
  const code = text.charCodeAt(at);
  return code === 10 || code === 32 ? 1 : 0;
}

/** A zone whose first line has fillers at a place; returns where the search may go on. */
export function matchMrz(scan: ScannedText, filler: number): number {
  const { text } = scan;
  let start = filler;
  while (filler - start < 44 && isMrzCode(text.charCodeAt(start - 1))) start--;
  let end = filler;
  while (end - start <= 44 && isMrzCode(text.charCodeAt(end))) end++;
  const layout = LAYOUTS.find(({ chars }) => chars === end - start);
  if (layout === undefined || !/^[PIACV][A-Z<]/.test(text.slice(start, start + 2))) return end;
  const lines = [text.slice(start, end)];
  let at = end;
  while (lines.length < layout.lines) {
    at += breakAt(text, at);
    const line = text.slice(at, at + layout.chars);
    if (line.length < layout.chars || !/^[A-Z0-9<]+$/.test(line)) return end;
    lines.push(line);
    at += layout.chars;
  }
  if (!isZone(layout, lines) || isMrzCode(text.charCodeAt(at))) return end;
  scan.add(MRZ_KINDS[layout.size], start, at, RANK.checked);
  return at;
}

function isZone({ fields, whole, dateLine, birth, chars }: Layout, lines: readonly string[]): boolean {
  const piece = ([line, from, to]: readonly [number, number, number]) => (lines[line] ?? "").slice(from, to);
  const date = (lines[dateLine] ?? "").slice(birth, birth + 6);
  if (/^\d{6}$/.test(date) && !isDate(number(date, 0, 2), number(date, 2, 4), number(date, 4, 6))) return false;
  const isField = fields.every(
    ([line, from, to]) => String(icaoDigit(piece([line, from, to]))) === (lines[line] ?? "")[to],
  );
  return isField && String(icaoDigit(whole.map(piece).join(""))) === (lines[1] ?? "")[chars - 1];
}
