import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";
import type { WirePartialArg } from "../wire.ts";

type ArgumentValue = string | number | boolean | null | ArgumentValue[] | Map<string, ArgumentValue>;
type PathStep = string | number;

/** One step of a path: `.name`, `['name']`, `["name"]` or `[0]`. */
const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
const STEPS_MAX = 64;

/** Parses `$.places[0].name`; undefined if it is not a path. */
function parsePath(path: string): PathStep[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const steps: PathStep[] = [];
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

/** Builds arguments from values at JSON paths; long strings come in several fragments. */
export class ArgumentsBuilder {
  readonly #root = new Map<string, ArgumentValue>();
  /** Path of the string that continues in the next fragment. */
  #open: string | undefined;

  merge(args: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(args)) this.#root.set(key, toArgumentValue(value));
  }

  /** False if the path does not fit the structure. */
  add(piece: WirePartialArg): boolean {
    const steps = parsePath(piece.jsonPath);
    if (steps === undefined) return false;
    const goesOn = this.#open === piece.jsonPath;
    this.#open = piece.willContinue === true ? piece.jsonPath : undefined;
    const value = scalarOf(piece);
    // The last fragment of a string may be empty.
    if (value === undefined) return goesOn || setAtPath(this.#root, steps, () => "");
    return setAtPath(this.#root, steps, (before) =>
      goesOn && typeof before === "string" && typeof value === "string" ? before + value : value,
    );
  }

  toJson(text?: TextLimits): string {
    return stringifyArguments(toPlain(this.#root), text);
  }
}

function scalarOf(piece: WirePartialArg): ArgumentValue | undefined {
  return (
    piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? (piece.nullValue === undefined ? undefined : null)
  );
}

function setAtPath(
  root: Map<string, ArgumentValue>,
  steps: readonly PathStep[],
  set: (before: ArgumentValue | undefined) => ArgumentValue,
): boolean {
  let holder: ArgumentValue = root;
  for (const [depth, step] of steps.entries()) {
    const next = steps[depth + 1];
    const before: ArgumentValue | undefined = memberAt(holder, step);
    const value: ArgumentValue =
      next === undefined ? set(before) : (before ?? (typeof next === "number" ? [] : new Map<string, ArgumentValue>()));
    if (!setMember(holder, step, value)) return false;
    holder = value;
  }
  return true;
}

function memberAt(holder: ArgumentValue, step: PathStep): ArgumentValue | undefined {
  if (holder instanceof Map && typeof step === "string") return holder.get(step);
  return Array.isArray(holder) && typeof step === "number" ? holder[step] : undefined;
}

function setMember(holder: ArgumentValue, step: PathStep, value: ArgumentValue): boolean {
  if (holder instanceof Map && typeof step === "string") {
    holder.set(step, value);
    return true;
  }
  // Arrays grow only at the end, so that a large index cannot allocate a large array.
  if (!Array.isArray(holder) || typeof step !== "number" || step > holder.length) return false;
  holder[step] = value;
  return true;
}

function toArgumentValue(value: unknown): ArgumentValue {
  if (Array.isArray(value)) return value.map(toArgumentValue);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([key, inner]) => [key, toArgumentValue(inner)]));
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function toPlain(value: ArgumentValue): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  return value instanceof Map ? Object.fromEntries([...value].map(([key, inner]) => [key, toPlain(inner)])) : value;
}
