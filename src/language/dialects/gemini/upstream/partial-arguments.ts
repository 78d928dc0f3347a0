import type { WirePartialArg } from "../wire.ts";

type Value = string | number | boolean | null | Value[] | Map<string, Value>;
type Step = string | number;

/** One step of a path: `.name`, `['name']`, `["name"]` or `[0]`. */
const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
const STEPS_MAX = 64;

/** `$.places[0].name` as its steps; undefined when it is no path. */
function stepsOf(path: string): Step[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const steps: Step[] = [];
  let at = 1;
  while (at < path.length) {
    STEP.lastIndex = at;
    const match = STEP.exec(path);
    if (match === null || steps.length === STEPS_MAX) return undefined;
    const [whole, name, index, single, double] = match;
    steps.push(index === undefined ? (name ?? (single ?? double ?? "").replace(/\\(.)/g, "$1")) : Number(index));
    at += whole.length;
  }
  return steps.length === 0 ? undefined : steps;
}

/** Arguments that come as values at paths, a long string in several pieces. */
export class ArgumentsBuilder {
  readonly #root = new Map<string, Value>();
  /** The path whose string is not complete yet. */
  #open: string | undefined;

  /** Whole arguments that came along with the pieces. */
  merge(args: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(args)) this.#root.set(key, held(value));
  }

  /** False when the piece cannot be put anywhere. */
  add(piece: WirePartialArg): boolean {
    const steps = stepsOf(piece.jsonPath);
    if (steps === undefined) return false;
    const goesOn = this.#open === piece.jsonPath;
    this.#open = piece.willContinue === true ? piece.jsonPath : undefined;
    const value = scalarOf(piece);
    // The last piece of a string may carry nothing but the news that it is over.
    if (value === undefined) return goesOn || put(this.#root, steps, () => "");
    return put(this.#root, steps, (before) =>
      goesOn && typeof before === "string" && typeof value === "string" ? before + value : value,
    );
  }

  toJson(): string {
    return JSON.stringify(plain(this.#root));
  }
}

function scalarOf(piece: WirePartialArg): Value | undefined {
  return (
    piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? (piece.nullValue === undefined ? undefined : null)
  );
}

/** Walks to the place, makes what is missing on the way, and sets it. */
function put(root: Map<string, Value>, steps: readonly Step[], set: (before: Value | undefined) => Value): boolean {
  let holder: Value = root;
  for (const [depth, step] of steps.entries()) {
    const next = steps[depth + 1];
    const before: Value | undefined = at(holder, step);
    const value: Value =
      next === undefined ? set(before) : (before ?? (typeof next === "number" ? [] : new Map<string, Value>()));
    if (!place(holder, step, value)) return false;
    holder = value;
  }
  return true;
}

function at(holder: Value, step: Step): Value | undefined {
  if (holder instanceof Map && typeof step === "string") return holder.get(step);
  return Array.isArray(holder) && typeof step === "number" ? holder[step] : undefined;
}

function place(holder: Value, step: Step, value: Value): boolean {
  if (holder instanceof Map && typeof step === "string") {
    holder.set(step, value);
    return true;
  }
  // A list grows at its end only: a large index in an answer must not make a large list here.
  if (!Array.isArray(holder) || typeof step !== "number" || step > holder.length) return false;
  holder[step] = value;
  return true;
}

function held(value: unknown): Value {
  if (Array.isArray(value)) return value.map(held);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([key, inner]) => [key, held(inner)]));
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)])) : value;
}
