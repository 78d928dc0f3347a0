import { type Fault, invalidValue, unknownField } from "../../contract/faults.ts";
import { invalidJson } from "../request-input.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;
const SPACE_MAX = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const KEY_BYTES_MAX = 64;
/** Inside the list of requests. */
const LIST_DEPTH = 2;

type Expectation = "document" | "key" | "colon" | "list" | "item" | "item_end" | "member_end" | "nothing";

/**
 * Cuts `{"requests":[…]}` into its items as its bytes arrive, without building the document. Each item is one JSON object
 * on one line; whether it is valid JSON inside is checked by its reader.
 */
export class RequestScanner {
  readonly #itemBytesMax: number;
  #expected: Expectation = "document";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isInItem = false;
  #item: Buffer[] = [];
  #itemBytes = 0;
  #key: number[] = [];
  #count = 0;

  constructor(itemBytesMax: number) {
    this.#itemBytesMax = itemBytesMax;
  }

  /** The items that are complete, each with its line break. Throws a fault for any other document. */
  add(bytes: Buffer): Buffer[] {
    const items: Buffer[] = [];
    let itemStart = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.#isInItem) {
        if (!this.#endsItem(byte)) continue;
        this.#append(bytes.subarray(itemStart, at + 1));
        items.push(this.#cut());
      } else if (this.#startsItem(byte)) itemStart = at;
      else this.#readOutside(byte);
    }
    if (this.#isInItem) this.#append(bytes.subarray(itemStart));
    return items;
  }

  /** Throws when the document is not complete. */
  end(): void {
    if (this.#expected === "document") throw invalidValue("requests", "is required");
    if (this.#expected !== "nothing") throw invalidJson("the document ends too early");
    if (this.#count === 0) throw invalidValue("requests", "must have at least 1 item");
  }

  #endsItem(byte: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
      return false;
    }
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#depth -= 1;
      return this.#depth === LIST_DEPTH;
    }
    return false;
  }

  #startsItem(byte: number): boolean {
    if (this.#expected !== "item" || byte !== OPEN_BRACE) return false;
    this.#isInItem = true;
    this.#depth = LIST_DEPTH + 1;
    return true;
  }

  #append(bytes: Buffer): void {
    this.#item.push(bytes);
    this.#itemBytes += bytes.length;
    if (this.#itemBytes > this.#itemBytesMax)
      throw invalidValue(`requests.${this.#count}`, `must have at most ${this.#itemBytesMax} bytes`);
  }

  #cut(): Buffer {
    const item = Buffer.concat([...this.#item, Buffer.of(LINE_FEED)]);
    // Line breaks between tokens; inside of strings they are not JSON.
    for (let at = 0; at < item.length - 1; at += 1)
      if (item[at] === LINE_FEED || item[at] === CARRIAGE_RETURN) item[at] = SPACE_MAX;
    this.#item = [];
    this.#itemBytes = 0;
    this.#isInItem = false;
    this.#count += 1;
    this.#expected = "item_end";
    return item;
  }

  #readOutside(byte: number): void {
    if (this.#isInString) {
      this.#readKey(byte);
      return;
    }
    if (byte <= SPACE_MAX) return;
    const next = this.#nextExpectation(byte);
    if (next instanceof Error) throw next;
    this.#expected = next;
  }

  #readKey(byte: number): void {
    if (byte !== QUOTE) {
      if (this.#key.length < KEY_BYTES_MAX) this.#key.push(byte);
      return;
    }
    const key = Buffer.from(this.#key).toString();
    this.#key = [];
    this.#isInString = false;
    if (key !== "requests") throw unknownField(key);
    if (this.#depth > 1) throw invalidJson("a key occurs twice");
    this.#depth = LIST_DEPTH;
    this.#expected = "colon";
  }

  #nextExpectation(byte: number): Expectation | Fault {
    switch (this.#expected) {
      case "document":
        return byte === OPEN_BRACE ? "key" : invalidJson("the body must be a JSON object");
      case "key":
        if (byte !== QUOTE) return invalidValue("requests", "is required");
        this.#isInString = true;
        return "key";
      case "colon":
        return byte === COLON ? "list" : invalidJson("a colon is missing");
      case "list":
        return byte === OPEN_BRACKET ? "item" : invalidValue("requests", "must be a list");
      case "item":
        if (byte === CLOSE_BRACKET && this.#count === 0) return "member_end";
        return invalidValue(`requests.${this.#count}`, "must be an object");
      case "item_end":
        if (byte === COMMA) return "item";
        return byte === CLOSE_BRACKET ? "member_end" : invalidJson("a comma is missing");
      case "member_end":
        if (byte === COMMA) return "key";
        return byte === CLOSE_BRACE ? "nothing" : invalidJson("the document does not end");
      default:
        return invalidJson("there is more after its end");
    }
  }
}
