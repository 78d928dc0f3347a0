/** Finished requests on their way into SQL: the JSON text of each record, in UTF-8, somewhere in `bytes`. */
export type RecordBatch = {
  readonly bytes: Uint8Array;
  /** Where each record begins and where it ends: two numbers for each. */
  readonly bounds: Uint32Array;
};

/**
 * Where finished requests go, every one at most once however often it is sent. The bytes of a batch belong to the sink
 * until it has answered.
 */
export type RecordSink = { ingestBatch(batch: RecordBatch): Promise<void> };

/** The store can never take this record, however often it is tried; other failures pass. */
export class RecordRejectedError extends Error {
  constructor(why: string) {
    super(why);
    this.name = "RecordRejected";
  }
}

export function encodeBatch(texts: readonly string[]): RecordBatch {
  const parts = texts.map((text) => Buffer.from(text));
  const bounds = new Uint32Array(2 * parts.length);
  let at = 0;
  parts.forEach((part, n) => {
    bounds[2 * n] = at;
    at += part.length;
    bounds[2 * n + 1] = at;
  });
  return { bytes: Buffer.concat(parts), bounds };
}

export function decodeBatch({ bytes, bounds }: RecordBatch): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at < bounds.length; at += 2) texts.push(buffer.toString("utf8", bounds[at], bounds[at + 1]));
  return texts;
}
