/** Decodes base64 that arrives in pieces, split anywhere. */
class Base64Decoder {
  #remainder = "";

  push(text: string): Buffer {
    const all = this.#remainder + text;
    const whole = all.length - (all.length % 4);
    this.#remainder = all.slice(whole);
    return Buffer.from(all.slice(0, whole), "base64");
  }

  end(): Buffer {
    const last = Buffer.from(this.#remainder, "base64");
    this.#remainder = "";
    return last;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const NAME_MAX_CHARS = 64;
const WHITESPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Extracts base64 values of one field from a JSON text while it arrives, so audio flows before the response is
 * complete. The rest of the text is retained, with an empty string in place of each value.
 */
export class Base64FieldExtractor {
  readonly #field: string;
  readonly #restMax: number;
  readonly #decoder = new Base64Decoder();
  #state: "between" | "word" | "value" = "between";
  #escape: string | undefined;
  #string = "";
  #isTargetValueNext = false;
  #rest = "";

  constructor(field: string, restMax: number) {
    this.#field = field;
    this.#restMax = restMax;
  }

  /** The JSON text without the field's values; undefined when it exceeds the limit. */
  get rest(): string | undefined {
    if (this.#rest.length > this.#restMax) return undefined;
    return Buffer.from(this.#rest, "latin1").toString("utf8");
  }

  push(chunk: Buffer): Buffer {
    const decoded: Buffer[] = [];
    let at = 0;
    while (at < chunk.length)
      at = this.#state === "value" ? this.#readValue(chunk, at, decoded) : this.#readRest(chunk, at);
    const [only] = decoded;
    return decoded.length === 1 && only !== undefined ? only : Buffer.concat(decoded);
  }

  #readRest(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.#rest.length <= this.#restMax) this.#rest += String.fromCharCode(byte);
    if (this.#state === "word") this.#readString(byte);
    else if (byte === QUOTE) {
      this.#state = this.#isTargetValueNext ? "value" : "word";
      this.#isTargetValueNext = false;
      this.#string = "";
    } else if (!WHITESPACE.has(byte)) this.#isTargetValueNext = byte === COLON && this.#string === this.#field;
    return at + 1;
  }

  #readString(byte: number): void {
    if (this.#escape !== undefined) this.#escape = undefined;
    else if (byte === BACKSLASH) this.#escape = "";
    else if (byte === QUOTE) {
      this.#state = "between";
      return;
    }
    if (this.#string.length < NAME_MAX_CHARS) this.#string += String.fromCharCode(byte);
  }

  #readValue(chunk: Buffer, from: number, decoded: Buffer[]): number {
    if (this.#escape !== undefined) return this.#readEscape(chunk, from, decoded);
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote < 0 ? chunk.length : quote;
    const slash = chunk.subarray(from, end).indexOf(BACKSLASH);
    const to = slash < 0 ? end : from + slash;
    if (to > from) decoded.push(this.#decoder.push(chunk.toString("latin1", from, to)));
    if (slash >= 0) {
      this.#escape = "";
      return to + 1;
    }
    if (quote < 0) return to;
    decoded.push(this.#decoder.end());
    this.#state = "between";
    this.#string = "";
    this.#rest += '"';
    return to + 1;
  }

  /** JSON writers may escape the slash, or any character that is special in HTML. */
  #readEscape(chunk: Buffer, at: number, decoded: Buffer[]): number {
    const text = `${this.#escape ?? ""}${chunk.toString("latin1", at, at + 1)}`;
    const isOver = text.startsWith("u") ? text.length === 5 : true;
    this.#escape = isOver ? undefined : text;
    if (!isOver) return at + 1;
    const character = text === "/" ? "/" : String.fromCharCode(Number.parseInt(text.slice(1), 16));
    if (/[\w+/=-]/.test(character) && (text === "/" || text.length === 5)) decoded.push(this.#decoder.push(character));
    return at + 1;
  }
}
