import { createHmac } from "node:crypto";
import { ibanRest } from "./checksums.ts";
import { compactOf } from "./forms.ts";
import { type Kind, PERSON, SCHEMES } from "./kinds.ts";
import { scanText } from "./scan.ts";

const ATTEMPTS_MAX = 16;
/** A longer original is named instead of imitated. */
const IMITATED_CHARS_MAX = 200;
const DOMAINS = ["example.com", "example.net", "example.org"] as const;
const TINY_DOMAIN = "a.test";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const CONSONANTS = "bdfgklmnprstvz";
const VOWELS = "aeiou";
const SEEN_CLASSES: ReadonlySet<string> = new Set(["personal", "special", "secret", "business"]);

/** Bytes that depend on the key, the conversation, the original and the attempt alone. */
class Stream {
  readonly #key: Buffer;
  readonly #seed: string;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #count = 0;

  constructor(key: Buffer, seed: string) {
    this.#key = key;
    this.#seed = seed;
  }

  below(end: number): number {
    if (this.#at + 2 > this.#block.length) {
      this.#block = createHmac("sha256", this.#key)
        .update(`${this.#count++}\n${this.#seed}`)
        .digest();
      this.#at = 0;
    }
    const value = this.#block.readUInt16BE(this.#at);
    this.#at += 2;
    return value % end;
  }

  of(chars: string): string {
    return chars.charAt(this.below(chars.length));
  }

  digits(count: number): string {
    return Array.from({ length: count }, () => this.below(10)).join("");
  }
}

/**
 * Stand-ins for the texts of one conversation: the same original always has the same one, in the form of its kind, from reserved
 * ranges or with a wrong check digit. Without the workspace's key none can be traced back.
 */
export class StandIns {
  readonly #key: Buffer;
  readonly #conversation: string;
  readonly #isTaken: (candidate: string) => boolean;
  #isComplete = false;
  readonly #byOriginal = new Map<string, string>();
  readonly #markers = new Map<string, string>();
  readonly #kinds = new Map<string, Kind>();
  /** Only as long as the request runs. */
  readonly originals = new Map<string, string>();

  /** `isTaken`: texts of the request itself, which a reply may repeat. */
  constructor(key: Buffer, conversation: string, isTaken: (candidate: string) => boolean) {
    this.#key = key;
    this.#conversation = conversation;
    this.#isTaken = isTaken;
  }

  /** By stand-in. */
  get kinds(): ReadonlyMap<string, Kind> {
    return this.#kinds;
  }

  /**
   * What comes from now on gets a name in brackets, which takes less time. Found in a body alone, it is not looked for in the
   * whole request again.
   */
  completed(): this {
    this.#isComplete = true;
    return this;
  }

  for(kind: Kind, original: string): string {
    const known = this.#byOriginal.get(original);
    if (known !== undefined) return known;
    const standIn = this.#added(kind, original, (stream, attempt) =>
      this.#isComplete || attempt >= ATTEMPTS_MAX ? named(kind, stream) : imitation(kind, original, stream),
    );
    this.#byOriginal.set(original, standIn);
    return standIn;
  }

  /** For what is redacted where the reply repeats names of the request: `EMAIL_7k3f2a` is one that every provider takes. */
  marker(kind: Kind, original: string): string {
    const known = this.#markers.get(original);
    if (known !== undefined) return known;
    const marker = this.#added(kind, original, (stream) => named(kind, stream).slice(1, -1));
    this.#markers.set(original, marker);
    return marker;
  }

  #added(kind: Kind, original: string, candidateOf: (stream: Stream, attempt: number) => string | undefined): string {
    for (let attempt = 0; ; attempt++) {
      const stream = new Stream(this.#key, JSON.stringify([this.#conversation, kind.id, original, attempt]));
      const candidate = candidateOf(stream, attempt);
      if (candidate === undefined || candidate === original) continue;
      if (this.originals.has(candidate) || this.#isTaken(candidate)) continue;
      this.originals.set(candidate, original);
      this.#kinds.set(candidate, kind);
      return candidate;
    }
  }
}

