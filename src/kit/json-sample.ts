import { isJsonObject } from "./json.ts";

/** A list is long from here on, and so many of its items stand for all. */
const SAMPLE_SIZE = 256;
const LEADING_SIZE = SAMPLE_SIZE / 2;

type JsonPath = readonly PropertyKey[];

/** A body in which every long list has some of its items, half of them drawn by lot: nobody knows which will be looked at. */
export type JsonSample = {
  readonly value: unknown;
  /** A path in it as one in the whole body, and whether it leads into a long list. */
  toOriginalPath(path: JsonPath): { readonly path: JsonPath; readonly isInside: boolean };
};

/** Undefined when no list is long. */
export function sampleLongArrays(value: unknown): JsonSample | undefined {
  if (!hasLongArray(value)) return undefined;
  const places = new Map<unknown, readonly number[]>();
  const some = sampleArrays(value, places);
  return { value: some, toOriginalPath: (path) => originalPath(some, path, places) };
}

function hasLongArray(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > SAMPLE_SIZE || value.some(hasLongArray);
  return isJsonObject(value) && Object.values(value).some(hasLongArray);
}

function sampleArrays(value: unknown, places: Map<unknown, readonly number[]>): unknown {
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sampleArrays(inner, places)]));
  if (!Array.isArray(value)) return value;
  if (value.length <= SAMPLE_SIZE) return value.map((item) => sampleArrays(item, places));
  const drawn = sampleIndexes(value.length);
  const items = drawn.map((at) => sampleArrays(value[at], places));
  places.set(items, drawn);
  return items;
}

/** The first ones, since the first that is wrong is the one to name; of the rest one of each stretch. */
function sampleIndexes(length: number): readonly number[] {
  const stretch = (length - LEADING_SIZE) / (SAMPLE_SIZE - LEADING_SIZE);
  return Array.from({ length: SAMPLE_SIZE }, (_, nth) =>
    nth < LEADING_SIZE ? nth : LEADING_SIZE + Math.floor((nth - LEADING_SIZE + Math.random()) * stretch),
  );
}

function originalPath(some: unknown, path: JsonPath, places: ReadonlyMap<unknown, readonly number[]>) {
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
