import type { RequestRecord } from "../../domain/record/record.ts";
import type { Timers } from "../../kit/timers.ts";
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf } from "../../kit/trace-context.ts";
import type { Otlp } from "./otlp.ts";
import type { OtlpSource } from "./otlp-values.ts";
import { Outgoing } from "./outgoing.ts";
import type { Posting } from "./posting.ts";
import type { Sampler } from "./sampler.ts";
import { type ServerOf, spansOf, traceOf } from "./spans.ts";

export type TracesParts = {
  readonly otlp: Otlp;
  readonly source: OtlpSource;
  readonly sampler: Sampler;
  readonly serverOf: ServerOf;
  readonly timers: Timers;
  readonly itemsMax: number;
  readonly batchMax: number;
  readonly everyMs: number;
  readonly posted: (result: Posting) => void;
  readonly dropped: (count: number) => void;
};

/** So many requests become text at once: between them the requests that are running have their turn. */
const AT_ONCE = 16;

/** Traces of finished requests. On the request's own way a record is put into a queue, and nothing else is done. */
export class Traces {
  readonly #parts: TracesParts;
  readonly #outgoing: Outgoing<RequestRecord>;

  constructor(parts: TracesParts) {
    this.#parts = parts;
    this.#outgoing = new Outgoing({ ...parts, post: (batch, abort) => this.#post(batch, abort) });
  }

  finished(record: RequestRecord): void {
    const { traceId, parent } = traceOf(record);
    if (this.#parts.sampler(traceId, parent)) this.#outgoing.add(record);
  }

  /** What the next attempt of a request tells its provider of the trace; `trace` is what the caller said of it. */
  passOn(requestId: string, trace: string | undefined, attempt: number): string {
    const parent = trace === undefined ? undefined : parseTraceparent(trace);
    const traceId = parent?.traceId ?? traceIdOf(requestId);
    return formatTraceparent({
      traceId,
      spanId: spanIdOf(requestId, attempt),
      isSampled: this.#parts.sampler(traceId, parent),
    });
  }

  stop(withinMs: number): Promise<void> {
    return this.#outgoing.stop(withinMs);
  }

  async #post(batch: readonly RequestRecord[], abort: AbortSignal): Promise<Posting> {
    const { otlp, source, serverOf, timers } = this.#parts;
    const texts: string[] = [];
    for (const [index, record] of batch.entries()) {
      if (index > 0 && index % AT_ONCE === 0) await new Promise<void>((resolve) => timers.after(0, resolve));
      for (const span of spansOf(record, serverOf)) texts.push(JSON.stringify(span));
    }
    const { resource, scope } = source;
    const head = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)}`;
    return otlp.send("traces", `${head},"spans":[${texts.join(",")}]}]}]}`, abort);
  }
}
