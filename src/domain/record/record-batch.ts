/** Finished requests for ingest: the JSON text of each record, in UTF-8, at its bounds in `bytes`. */
export type RecordBatch = {
  readonly bytes: Uint8Array;
  /** Start and end offset of each record, alternating. */
  readonly bounds: Uint32Array;
};

/** A batch of this many records has others waiting behind it, or is part of a replay. */
export const FULL_BATCH_RECORDS = 2000;

/**
 * Stores finished requests idempotently: a record that is sent again changes nothing. The sink owns the bytes of a batch until
 * the promise settles.
 */
export type RecordSink = { ingestBatch(batch: RecordBatch): Promise<void> };

/** The store rejects this record permanently; other failures are transient. */
export class RecordRejectedError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "RecordRejectedError";
  }
}

export function encodeBatch(texts: readonly string[]): RecordBatch {
  const parts = texts.map((text) => Buffer.from(text));
  const bounds = new Uint32Array(2 * parts.length);
  let offset = 0;
  parts.forEach((part, index) => {
    bounds[2 * index] = offset;
    offset += part.length;
    bounds[2 * index + 1] = offset;
  });
  return { bytes: Buffer.concat(parts), bounds };
}

export function decodeBatch({ bytes, bounds }: RecordBatch): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let offset = 0; offset < bounds.length; offset += 2)
    texts.push(buffer.toString("utf8", bounds[offset], bounds[offset + 1]));
  return texts;
}
