/** Whether replies are cached, as one layer of a policy states it. What a later layer states replaces what an earlier one did. */
export type CacheRule = {
  /** Zero: not cached. */
  readonly ttlSeconds?: number;
  /** Identical requests that run at the same time wait for one of them. */
  readonly coalesce?: boolean;
  /** Set by workspaces: a request cannot ask for the cache itself. */
  readonly requests?: "forbid";
  /** Combined rules: the request itself states something. */
  readonly isRequested?: true;
};
