import { isJsonObject } from "./json.ts";

/** Arrays with more items than this are sampled down to it. */
const SAMPLE_SIZE = 256;
const LEADING_SIZE = SAMPLE_SIZE / 2;

type JsonPath = readonly PropertyKey[];

/** A JSON value whose long arrays hold only a random sample of their items, which a client cannot predict. */
export type JsonSample = {
  readonly value: unknown;
  /** Maps a path of the sample to the original value. `isInside`: the path leads into a sampled array. */
  toOriginalPath(path: JsonPath): { readonly path: JsonPath; readonly isInside: boolean };
};

/** Undefined when no array is long. `random` returns numbers from 0 up to 1. */
export function sampleLongArrays(value: unknown, random: () => number): JsonSample | undefined {
  if (!hasLongArray(value)) return undefined;
  const indexes = new Map<unknown, readonly number[]>();
  const sample = sampleArrays(value, random, indexes);
  return { value: sample, toOriginalPath: (path) => originalPath(sample, path, indexes) };
}

function hasLongArray(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > SAMPLE_SIZE || value.some(hasLongArray);
  return isJsonObject(value) && Object.values(value).some(hasLongArray);
}

/** `indexes` receives, for each sampled array, the original index of every item. */
function sampleArrays(value: unknown, random: () => number, indexes: Map<unknown, readonly number[]>): unknown {
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sampleArrays(inner, random, indexes)]));
  if (!Array.isArray(value)) return value;
  if (value.length <= SAMPLE_SIZE) return value.map((item) => sampleArrays(item, random, indexes));
  const sampled = sampleIndexes(value.length, random);
  const items = sampled.map((index) => sampleArrays(value[index], random, indexes));
  indexes.set(items, sampled);
  return items;
}

/** The leading items, because errors name the first invalid one; the rest is divided evenly, with one item of each part. */
function sampleIndexes(length: number, random: () => number): readonly number[] {
  const partSize = (length - LEADING_SIZE) / (SAMPLE_SIZE - LEADING_SIZE);
  return Array.from({ length: SAMPLE_SIZE }, (_, index) =>
    index < LEADING_SIZE ? index : LEADING_SIZE + Math.floor((index - LEADING_SIZE + random()) * partSize),
  );
}

function originalPath(sample: unknown, path: JsonPath, indexes: ReadonlyMap<unknown, readonly number[]>) {
  let current = sample;
  let isInside = false;
  const original = path.map((key) => {
    const sampled = indexes.get(current);
    current = Array.isArray(current) ? current[Number(key)] : isJsonObject(current) ? current[String(key)] : undefined;
    isInside ||= sampled !== undefined;
    return sampled?.[Number(key)] ?? key;
  });
  return { path: original, isInside };
}
