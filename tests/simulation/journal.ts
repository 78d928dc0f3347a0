import type { RequestRecord } from "../../src/domain/record/record.ts";
import type { Journal, JournalEntry } from "../../src/io/journal/journal.ts";
import type { World } from "./world.ts";

type Pending = { readonly entry: JournalEntry; readonly settle: PromiseWithResolvers<void> };

/**
 * The disk and the database behind it. Written data survives a crash; of writes in flight a crash keeps a prefix and
 * loses the rest. As in the real store, the first record of a request counts.
 */
export class Disk {
  readonly #world: World;
  readonly #records = new Map<string, RequestRecord>();
  readonly #opened = new Map<string, RequestRecord>();
  readonly #credits = new Map<string, bigint>();
  readonly #pending: Pending[] = [];
  #broken = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** A journal for one process. */
  journal(isAlive: () => boolean): Journal {
    const disk = this;
    return {
      append: (entry) => disk.#append(entry, isAlive),
      get isBroken() {
        return disk.#broken;
      },

      isBehind: false,
      close: async () => undefined,
    };
  }

  /** The disk accepts nothing for a while. */
  fail(): void {
    this.#broken = true;
  }

  heal(): void {
    this.#broken = false;
  }

  credit(workspaceId: string, nanos: bigint): void {
    this.#credits.set(workspaceId, (this.#credits.get(workspaceId) ?? 0n) + nanos);
  }

  /** What SQL has after everything was ingested. */
  balanceOf(workspaceId: string): bigint {
    let balance = this.#credits.get(workspaceId) ?? 0n;
    for (const record of this.#records.values())
      if (record.workspaceId === workspaceId && record.charge !== null) balance -= BigInt(record.charge.nanos);
    return balance;
  }

  record(requestId: string): RequestRecord | undefined {
    return this.#records.get(requestId);
  }

  crash(): void {
    const kept = this.#world.chance.between(0, this.#pending.length);
    for (const { entry } of this.#pending.slice(0, kept)) this.#keep(entry);
    this.#pending.length = 0;
  }

  /** What a start does with requests that began and never ended. */
  replay(): void {
    for (const [id, record] of this.#opened)
      if (!this.#records.has(id)) this.#records.set(id, { ...record, errorCode: "interrupted", charge: null });
    this.#opened.clear();
  }

  #append(entry: JournalEntry, isAlive: () => boolean): Promise<void> {
    const settle = Promise.withResolvers<void>();
    if (!isAlive()) return settle.promise;
    const pending = { entry, settle };
    this.#pending.push(pending);
    const { chance, scheduler } = this.#world;
    scheduler.after(chance.is(0.8) ? 0 : chance.between(1, 30), () => {
      if (isAlive()) this.#write(pending);
    });
    return settle.promise;
  }

  /** Everything up to this entry goes to the disk together. */
  #write(last: Pending): void {
    const upTo = this.#pending.indexOf(last);
    for (const { entry, settle } of this.#pending.splice(0, upTo + 1)) {
      if (this.#broken) {
        this.#world.checks.unwritten(entry);
        settle.reject(new Error("the disk is full"));
      } else {
        this.#keep(entry);
        settle.resolve();
      }
    }
  }

  #keep(entry: JournalEntry): void {
    if (entry.t === "open") this.#opened.set(entry.id, entry.record);
    else {
      this.#world.checks.written(entry.record);
      if (!this.#records.has(entry.record.id)) this.#records.set(entry.record.id, entry.record);
    }
  }
}
