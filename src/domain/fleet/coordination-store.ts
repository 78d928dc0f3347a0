/**
 * Small facts that the instances of one gateway share: who is alive, who holds which lock, that something changed.
 * Whatever is on it may be lost at any time, and is put there again.
 */
export type CoordinationStore = {
  /** Stays until its time is over, unless it is put again. */
  put(name: string, value: string, ttlMs: number): Promise<void>;
  get(name: string): Promise<string | undefined>;
  delete(name: string): Promise<void>;
  /** All whose names begin so, by the rest of their names. */
  list(prefix: string): Promise<ReadonlyMap<string, string>>;
  /** Undefined when another has it and does not let go in time. */
  acquireLock(name: string, wait: LockOptions): Promise<Lock | undefined>;
  /** Reaches every instance that listens now, this one included; whoever is away misses it. */
  publish(topic: string, message: string): Promise<void>;
  /** Answers with how to stop listening. */
  subscribe(topic: string, listener: (message: string) => void): () => void;
  close(): Promise<void>;
};

export type LockOptions = {
  /** A holder that died is gone after this; one that lives keeps it for as long as it likes. */
  readonly ttlMs: number;
  readonly waitMs: number;
};

export type Lock = {
  /** False once it may be another's: what it was taken for must not be done any more. */
  readonly isHeld: boolean;
  release(): Promise<void>;
};

/** Whoever changes money has one of these. */
export function isWalletLock(name: string): boolean {
  return name.startsWith("workspace:");
}
