import { Client } from "undici";
import type { Target } from "./load.ts";

/** Timings of one call, measured by the latency client. */
export type Call = {
  readonly status: number;
  /** From the request's last byte to the first byte of the body. */
  readonly firstByteMicros: number;
  readonly totalMicros: number;
  readonly body: string;
};

const CALL_MS_MAX = 30_000;
const MICROS_PER_NANO = 1000;

/** One keep-alive connection, reused for every call. */
export class Caller {
  readonly #client: Client;
  readonly #target: Target;
  readonly #path: string;

  constructor(target: Target) {
    const url = new URL(target.url);
    this.#path = url.pathname;
    this.#target = target;
    this.#client = new Client(url.origin, {
      headersTimeout: CALL_MS_MAX,
      bodyTimeout: CALL_MS_MAX,
      connectTimeout: 5_000,
    });
  }

  call(): Promise<Call> {
    return new Promise((resolve, reject) => {
      const startedNs = process.hrtime.bigint();
      const parts: Buffer[] = [];
      let status = 0;
      let firstByteMicros = 0;
      const sinceStart = () => Number(process.hrtime.bigint() - startedNs) / MICROS_PER_NANO;
      this.#client.dispatch(this.#request(), {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, part) {
          if (parts.length === 0) firstByteMicros = sinceStart();
          parts.push(part);
        },
        onResponseEnd() {
          const totalMicros = sinceStart();
          resolve({ status, firstByteMicros, totalMicros, body: Buffer.concat(parts).toString("utf8") });
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      });
    });
  }

  /** Disconnects after the first byte of the body and returns the monotonic time in nanoseconds. */
  hangUp(): Promise<bigint> {
    return new Promise((resolve, reject) => {
      let hungUp = false;
      this.#client.dispatch(this.#request(), {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData(controller) {
          if (hungUp) return;
          hungUp = true;
          resolve(process.hrtime.bigint());
          controller.abort(new Error("hung up"));
        },
        onResponseEnd() {
          reject(new Error("the answer ended before the client hung up"));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      });
    });
  }

  async close(): Promise<void> {
    await this.#client.destroy();
  }

  #request() {
    return {
      path: this.#path,
      method: "POST" as const,
      headers: { "content-type": "application/json", ...this.#target.headers },
      body: this.#target.body,
    };
  }
}

/** One call on a new connection. */
export async function callOnce(target: Target): Promise<Call> {
  const caller = new Caller(target);
  try {
    return await caller.call();
  } finally {
    await caller.close();
  }
}
