import { fault } from "../../contract/faults.ts";

/** What all uploads of the process may take together, in memory and on disk. */
export class UploadQuota {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when it does not fit any more; then nothing is taken. */
  tryReserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** `cause` is for the operator. */
export function uploadStorageFull(cause: string) {
  return fault("service_unavailable", {
    message: "The gateway has no room for uploads right now. Try again shortly.",
    headers: { "retry-after": "5" },
    detail: { cause },
  });
}
