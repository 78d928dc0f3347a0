import { REQUEST_SKETCHES } from "../../../domain/record/usage-sums.ts";
import { emptySketches, encodeSketches, mergeEncoded, type QuantileSketch } from "../../../kit/quantile-sketch.ts";

const LENGTH_BYTES = 4;

/** Merges encoded sketches, each with its length before it, as the aggregates of both engines return them. */
export function mergeFrames(into: readonly QuantileSketch[], bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint32(at);
    mergeEncoded(into, bytes.subarray(from, at));
  }
}

/** The state of the aggregate. Its type must be one of SQL, although the engine only hands it on. */
class MergedSketches extends Uint8Array {
  readonly sketches = emptySketches(REQUEST_SKETCHES.length);
}

/** A SQL aggregate for an engine that runs in this process: one frame with all sketches of a group. */
export const SKETCH_AGGREGATE = {
  start: () => new MergedSketches(),
  step(merged: MergedSketches, bytes: unknown) {
    if (bytes instanceof Uint8Array) mergeEncoded(merged.sketches, bytes);
    return merged;
  },
  result({ sketches }: MergedSketches): Uint8Array | null {
    const bytes = encodeSketches(sketches);
    if (bytes === null) return null;
    const framed = Buffer.allocUnsafe(LENGTH_BYTES + bytes.length);
    framed.writeUInt32BE(bytes.length);
    framed.set(bytes, LENGTH_BYTES);
    return framed;
  },
};
