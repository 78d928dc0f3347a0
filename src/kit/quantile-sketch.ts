/**
 * A DDSketch: counts in logarithmic buckets, so that every quantile has a relative error of at most 1 %. Two sketches are
 * merged by adding their counts, which loses nothing, whichever process counted them.
 */
const RELATIVE_ERROR = 0.01;
const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR);
const LOG_GAMMA = Math.log(GAMMA);
/** Smaller values (and zero) share the lowest bucket. Values are milliseconds or tokens per second. */
const VALUE_MIN = 0.01;
/** About eleven days in milliseconds. */
const VALUE_MAX = 1e9;

/** Counts by bucket. A count is negative only in a difference that is still to be merged. */
export type QuantileSketch = Map<number, number>;

export function addToSketch(sketch: QuantileSketch, value: number, count = 1): void {
  const clamped = Math.min(Math.max(value, VALUE_MIN), VALUE_MAX);
  const bucket = Math.ceil(Math.log(clamped) / LOG_GAMMA);
  sketch.set(bucket, (sketch.get(bucket) ?? 0) + count);
}

export function mergeSketch(into: QuantileSketch, other: ReadonlyMap<number, number>): void {
  for (const [bucket, count] of other) into.set(bucket, (into.get(bucket) ?? 0) + count);
}

/** How many values the sketch holds. */
export function sketchCount(sketch: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const count of sketch.values()) total += Math.max(0, count);
  return total;
}

/** The values at the quantiles (0 to 1, ascending), by nearest rank; undefined for an empty sketch. */
export function sketchQuantiles(
  sketch: ReadonlyMap<number, number>,
  quantiles: readonly number[],
): readonly number[] | undefined {
  const total = sketchCount(sketch);
  if (total === 0) return undefined;
  const buckets = [...sketch].filter(([, count]) => count > 0).toSorted(([a], [b]) => a - b);
  let at = 0;
  let seen = buckets[0]?.[1] ?? 0;
  return quantiles.map((quantile) => {
    const rank = Math.max(1, Math.ceil(quantile * total));
    while (seen < rank && at < buckets.length - 1) {
      at += 1;
      seen += buckets[at]?.[1] ?? 0;
    }
    return bucketValue(buckets[at]?.[0] ?? 0);
  });
}

/** The value whose relative distance to both ends of the bucket is the same. */
function bucketValue(bucket: number): number {
  return (2 * GAMMA ** bucket) / (GAMMA + 1);
}

const FORMAT_VERSION = 1;
/** A varint of a safe integer takes at most eight bytes. */
const VARINT_BYTES_MAX = 8;

/**
 * Several sketches as bytes: per sketch the number of buckets, then the distance to the last bucket and the count. Null when
 * all are empty.
 */
export function encodeSketches(sketches: readonly ReadonlyMap<number, number>[]): Buffer | null {
  return encodePairs(sketches.map(sortedPairs));
}

/** Bucket and count in turn, by bucket; buckets without a count are left out. */
function sortedPairs(sketch: ReadonlyMap<number, number>): number[] {
  const pairs: number[] = [];
  const buckets = sketch.size > 1 ? [...sketch.keys()].sort((one, other) => one - other) : sketch.keys();
  for (const bucket of buckets) {
    const count = sketch.get(bucket) ?? 0;
    if (count !== 0) pairs.push(bucket, count);
  }
  return pairs;
}

function encodePairs(sketches: readonly (readonly number[])[]): Buffer | null {
  const numbers = sketches.reduce((sum, pairs) => sum + pairs.length, 0);
  if (numbers === 0) return null;
  const bytes = Buffer.allocUnsafe(1 + (numbers + sketches.length) * VARINT_BYTES_MAX);
  let at = bytes.writeUInt8(FORMAT_VERSION);
  for (const pairs of sketches) {
    at = writeVarint(bytes, at, pairs.length / 2);
    let last = 0;
    for (let index = 0; index < pairs.length; index += 2) {
      const bucket = pairs[index] ?? 0;
      at = writeVarint(bytes, at, zigzag(bucket - last));
      at = writeVarint(bytes, at, zigzag(pairs[index + 1] ?? 0));
      last = bucket;
    }
  }
  return bytes.subarray(0, at);
}

/** The pairs of every sketch in the bytes. */
function decodePairs(bytes: Uint8Array): number[][] {
  const sketches: number[][] = [];
  const count = visitPairs(bytes, (index, bucket, times) => {
    sketches[index] ??= [];
    sketches[index].push(bucket, times);
  });
  return Array.from({ length: count }, (_, index) => sketches[index] ?? []);
}

/** Returns the number of sketches. A report reads tens of thousands of them, so nothing is allocated on the way. */
function visitPairs(bytes: Uint8Array, visit: (index: number, bucket: number, times: number) => void): number {
  if (bytes[0] !== FORMAT_VERSION) throw new Error(`sketches of version ${bytes[0]} are not supported`);
  let at = 1;
  const read = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  let index = 0;
  for (; at < bytes.length; index += 1) {
    let bucket = 0;
    for (let left = read(); left > 0; left -= 1) {
      bucket += unzigzag(read());
      visit(index, bucket, unzigzag(read()));
    }
  }
  return index;
}

/** Adds what `encodeSketches` wrote to the sketches; sketches that the bytes do not have stay as they are. */
export function mergeEncoded(into: readonly QuantileSketch[], bytes: Uint8Array): void {
  visitPairs(bytes, (index, bucket, times) => {
    const sketch = into[index];
    sketch?.set(bucket, (sketch.get(bucket) ?? 0) + times);
  });
}

export function emptySketches(count: number): readonly QuantileSketch[] {
  return Array.from({ length: count }, () => new Map());
}

/** For an upsert: the sum of two columns with the same number of sketches, either of which may be null. */
export function mergeColumns(one: Uint8Array | null, other: Uint8Array | null): Uint8Array | null {
  if (one === null || other === null) return one ?? other;
  const [sketches, others] = [decodePairs(one), decodePairs(other)];
  return encodePairs(sketches.map((pairs, index) => mergePairs(pairs, others[index] ?? [])));
}

/** Both are sorted, and so is the sum. */
function mergePairs(one: readonly number[], other: readonly number[]): readonly number[] {
  if (other.length === 0) return one;
  if (one.length === 0) return other;
  const merged: number[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const [a, b] = [one[i] ?? Number.POSITIVE_INFINITY, other[j] ?? Number.POSITIVE_INFINITY];
    const count = (a <= b ? (one[i + 1] ?? 0) : 0) + (b <= a ? (other[j + 1] ?? 0) : 0);
    if (count !== 0) merged.push(Math.min(a, b), count);
    if (a <= b) i += 2;
    if (b <= a) j += 2;
  }
  return merged;
}

/** The same as a function of an SQL engine, whose values have no type. */
export function mergeSqlColumns(one: unknown, other: unknown): Uint8Array | null {
  const bytesOrNull = (value: unknown) => (value instanceof Uint8Array ? value : null);
  return mergeColumns(bytesOrNull(one), bytesOrNull(other));
}

const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);
const unzigzag = (value: number) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);

/** Counts are exact up to 2^53, so no bit operators. Returns where the next one goes. */
function writeVarint(bytes: Buffer, at: number, value: number): number {
  let rest = value;
  let index = at;
  for (; rest >= 128; index += 1) {
    bytes[index] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  bytes[index] = rest;
  return index + 1;
}
