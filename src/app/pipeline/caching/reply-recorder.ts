import type { RequestRecord } from "../../../domain/record/record.ts";
import type { CacheSlot } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { GatewayDeps } from "../gateway-deps.ts";
import { RecordingTransport } from "./recording-transport.ts";
import { isUnkeptReply } from "./unkept-reply.ts";

type ReplyRecorderOptions = {
  readonly slot: CacheSlot;
  readonly ttlMs: number;
  /** The reply of another model, after a failover, is not kept. */
  readonly model: string | undefined;
};

/** Runs a request that is not in the cache, and keeps its reply when that was complete and charged as usual. */
export class ReplyRecorder {
  /** With which the request runs. */
  readonly gateway: GatewayDeps;
  readonly #cache: ReplyCache;
  readonly #transport: RecordingTransport;
  readonly #options: ReplyRecorderOptions;
  readonly #drops: number;
  #record: RequestRecord | undefined;

  constructor(gateway: GatewayDeps, cache: ReplyCache, options: ReplyRecorderOptions) {
    this.#cache = cache;
    this.#options = options;
    this.#drops = cache.dropsOf(options.slot.workspaceId);
    this.#transport = new RecordingTransport(gateway.transport, cache);
    this.gateway = {
      ...gateway,
      transport: this.#transport,
      onRequestFinished: (record) => {
        this.#record = record;
        gateway.onRequestFinished(record);
      },
    };
  }

  /** Called at the end of the request, however it ended. */
  finish(): void {
    const { slot, ttlMs, model } = this.#options;
    const record = this.#record;
    const exchanges = this.#transport.exchanges();
    this.#transport.stop();
    if (record === undefined || exchanges.length === 0) return;
    const { endpoint, level, countries, usage, charge } = record;
    if (record.status !== 200 || record.errorCode !== null || record.model !== model) return;
    if (endpoint === null || level === null || usage === null) return;
    if (exchanges.some(({ body, encoding }) => isUnkeptReply(Buffer.from(body, encoding).toString("latin1")))) return;
    const createdAtMs = this.gateway.clock.nowMs();
    this.#cache.save(
      slot,
      {
        requestId: record.id,
        createdAtMs,
        expiresAtMs: createdAtMs + ttlMs,
        endpoint,
        level,
        countries: countries ?? [],
        usage,
        cost: charge === null ? null : { nanos: charge.nanos, currency: charge.currency },
        exchanges,
      },
      this.#drops,
    );
  }
}
