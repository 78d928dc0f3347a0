import type { SlicedWork, TurnWork } from "./event-loop-turns.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { JsonSpan } from "./json-span.ts";

/** A computation that yields after each step with the work it did, and can go on in a later event-loop turn. */
export type WorkSteps<T> = Generator<TurnWork, T, void>;

/** The most work of one step. */
export const STEP_MAX: TurnWork = { chars: 16_384, values: 512 };

/** In the current event-loop turn: for short values. */
export function runAtOnce<T>(steps: WorkSteps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** In as many event-loop turns as the work needs; ends at the start of one. */
export async function runInSlices<T>(steps: WorkSteps<T>, work: SlicedWork): Promise<T> {
  for (;;) {
    if (!work.fits(STEP_MAX.chars, STEP_MAX.values)) await work.next();
    const step = steps.next();
    if (step.done === true) {
      await work.next();
      work.end();
      return step.value;
    }
    work.add(step.value.chars, step.value.values);
  }
}

/** Adds up small pieces of work until they make a step. */
export class StepMeter {
  #chars = 0;
  #values = 0;

  /** `chars` is at most a quarter of a step's. */
  add(chars: number): void {
    this.#chars += chars;
    this.#values += 1;
  }

  /** Another piece of work might exceed the step. */
  get isDue(): boolean {
    return this.#values >= STEP_MAX.values || this.#chars >= STEP_MAX.chars - PIECE_CHARS_MAX;
  }

  take(): TurnWork {
    const work = { chars: this.#chars, values: this.#values };
    this.#chars = 0;
    this.#values = 0;
    return work;
  }
}

/** Longer texts are read in pieces of this length. */
const PIECE_CHARS_MAX = STEP_MAX.chars / 4;

/** The end of a piece of a text from `at` on; a surrogate pair stays whole. */
export function pieceEnd(text: string, at: number, chars = PIECE_CHARS_MAX): number {
  const end = at + chars;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

/** `JSON.stringify` of parsed JSON, in steps. */
export function* stringifySteps(value: unknown): WorkSteps<string> {
  return yield* new JsonWriter().write(value);
}

class JsonWriter {
  readonly #meter = new StepMeter();

  *write(value: unknown): WorkSteps<string> {
    if (typeof value === "string") return yield* this.#string(value);
    if (value instanceof JsonSpan) return value.text;
    if (Array.isArray(value)) return yield* this.#list(value);
    return isJsonObject(value) && !JSON.isRawJSON(value) ? yield* this.#object(value) : this.#short(value);
  }

  *#list(list: readonly unknown[]): WorkSteps<string> {
    const items: string[] = [];
    for (const item of list) {
      items.push(isShort(item) ? this.#short(item) : yield* this.write(item));
      if (this.#meter.isDue) yield this.#meter.take();
    }
    return `[${items.join(",")}]`;
  }

  *#object(object: JsonObject): WorkSteps<string> {
    const members: string[] = [];
    for (const key in object) {
      const member = object[key];
      if (member === undefined) continue;
      members.push(`${this.#short(key)}:${isShort(member) ? this.#short(member) : yield* this.write(member)}`);
      if (this.#meter.isDue) yield this.#meter.take();
    }
    return `{${members.join(",")}}`;
  }

  #short(value: unknown): string {
    const text = JSON.stringify(value) ?? "null";
    this.#meter.add(text.length);
    return text;
  }

  *#string(value: string): WorkSteps<string> {
    let text = '"';
    for (let at = 0; at < value.length; ) {
      const end = pieceEnd(value, at);
      text += JSON.stringify(value.slice(at, end)).slice(1, -1);
      this.#meter.add(end - at);
      if (this.#meter.isDue) yield this.#meter.take();
      at = end;
    }
    return `${text}"`;
  }
}

const isShort = (value: unknown) =>
  typeof value === "string" ? value.length <= PIECE_CHARS_MAX : typeof value !== "object" || value === null;
