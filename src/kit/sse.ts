import { StringDecoder } from "node:string_decoder";

/** One server-sent event: its joined data lines and its name. */
export type SseFrame = { readonly event: string | null; readonly data: string };

/** An event of a stream is longer than its reader accepts. */
export class OversizedEventError extends Error {
  readonly unit: "characters" | "bytes";

  constructor(max: number, unit: "characters" | "bytes") {
    super(`an event longer than ${max} ${unit}`);
    this.name = "OversizedEvent";
    this.unit = unit;
  }
}

const BYTE_ORDER_MARK = "\uFEFF";
const LINE_BREAK = 10;
const WIDE = /[^\0-\xff]/;

/** Parses a byte stream that may be split anywhere. Comments are dropped. Throws above `maxChars`. */
export class SseReader {
  readonly #decoder = new StringDecoder("utf8");
  readonly #maxChars: number;
  #text = "";
  #hasStarted = false;
  #endedInCarriageReturn = false;
  #endedInNewline = false;
  #isWide = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** Length of the unfinished event. */
  get pendingChars(): number {
    return this.#text.length;
  }

  /** Memory of one character: V8 keeps a text with characters beyond Latin-1 in two bytes each. */
  get charBytes(): 1 | 2 {
    return this.#isWide ? 2 : 1;
  }

  push(chunk: Buffer): SseFrame[] {
    const text = this.#decoder.write(chunk);
    // Text as long as its bytes is ASCII, apart from a first character whose bytes began in the chunk before.
    if (!this.#isWide && (text.length !== chunk.length || text.charCodeAt(0) > 0xff)) this.#isWide = WIDE.test(text);
    return this.#take(text);
  }

  /** Also returns an event that lacks its closing blank line. */
  end(): SseFrame[] {
    return this.#take(`${this.#decoder.end()}\n\n`);
  }

  #take(decoded: string): SseFrame[] {
    let text = decoded;
    if (!this.#hasStarted && text !== "") {
      this.#hasStarted = true;
      if (text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
    }
    if (this.#endedInCarriageReturn && text !== "") {
      this.#endedInCarriageReturn = false;
      if (text.startsWith("\n")) text = text.slice(1);
    }
    if (text.includes("\r")) {
      this.#endedInCarriageReturn = text.endsWith("\r");
      text = text.replace(/\r\n?/g, "\n");
    }
    // Only the new text can close an event: searching the whole buffer for each chunk would take quadratic time.
    const closes = text.includes("\n\n") || (this.#endedInNewline && text.startsWith("\n"));
    if (text !== "") this.#endedInNewline = text.endsWith("\n");
    this.#text += text;
    if (this.#text.length > this.#maxChars && !closes) throw new OversizedEventError(this.#maxChars, "characters");
    const frames: SseFrame[] = [];
    if (!closes) return frames;
    const from = parseBlocks(this.#text, frames);
    if (from > 0) this.#text = this.#text.slice(from);
    if (this.#text.length > this.#maxChars) throw new OversizedEventError(this.#maxChars, "characters");
    return frames;
  }
}

/** Appends all complete events and returns the offset of the next one. */
function parseBlocks(text: string, frames: SseFrame[]): number {
  let from = 0;
  for (;;) {
    const lineEnd = text.indexOf("\n", from);
    // Most events are a single data line; this is faster than a search for two line breaks.
    if (lineEnd >= 0 && text.charCodeAt(lineEnd + 1) === LINE_BREAK && text.startsWith("data: ", from)) {
      frames.push({ event: null, data: text.slice(from + 6, lineEnd) });
      from = lineEnd + 2;
      continue;
    }
    const end = lineEnd < 0 ? -1 : text.indexOf("\n\n", lineEnd);
    if (end < 0) return from;
    const block = text.slice(from, end);
    const frame = parseTwoLineBlock(block) ?? parseBlock(block);
    if (frame !== undefined) frames.push(frame);
    from = end + 2;
  }
}

/** The common form of a named event: an event line, then a data line. */
function parseTwoLineBlock(block: string): SseFrame | undefined {
  const end = block.indexOf("\n");
  if (end <= 7 || !block.startsWith("event: ") || !block.startsWith("data: ", end + 1)) return undefined;
  return block.includes("\n", end + 1) ? undefined : { event: block.slice(7, end), data: block.slice(end + 7) };
}

function parseBlock(block: string): SseFrame | undefined {
  let event: string | null = null;
  let data: string | undefined;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data = data === undefined ? rest : `${data}\n${rest}`;
    else if (field === "event") event = rest === "" ? null : rest;
  }
  return data === undefined ? undefined : { event, data };
}
