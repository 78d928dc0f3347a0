/** What was changed in SQL by management, numbered in the order of the commits. */
export type ChangeFeed = {
  /** The number of the last change; 0 when there is none. */
  latestSeq(): Promise<number>;
  /**
   * Whose things were changed after a number (null: the deployment's as a whole), and the number to go on from. `missed`:
   * some of these changes are forgotten already, so it may be anybody's.
   */
  changesSince(seq: number): Promise<{ readonly seq: number; readonly of: ReadonlySet<string | null> | "missed" }>;
  /** Forgets changes that every instance has long seen, all but the last: by its number an instance knows what it missed. */
  purge(beforeMs: number): Promise<void>;
};
