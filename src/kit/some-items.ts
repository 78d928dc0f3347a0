import { isJsonObject } from "./json.ts";

/** A list is long from here on, and so many of its items stand for all. */
const SOME = 256;
const FIRST = SOME / 2;

type Path = readonly PropertyKey[];

/** A body in which every long list has some of its items, half of them drawn by lot: nobody knows which will be looked at. */
export type SomeOf = {
  readonly value: unknown;
  /** A path in it as one in the whole body, and whether it leads into a long list. */
  inWhole(path: Path): { readonly path: Path; readonly isInside: boolean };
};

/** Undefined when no list is long. */
export function someOf(value: unknown): SomeOf | undefined {
  if (!hasLongList(value)) return undefined;
  const places = new Map<unknown, readonly number[]>();
  const some = shortened(value, places);
  return { value: some, inWhole: (path) => pathInWhole(some, path, places) };
}

function hasLongList(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > SOME || value.some(hasLongList);
  return isJsonObject(value) && Object.values(value).some(hasLongList);
}

function shortened(value: unknown, places: Map<unknown, readonly number[]>): unknown {
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner, places)]));
  if (!Array.isArray(value)) return value;
  if (value.length <= SOME) return value.map((item) => shortened(item, places));
  const drawn = drawnFrom(value.length);
  const items = drawn.map((at) => shortened(value[at], places));
  places.set(items, drawn);
  return items;
}

/** The first ones, since the first that is wrong is the one to name; of the rest one of each stretch. */
function drawnFrom(length: number): readonly number[] {
  const stretch = (length - FIRST) / (SOME - FIRST);
  return Array.from({ length: SOME }, (_, nth) =>
    nth < FIRST ? nth : FIRST + Math.floor((nth - FIRST + Math.random()) * stretch),
  );
}

function pathInWhole(some: unknown, path: Path, places: ReadonlyMap<unknown, readonly number[]>) {
  let at = some;
  let isInside = false;
  const whole = path.map((key) => {
    const drawn = places.get(at);
    at = Array.isArray(at) ? at[Number(key)] : isJsonObject(at) ? at[String(key)] : undefined;
    isInside ||= drawn !== undefined;
    return drawn?.[Number(key)] ?? key;
  });
  return { path: whole, isInside };
}
