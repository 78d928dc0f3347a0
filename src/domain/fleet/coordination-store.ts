/**
 * Small facts that the instances of one gateway share: which are alive, which holds a lock, that something changed. The
 * store may lose its content at any time; every owner of a fact publishes it again.
 */
export type CoordinationStore = {
  /** Expires after `ttlMs` unless it is put again. */
  put(name: string, value: string, ttlMs: number): Promise<void>;
  get(name: string): Promise<string | undefined>;
  delete(name: string): Promise<void>;
  /** All entries whose names start with a prefix, by the rest of the name. */
  list(prefix: string): Promise<ReadonlyMap<string, string>>;
  /** Undefined when another holder does not release it within `waitMs`. */
  acquireLock(name: string, wait: LockOptions): Promise<Lock | undefined>;
  /** Delivered at most once, to every instance that is subscribed now, including this one. */
  publish(topic: string, message: string): Promise<void>;
  /** Returns how to unsubscribe. */
  subscribe(topic: string, listener: (message: string) => void): () => void;
  close(): Promise<void>;
};

export type LockOptions = {
  /** A lock of a crashed holder is free after this; a live holder renews it. */
  readonly ttlMs: number;
  readonly waitMs: number;
};

export type Lock = {
  /** False once another holder may have it: the work under it must not commit. */
  readonly isHeld: boolean;
  release(): Promise<void>;
};

/** Wallet changes outside requests run under one of these locks; wallets are not rebuilt meanwhile. */
export function isWalletLock(name: string): boolean {
  return name.startsWith("workspace:");
}
