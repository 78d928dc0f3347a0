import type { CachedReply, CacheSlot } from "./cached-reply.ts";

/** What an entry takes besides its bodies. */
const ENTRY_BYTES = 2_000;
/** V8 keeps a text with characters beyond Latin-1 in two bytes each. */
const CHAR_BYTES = 2;

type Entry = { readonly workspaceId: string; readonly reply: CachedReply; readonly bytes: number };

/** The replies used last, in memory; the least recently used ones leave first. */
export class ReplyMemory {
  readonly #entries = new Map<string, Entry>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(slot: CacheSlot): CachedReply | undefined {
    const name = nameOf(slot);
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry.reply;
  }

  add(slot: CacheSlot, reply: CachedReply): void {
    const name = nameOf(slot);
    this.#remove(name);
    const bytes = reply.exchanges.reduce((sum, { body }) => sum + CHAR_BYTES * body.length, ENTRY_BYTES);
    if (bytes > this.#maxBytes) return;
    this.#entries.set(name, { workspaceId: slot.workspaceId, reply, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
    }
  }

  drop(workspaceId: string): void {
    for (const [name, entry] of this.#entries) if (entry.workspaceId === workspaceId) this.#remove(name);
  }

  dropExpired(nowMs: number): void {
    for (const [name, { reply }] of this.#entries) if (reply.expiresAtMs <= nowMs) this.#remove(name);
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#bytes -= entry.bytes;
  }
}

const nameOf = ({ workspaceId, key }: CacheSlot) => `${workspaceId} ${key}`;
