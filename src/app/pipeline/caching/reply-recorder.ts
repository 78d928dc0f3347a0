import type { RequestRecord } from "../../../domain/record/record.ts";
import type { CachedReply, CacheSlot } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { LeaderEnd } from "../../../domain/response-cache/slot-leaders.ts";
import type { GatewayDeps } from "../gateway-deps.ts";
import type { EndLead } from "./await-leader.ts";
import { RecordingTransport } from "./recording-transport.ts";
import { isUnkeptReply } from "./unkept-reply.ts";

type ReplyRecorderOptions = {
  readonly slot: CacheSlot;
  readonly ttlMs: number;
  /** The reply of another model, after a failover, is not kept. */
  readonly model: string | undefined;
  /** Of a request that others wait for. */
  readonly endLead: EndLead | undefined;
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
    const reply = this.#reply();
    const { slot, endLead } = this.#options;
    const written = reply === undefined ? Promise.resolve() : this.#cache.save(slot, reply, this.#drops);
    endLead?.(reply === undefined ? this.#unkeptEnd : "kept", written);
  }

  /** A complete reply that is not kept would not be kept for those who wait either. */
  get #unkeptEnd(): LeaderEnd {
    return this.#record?.status === 200 && this.#record.errorCode === null ? "unkept" : "failed";
  }

  #reply(): CachedReply | undefined {
    const { ttlMs, model } = this.#options;
    const record = this.#record;
    const exchanges = this.#transport.exchanges();
    this.#transport.stop();
    if (record === undefined || exchanges.length === 0) return undefined;
    const { endpoint, level, countries, usage, charge } = record;
    if (record.status !== 200 || record.errorCode !== null || record.model !== model) return undefined;
    if (endpoint === null || level === null || usage === null) return undefined;
    const texts = exchanges.map(({ body, encoding }) => Buffer.from(body, encoding).toString("latin1"));
    if (texts.some(isUnkeptReply)) return undefined;
    const createdAtMs = this.gateway.clock.nowMs();
    return {
      requestId: record.id,
      createdAtMs,
      expiresAtMs: createdAtMs + ttlMs,
      endpoint,
      level,
      countries: countries ?? [],
      usage,
      cost: charge === null ? null : { nanos: charge.nanos, currency: charge.currency },
      exchanges,
    };
  }
}
