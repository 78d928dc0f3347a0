import { dayName, dayOf } from "../../../kit/calendar.ts";
import { memoize } from "../../../kit/memoize.ts";

/**
 * Every key in Redis. All keys of one script share one hash tag (the part in braces), so that a Redis Cluster stores them
 * in one slot.
 */
export class KeySpace {
  /** Starts every key. */
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  walletKeys(workspaceId: string): WalletKeys {
    const tagged = this.workspacePrefix(workspaceId);
    return { money: `${tagged}:money`, spend: `${tagged}:spend:` };
  }

  /** Starts every key of a workspace. The script of requests builds it itself. */
  workspacePrefix(workspaceId: string): string {
    return `${this.prefix}{${workspaceId}}`;
  }

  version(workspaceId: string): string {
    return `${this.workspacePrefix(workspaceId)}:version`;
  }

  /** Marks one credit or withdrawal as applied, so that a retry does not apply it again. */
  walletChange(workspaceId: string, id: string): string {
    return `${this.workspacePrefix(workspaceId)}:change:${id}`;
  }

  /** By the digest of an `Idempotency-Key`. */
  idempotencyKey(key: string): string {
    return `${this.prefix}use:{${key}}`;
  }

  /** The wallet generation that is open: JSON. */
  get openGeneration(): string {
    return this.#fleet("epoch");
  }

  /** The token of the wallet generation that is being built. */
  get pendingGeneration(): string {
    return this.#fleet("opening");
  }

  /** Number and start time of the newest wallet generation. */
  get lastGeneration(): string {
    return this.#fleet("last-epoch");
  }

  /** The set of workspaces that have a wallet in a generation. */
  generationWallets(token: string): string {
    return `${this.generationWalletsPrefix}${token}`;
  }

  get generationWalletsPrefix(): string {
    return this.#fleet("wallets:");
  }

  /** Wallet changes in progress, scored by the time until which their instance counts as alive. */
  get walletChangeMarkers(): string {
    return this.#fleet("moving");
  }

  /** The generation in which every charged `Idempotency-Key` is in Redis. */
  get completeKeyUses(): string {
    return this.#fleet("uses");
  }

  incarnation(instanceId: string): string {
    return this.#fleet(`life:${instanceId}`);
  }

  note(name: string): string {
    return `${this.notePrefix}${name}`;
  }

  get notePrefix(): string {
    return this.#coordination("note:");
  }

  /** All names of notes in lexical order. */
  get noteNames(): string {
    return this.#coordination("notes");
  }

  /** All names of notes by expiry. */
  get noteExpiries(): string {
    return this.#coordination("notes-until");
  }

  lock(name: string): string {
    return this.#coordination(`lock:${name}`);
  }

  channel(topic: string): string {
    return `${this.prefix}topic:${topic}`;
  }

  #fleet(name: string): string {
    return `${this.prefix}{fleet}:${name}`;
  }

  #coordination(name: string): string {
    return `${this.prefix}{board}:${name}`;
  }
}

export type WalletKeys = {
  /** The wallet, and what requests hold of it. */
  readonly money: string;
  /** A prefix: the month follows. */
  readonly spend: string;
};

/** The field of a request in the hash `money`. */
export function requestField(requestId: string): string {
  return `r${requestId}`;
}

/** "2026-11" and "15". */
export function monthAndDay(atMs: number): readonly [month: string, day: string] {
  return monthAndDayNames(dayOf(atMs));
}

/** Bounded by the days of requests in flight. */
const monthAndDayNames = memoize((day: number): readonly [month: string, day: string] => {
  const name = dayName(day);
  return [name.slice(0, 7), name.slice(8)];
});
