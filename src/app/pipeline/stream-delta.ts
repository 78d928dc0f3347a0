import type { JsonObject } from "../../kit/json.ts";

/** A piece of text in an event of a stream. */
export type Delta = {
  /** The text that it continues. */
  readonly key: string;
  /** Texts of one group follow each other: a new one ends those before it. */
  readonly group: string;
  readonly form: "text" | "json" | undefined;
  readonly text: string;
  /** The event with another text at this place. */
  with(event: JsonObject, text: string): JsonObject;
  /** An event of its own for what was held back. */
  alone(event: JsonObject, text: string): JsonObject;
};

/** One event as it is written, with what precedes its data. */
export type WrittenEvent = { readonly head: string; readonly data: string; readonly block: string };

/** How the events of a stream are written. */
export type StreamFormat = {
  /** The events in a piece of a stream, and what ends the stream after them. */
  read(text: string): { readonly events: readonly WrittenEvent[]; readonly end: string };
  write(head: string, data: string): string;
};
