/** How a stream is sent: as server-sent events with `alt=sse`, otherwise as one JSON array. */
export type StreamFraming = "sse" | "array";

export const CONTENT_TYPES: Readonly<Record<StreamFraming, string>> = {
  sse: "text/event-stream; charset=utf-8",
  array: "application/json; charset=utf-8",
};

/** A blank line: clients of this format fail at comments and events without data. In an array it is white space. */
export const KEEP_ALIVE = "\r\n";

/** Writes the elements of one stream. */
export class FramedStream {
  readonly #framing: StreamFraming;
  #hasBegun = false;

  constructor(framing: StreamFraming) {
    this.#framing = framing;
  }

  element(json: string): string {
    // Line breaks between the members of an answer would end the line of the event.
    if (this.#framing === "sse") return `data: ${json.includes("\n") ? json.replaceAll(/\r?\n/g, " ") : json}\r\n\r\n`;
    const before = this.#hasBegun ? ",\r\n" : "[";
    this.#hasBegun = true;
    return before + json;
  }

  end(): string {
    if (this.#framing === "sse") return "";
    return this.#hasBegun ? "\n]" : "[]";
  }

  /** The error is the last element of an array; as an event it would be read as a reply without candidates. */
  error(json: string): string {
    return this.#framing === "sse" ? json : `${this.element(json)}\n]`;
  }
}
