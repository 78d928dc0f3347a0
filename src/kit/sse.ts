import { StringDecoder } from "node:string_decoder";

/** One server-sent event: its data lines joined, and its name when it has one. */
export type SseFrame = { readonly event: string | null; readonly data: string };

export class SseOverflowError extends Error {
  constructor(maxChars: number) {
    super(`an event is longer than ${maxChars} characters`);
    this.name = "SseOverflow";
  }
}

const BYTE_ORDER_MARK = "\uFEFF";
const LINE_BREAK = 10;

/** Cuts a byte stream into events, wherever the chunks were split. Comments are dropped; the buffer has a cap. */
export class SseReader {
  readonly #decoder = new StringDecoder("utf8");
  readonly #maxChars: number;
  #text = "";
  #begun = false;
  #endedInCarriageReturn = false;
  #endedInNewline = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  push(chunk: Buffer): SseFrame[] {
    return this.#take(this.#decoder.write(chunk));
  }

  /** The stream is over; an event that lacks its closing blank line counts all the same. */
  end(): SseFrame[] {
    return this.#take(`${this.#decoder.end()}\n\n`);
  }

  #take(decoded: string): SseFrame[] {
    let text = decoded;
    if (!this.#begun && text !== "") {
      this.#begun = true;
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
    // Only what is new can close an event. Searching all of a long one again with every chunk would cost its square.
    const closes = text.includes("\n\n") || (this.#endedInNewline && text.startsWith("\n"));
    if (text !== "") this.#endedInNewline = text.endsWith("\n");
    this.#text += text;
    if (this.#text.length > this.#maxChars && !closes) throw new SseOverflowError(this.#maxChars);
    const frames: SseFrame[] = [];
    if (!closes) return frames;
    const from = parseBlocks(this.#text, frames);
    if (from > 0) this.#text = this.#text.slice(from);
    if (this.#text.length > this.#maxChars) throw new SseOverflowError(this.#maxChars);
    return frames;
  }
}

/** Adds the events that are whole, and answers where the next one begins. */
function parseBlocks(text: string, frames: SseFrame[]): number {
  let from = 0;
  for (;;) {
    const lineEnd = text.indexOf("\n", from);
    // Most events are one line of data: to look for two line breaks at once takes longer than for each.
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

/** The usual form of a named event: two lines, in this order. */
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
