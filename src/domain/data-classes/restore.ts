/** A character of a text, or in JSON an escape, as it is written. */
type Units = {
  readonly chars: string;
  /** Where each character begins in the written text, and behind the last one where the rest does. */
  readonly starts: readonly number[] | undefined;
};

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/y;
const CUT_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORD = /[\p{L}\p{N}]/u;

/** A place where the restored text is longer or shorter: offsets behind `at` in the text with stand-ins move by `by`. */
type Shift = { readonly at: number; readonly by: number };

/** Puts originals back in the place of stand-ins; anything that is not exactly a stand-in stays. */
export class Restorer {
  readonly #originals: ReadonlyMap<string, string>;
  /** By first character, the longest first. */
  readonly #byFirst = new Map<string, string[]>();

  constructor(originals: ReadonlyMap<string, string>) {
    this.#originals = originals;
    for (const standIn of [...originals.keys()].toSorted((a, b) => b.length - a.length)) {
      const first = standIn.charAt(0);
      const others = this.#byFirst.get(first);
      if (others === undefined) this.#byFirst.set(first, [standIn]);
      else others.push(standIn);
    }
  }

  /** A text that is there as a whole. */
  whole(text: string, form: "text" | "json" = formOf(text)): string {
    const channel = this.open(form);
    return channel.push(text) + channel.end();
  }

  /** A text that arrives in pieces; `form` undefined: its first character tells. */
  open(form?: "text" | "json"): RestoredText {
    return new RestoredText(this, form);
  }

  /**
   * At a place of a text: the stand-in that stands there, `wait` when one may be arriving, or undefined. The longest counts.
   */
  at(chars: string, at: number, isEnd: boolean): string | "wait" | undefined {
    const found = this.#byFirst.get(chars.charAt(at));
    if (found === undefined) return undefined;
    for (const standIn of found) {
      const there = chars.slice(at, at + standIn.length);
      if (there.length < standIn.length) {
        if (!isEnd && standIn.startsWith(there)) return "wait";
      } else if (there === standIn) {
        const behind = at + standIn.length;
        if (behind === chars.length && !isEnd) return "wait";
        if (isEdge(chars.charAt(behind - 1), chars.charAt(behind))) return standIn;
      }
    }
    return undefined;
  }

  original(standIn: string): string {
    return this.#originals.get(standIn) ?? standIn;
  }
}

/** One text of a reply. What may be the beginning of a stand-in is held back, never more than the longest one. */
export class RestoredText {
  readonly #restorer: Restorer;
  #form: "text" | "json" | undefined;
  #pending = "";
  #before = "";
  #read = 0;
  readonly shifts: Shift[] = [];

  constructor(restorer: Restorer, form: "text" | "json" | undefined) {
    this.#restorer = restorer;
    this.#form = form;
  }

  /** Held back, as it is written. */
  get heldChars(): number {
    return this.#pending.length;
  }

  push(text: string): string {
    this.#pending += text;
    return this.#advance(false);
  }

  /** What was held back. */
  end(): string {
    return this.#advance(true);
  }

  #advance(isEnd: boolean): string {
    const written = this.#pending;
    this.#form ??= /\S/.test(written) ? formOf(written) : undefined;
    const isJson = this.#form === "json";
    const { chars, starts } = isJson ? readUnits(written) : { chars: written, starts: undefined };
    const startOf = (unit: number) => starts?.[unit] ?? unit;
    let out = "";
    let copied = 0;
    let at = 0;
    while (at < chars.length) {
      const isStart = isEdge(at === 0 ? this.#before : chars.charAt(at - 1), chars.charAt(at));
      const found = isStart ? this.#restorer.at(chars, at, isEnd) : undefined;
      if (found === "wait") break;
      if (found === undefined) at++;
      else {
        const original = this.#restorer.original(found);
        const put = isJson ? JSON.stringify(original).slice(1, -1) : original;
        out += written.slice(startOf(copied), startOf(at)) + put;
        at += found.length;
        copied = at;
        if (original.length !== found.length)
          this.shifts.push({ at: this.#read + at, by: original.length - found.length });
      }
    }
    const from = startOf(at);
    out += written.slice(startOf(copied), from);
    if (at > 0) this.#before = chars.charAt(at - 1);
    this.#read += at;
    this.#pending = isEnd ? "" : written.slice(from);
    return isEnd ? out + written.slice(from) : out;
  }

  /** Where an offset of the text with stand-ins is in the restored one. */
  moved(offset: number): number {
    return this.shifts.reduce((moved, { at, by }) => (offset >= at ? moved + by : moved), offset);
  }
}

function formOf(text: string): "text" | "json" {
  return /^\s*[[{]/.test(text) ? "json" : "text";
}

/** An escape that is cut off is not read yet. */
function readUnits(written: string): Units {
  if (!written.includes("\\")) return { chars: written, starts: undefined };
  const starts: number[] = [];
  let chars = "";
  let at = 0;
  while (at < written.length) {
    if (written.charAt(at) !== "\\") {
      starts.push(at);
      chars += written.charAt(at++);
      continue;
    }
    ESCAPE.lastIndex = at;
    const [code, hex, sign = ""] = ESCAPE.exec(written) ?? [];
    if (code === undefined && CUT_ESCAPE.test(written.slice(at))) break;
    starts.push(at);
    if (code === undefined) chars += written.charAt(at++);
    else {
      chars += hex === undefined ? (ESCAPED[sign] ?? sign) : String.fromCharCode(Number.parseInt(hex, 16));
      at += code.length;
    }
  }
  starts.push(at);
  return { chars, starts };
}

/** Not between two letters or digits. */
function isEdge(before: string, behind: string): boolean {
  return !WORD.test(before) || !WORD.test(behind);
}
