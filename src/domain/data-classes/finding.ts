import type { Context } from "./context.ts";
import type { Kind } from "./kinds.ts";

/** A place in a text, `end` exclusive, in UTF-16 units as JavaScript counts. */
export type Finding = { readonly kind: Kind; readonly start: number; readonly end: number };

/** How sure a detector is; where findings of one class overlap, the higher one stays. */
export const RANK = {
  secret: 1000,
  checked: 900,
  /** Less by the distance to the context word. */
  inContext: 800,
  phone: 700,
  shaped: 600,
  bare: 500,
  /** By words and habits of writing. */
  worded: 300,
} as const;

/** What matchers read and where they put what they find. */
export type ScannedText = {
  readonly text: string;
  readonly context: Context;
  add(kind: Kind, start: number, end: number, rank: number): void;
};
