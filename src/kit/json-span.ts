/** A value of a large document that is kept as its JSON text. */
export class JsonSpan {
  readonly text: string;
  /** The number of items of a list of numbers that are finite as 32-bit floats; undefined for other values. */
  readonly numbers: number | undefined;

  constructor(text: string, numbers: number | undefined) {
    this.text = text;
    this.numbers = numbers;
  }

  toJSON(): string {
    return openSpans === undefined ? this.text : `${MARK}${openSpans.push(this.text) - 1}`;
  }
}

/** A private-use character: `JSON.stringify` keeps it. */
const MARK = "\uE0A5span:";
const MARKED = new RegExp(`"${MARK}(\\d{1,9})"`, "g");
let openSpans: string[] | undefined;

/** Like `JSON.stringify`; spans are inserted as their text. */
export function stringifyWithSpans(value: unknown): string {
  const spans: string[] = [];
  openSpans = spans;
  try {
    const text = JSON.stringify(value);
    return spans.length === 0 ? text : text.replace(MARKED, (mark, index: string) => spans[Number(index)] ?? mark);
  } finally {
    openSpans = undefined;
  }
}
