/** A pattern outside the supported subset; the message names the construct. */
export class UnsupportedPatternError extends Error {}

const OUTPUT_MAX_CHARS = 4096;
const NESTING_MAX = 32;

type CharacterRange = readonly [from: string, to: string];

const CLASSES: Readonly<Record<string, readonly CharacterRange[]>> = {
  d: [["0", "9"]],
  w: [
    ["a", "z"],
    ["A", "Z"],
    ["0", "9"],
    ["_", "_"],
  ],
  s: [
    [" ", " "],
    ["\t", "\t"],
    ["\n", "\n"],
    ["\r", "\r"],
  ],
};
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v", "0": "\0" };
/** Candidates for a negated class. */
const FALLBACK_CHARACTERS = ["a", "A", "0", "_", "-", " ", ".", "!", "~", "é", "中"];

/**
 * Generates a short matching string: first alternative, fewest repetitions. The expression is never executed, because
 * it is untrusted and may backtrack catastrophically.
 */
export function sampleForPattern(pattern: string): string {
  const reader = new PatternReader(pattern);
  const text = reader.alternatives(0);
  if (!reader.isDone) throw new UnsupportedPatternError("an unbalanced parenthesis");
  return text;
}

class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(pattern: string) {
    this.#characters = [...pattern];
  }

  get isDone(): boolean {
    return this.#at >= this.#characters.length;
  }

  alternatives(depth: number): string {
    if (depth > NESTING_MAX) throw new UnsupportedPatternError("too many nested groups");
    const first = this.#sequence(depth);
    while (this.#take("|")) this.#sequence(depth);
    return first;
  }

  #sequence(depth: number): string {
    let text = "";
    while (!this.isDone && this.#peek() !== "|" && this.#peek() !== ")") {
      const atom = this.#atom(depth);
      const times = this.#repetitions();
      if (times > OUTPUT_MAX_CHARS || text.length + atom.length * times > OUTPUT_MAX_CHARS)
        throw new UnsupportedPatternError("a very long repetition");
      text += atom.repeat(times);
    }
    return text;
  }

  #atom(depth: number): string {
    const character = this.#next();
    if (character === "^" || character === "$") return "";
    if (character === ".") return "a";
    if (character === "(") return this.#group(depth);
    if (character === "[") return this.#class();
    if (character === "\\") return this.#escape();
    return character;
  }

  #group(depth: number): string {
    if (this.#take("?")) {
      if (this.#take("<")) {
        if (this.#peek() === "=" || this.#peek() === "!") throw new UnsupportedPatternError("a look-around");
        while (this.#next() !== ">");
      } else if (!this.#take(":")) throw new UnsupportedPatternError("a look-around");
    }
    const text = this.alternatives(depth + 1);
    if (!this.#take(")")) throw new UnsupportedPatternError("an unbalanced parenthesis");
    return text;
  }

  #escape(): string {
    const name = this.#next();
    if (name === "b" || name === "B") return "";
    const ranges = this.#escapedRanges(name);
    const first = ranges[0];
    if (first === undefined) throw new UnsupportedPatternError(`\\${name}`);
    return first[0];
  }

  #escapedRanges(name: string): readonly CharacterRange[] {
    const known = CLASSES[name];
    if (known !== undefined) return known;
    const inverse = CLASSES[name.toLowerCase()];
    if (inverse !== undefined && name !== name.toLowerCase()) return [firstOutside(inverse)];
    const control = CONTROLS[name];
    if (control !== undefined) return [[control, control]];
    if (name === "x" || name === "u") return [this.#codePoint(name === "x" ? 2 : 4)];
    if (name === "p") return [this.#property()];
    if (/[A-Za-z0-9]/.test(name)) throw new UnsupportedPatternError(`\\${name}`);
    return [[name, name]];
  }

  #codePoint(digits: number): CharacterRange {
    let hex = "";
    for (let count = 0; count < digits; count += 1) hex += this.#next();
    if (!/^[0-9a-fA-F]+$/.test(hex)) throw new UnsupportedPatternError("an unusual escape");
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return [character, character];
  }

  #property(): CharacterRange {
    if (!this.#take("{")) throw new UnsupportedPatternError("\\p");
    let name = "";
    while (this.#peek() !== "}") name += this.#next();
    this.#next();
    if (name === "L" || name === "Ll" || name === "Letter") return ["a", "z"];
    if (name === "Lu") return ["A", "Z"];
    if (name === "N" || name === "Nd") return ["0", "9"];
    throw new UnsupportedPatternError(`\\p{${name.slice(0, 32)}}`);
  }

  #class(): string {
    const negated = this.#take("^");
    const ranges: CharacterRange[] = [];
    while (this.#peek() !== "]") {
      const from = this.#member();
      const single = from.length === 1 ? from[0] : undefined;
      if (single !== undefined && this.#peek() === "-" && this.#characters[this.#at + 1] !== "]") {
        this.#next();
        const to = this.#member()[0];
        if (to === undefined) throw new UnsupportedPatternError("an unusual class");
        ranges.push([single[0], to[1]]);
      } else ranges.push(...from);
    }
    this.#next();
    const first = negated ? firstOutside(ranges) : ranges[0];
    if (first === undefined) throw new UnsupportedPatternError("an empty class");
    return first[0];
  }

  #member(): readonly CharacterRange[] {
    const character = this.#next();
    if (character !== "\\") return [[character, character]];
    const name = this.#next();
    return name === "b" ? [["\b", "\b"]] : this.#escapedRanges(name);
  }

  /** The quantifier's minimum; 1 without one. */
  #repetitions(): number {
    let times = 1;
    if (this.#take("*") || this.#take("?")) times = 0;
    else if (!this.#take("+")) {
      const braces = /^\{(\d+)(?:,\d*)?\}/.exec(this.#characters.slice(this.#at, this.#at + 24).join(""));
      if (braces === null) return 1;
      times = Number(braces[1]);
      this.#at += braces[0].length;
    }
    this.#take("?");
    return times;
  }

  #peek(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new UnsupportedPatternError("an unfinished expression");
    return character;
  }

  #next(): string {
    const character = this.#peek();
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}

function firstOutside(ranges: readonly CharacterRange[]): CharacterRange {
  const found = FALLBACK_CHARACTERS.find(
    (character) => !ranges.some(([from, to]) => from <= character && character <= to),
  );
  if (found === undefined) throw new UnsupportedPatternError("a class that leaves little");
  return [found, found];
}
