import type { RequestRecord } from "../../domain/record/record.ts";
import type { Timers } from "../../kit/timers.ts";
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf } from "../../kit/trace-context.ts";
import { BatchExporter } from "./batch-exporter.ts";
import type { ExportResult } from "./export-result.ts";
import type { OtlpClient } from "./otlp-client.ts";
import type { OtlpSource } from "./otlp-values.ts";
import type { Sampler } from "./sampler.ts";
import { buildSpans, type ServerAddressLookup, traceContextOf } from "./spans.ts";

export type TraceExporterDeps = {
  readonly otlp: OtlpClient;
  readonly source: OtlpSource;
  readonly sampler: Sampler;
  readonly serverOf: ServerAddressLookup;
  readonly timers: Timers;
  readonly queueMax: number;
  readonly batchMax: number;
  readonly intervalMs: number;
  readonly onExport: (result: ExportResult) => void;
  readonly onDrop: (count: number) => void;
};

/** Requests that are serialized before the event loop may process others. */
const ENCODED_PER_TICK = 16;

/** Exports traces of finished requests. The request path only adds the record to a queue. */
export class TraceExporter {
  readonly #deps: TraceExporterDeps;
  readonly #queue: BatchExporter<RequestRecord>;

  constructor(parts: TraceExporterDeps) {
    this.#deps = parts;
    this.#queue = new BatchExporter({ ...parts, send: (batch, abort) => this.#send(batch, abort) });
  }

  record(record: RequestRecord): void {
    const { traceId, parent } = traceContextOf(record);
    if (this.#deps.sampler(traceId, parent)) this.#queue.add(record);
  }

  /** `traceparent` of an attempt; `trace` is the caller's header. */
  traceparentFor(requestId: string, trace: string | undefined, attempt: number): string {
    const parent = trace === undefined ? undefined : parseTraceparent(trace);
    const traceId = parent?.traceId ?? traceIdOf(requestId);
    return formatTraceparent({
      traceId,
      spanId: spanIdOf(requestId, attempt),
      isSampled: this.#deps.sampler(traceId, parent),
    });
  }

  stop(withinMs: number): Promise<void> {
    return this.#queue.stop(withinMs);
  }

  async #send(batch: readonly RequestRecord[], abort: AbortSignal): Promise<ExportResult> {
    const { otlp, source, serverOf, timers } = this.#deps;
    const texts: string[] = [];
    for (const [index, record] of batch.entries()) {
      if (index > 0 && index % ENCODED_PER_TICK === 0) await new Promise<void>((resolve) => timers.after(0, resolve));
      for (const span of buildSpans(record, serverOf)) texts.push(JSON.stringify(span));
    }
    const { resource, scope } = source;
    const head = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)}`;
    return otlp.send("traces", `${head},"spans":[${texts.join(",")}]}]}]}`, abort);
  }
}
