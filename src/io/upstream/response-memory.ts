/** Bytes that responses in flight may hold. */
export type ResponseMemoryLimits = { readonly totalBytes: number; readonly workspaceBytes: number };

/** Why there is no room. `isTooLarge`: the response alone exceeds a limit. */
export type MemoryShortage = { readonly why: string; readonly isTooLarge: boolean };

/** What one response in flight holds; it may grow until it is released. */
export type MemoryLease = {
  /** Returns why there is no room for that many bytes more. */
  grow(bytes: number): MemoryShortage | undefined;
  shrink(bytes: number): void;
  /** Gives back all but this many bytes. */
  keep(bytes: number): void;
  release(): void;
};

/** Accounts for the memory of long responses in flight, so that no workspace takes that of the others. */
export class ResponseMemory {
  readonly #limits: ResponseMemoryLimits;
  readonly #workspaces = new Map<string, number>();
  #total = 0;

  constructor(limits: ResponseMemoryLimits) {
    this.#limits = limits;
  }

  get usedBytes(): number {
    return this.#total;
  }

  open(workspaceId: string): MemoryLease {
    let held = 0;
    const free = (bytes: number) => {
      held -= bytes;
      this.#total -= bytes;
      const left = (this.#workspaces.get(workspaceId) ?? 0) - bytes;
      if (left > 0) this.#workspaces.set(workspaceId, left);
      else this.#workspaces.delete(workspaceId);
    };
    return {
      grow: (bytes) => {
        const { totalBytes, workspaceBytes } = this.#limits;
        const used = this.#workspaces.get(workspaceId) ?? 0;
        if (used + bytes > workspaceBytes) {
          const why = `responses of this workspace already use ${used} of ${workspaceBytes} bytes of memory (GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES)`;
          return { why, isTooLarge: held + bytes > workspaceBytes };
        }
        if (this.#total + bytes > totalBytes) {
          const why = `responses in flight already use ${this.#total} of ${totalBytes} bytes of memory (GATEWAY_ANSWERS_MEMORY_BYTES)`;
          return { why, isTooLarge: held + bytes > totalBytes };
        }
        held += bytes;
        this.#total += bytes;
        this.#workspaces.set(workspaceId, used + bytes);
        return undefined;
      },
      shrink: free,
      keep: (bytes) => free(Math.max(0, held - bytes)),
      release: () => free(held),
    };
  }
}
