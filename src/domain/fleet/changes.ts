/** What was changed in SQL by management, numbered in the order of the commits. */
export type ChangeStore = {
  /** The number of the last change; 0 when there is none. */
  newest(): Promise<number>;
  /** Whose things were changed after a number (null: the deployment's as a whole), and the number to go on from. */
  since(seq: number): Promise<{ readonly seq: number; readonly of: ReadonlySet<string | null> }>;
  /** Forgets changes that every instance has long seen. */
  sweep(beforeMs: number): Promise<void>;
};
