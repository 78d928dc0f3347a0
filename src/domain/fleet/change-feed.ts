/** Changes that the management API made in SQL, numbered in commit order. */
export type ChangeFeed = {
  /** The number of the newest change; 0 when there is none. */
  latestSeq(): Promise<number>;
  /**
   * The workspaces that changed after a number (null: something of the deployment), and the number to continue from.
   * `missed`: some of these changes were purged, so anything may have changed.
   */
  changesSince(
    seq: number,
  ): Promise<{ readonly seq: number; readonly workspaceIds: ReadonlySet<string | null> | "missed" }>;
  /** Removes changes before a moment, except the newest: its number shows an instance that it missed some. */
  purge(beforeMs: number): Promise<void>;
};