/** Undefined: what this attempt gave may belong to a person. */
function imitation(kind: Kind, original: string, stream: Stream): string | undefined {
  if (kind.confidence === "low" && kind.id !== PERSON.id) return named(kind, stream);
  if (original.length > IMITATED_CHARS_MAX) return named(kind, stream);
  switch (kind.label) {
    case "EMAIL":
      return email(original.length, stream);
    case "IP_ADDRESS":
      return original.includes(":")
        ? ipv6(stream)
        : `198.${18 + stream.below(2)}.${stream.below(256)}.${stream.below(256)}`;
    case "MAC_ADDRESS":
      return mac(original, stream);
    case "PHONE":
      return `+33 6 39 98 ${stream.digits(2)} ${stream.digits(2)}`;
    case "IBAN":
      return iban(original, stream);
    case "DATE_OF_BIRTH":
      return date(original, stream);
    case "NAME":
      return original.replaceAll(/\p{L}+/gu, (word) => nameLike(word.length, stream));
    default:
      // Countries write theirs before numbers for VAT.
      return unfound(
        kind,
        kind.id.endsWith(".vat") ? original.slice(0, 2) + shaped(original.slice(2), stream) : shaped(original, stream),
      );
  }
}

/** `[EMAIL_7k3f2a]`: where no form can be kept. */
function named({ label }: Kind, stream: Stream): string {
  return `[${label}_${Array.from({ length: 6 }, () => stream.of(`${LETTERS}0123456789`)).join("")}]`;
}

/** As long as the original where that is possible, so that offsets in the text stay. */
function email(length: number, stream: Stream): string {
  const domain = length > DOMAINS[0].length + 4 ? stream.of("abc").charCodeAt(0) - 97 : undefined;
  const host = domain === undefined ? TINY_DOMAIN : (DOMAINS[domain] ?? DOMAINS[0]);
  const local = Math.max(4, length - host.length - 1);
  let text = stream.of(LETTERS);
  while (text.length < local) text += text.length % 4 === 3 ? stream.of("0123456789") : stream.of(LETTERS);
  return `${text}@${host}`;
}

function ipv6(stream: Stream): string {
  const group = () => (4096 + stream.below(61_440)).toString(16);
  return `2001:db8:${group()}:${group()}::${group()}`;
}

function mac(original: string, stream: Stream): string {
  const separator = /[^0-9a-fA-F]/.exec(original)?.[0] ?? "-";
  const last = stream.below(256).toString(16).padStart(2, "0");
  const bytes = ["00", "00", "5e", "00", "53", last].join(separator);
  return /[a-f]/.test(original) ? bytes : bytes.toUpperCase();
}

/** A bank code of zeros belongs to no bank; the check digits are right. */
function iban(original: string, stream: Stream): string {
  const compact = original.replaceAll(/[^0-9A-Za-z]/g, "").toUpperCase();
  const account = stream.digits(Math.min(10, compact.length - 8));
  const rest = "0".repeat(compact.length - 4 - account.length) + account;
  const country = compact.slice(0, 2);
  const check = String(98 - ibanRest(`${country}00${rest}`)).padStart(2, "0");
  return inShapeOf(original, `${country}${check}${rest}`);
}

/** The characters of a compact value with the separators of another one. */
function inShapeOf(original: string, compact: string): string {
  let at = 0;
  return original.replaceAll(/[0-9A-Za-z]/g, () => compact.charAt(at++));
}

/** In the 19th century; day and month may change places. */
function date(original: string, stream: Stream): string {
  const [month, day, year] = [1 + stream.below(12), 1 + stream.below(12), 1800 + stream.below(80)];
  const two = (value: number) => String(value).padStart(2, "0");
  let short = 0;
  return original.replaceAll(/\d+/g, (digits) => {
    if (digits.length > 4) return `${year}${two(month)}${two(day)}${stream.digits(8)}`.slice(0, digits.length);
    if (digits.length > 2) return String(year).padStart(digits.length, "0");
    return [two(day), two(month), two(year % 100)][Math.min(2, short++)] ?? two(day);
  });
}

function nameLike(length: number, stream: Stream): string {
  let text = "";
  while (text.length < Math.max(3, length)) text += text.length % 2 === 0 ? stream.of(CONSONANTS) : stream.of(VOWELS);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Digits for digits and letters for letters; everything else stays. */
function shaped(original: string, stream: Stream): string {
  return original.replaceAll(/[\p{L}\d]/gu, (char) => {
    if (/\d/.test(char)) return stream.digits(1);
    const letter = stream.of(LETTERS);
    return char === char.toLowerCase() ? letter : letter.toUpperCase();
  });
}

/** A value that the detectors take for a real one, or whose check digit is right, may belong to a person. */
function unfound(kind: Kind, candidate: string): string | undefined {
  const scheme = SCHEMES.find(({ id }) => id === kind.id);
  const isPossible = scheme?.isUnchecked !== true && scheme?.check(compactOf(candidate, 0, candidate.length), true);
  return isPossible !== true && scanText(candidate, { classes: SEEN_CLASSES }).length === 0 ? candidate : undefined;
}
