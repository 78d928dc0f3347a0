/** The instances of one gateway, which share its store and its state; one that is alone has no others. */
export type Fleet = {
  /** Of this instance: kept in its data directory, and the same after a restart. */
  readonly id: string;
  /** Whether this one does what only one of all must do: sweeping, probing, fetching rates, sending alerts. */
  readonly leads: boolean;
  /** Runs work while no instance runs other work under the same name. */
  alone<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Something of a workspace (null: of all of them) was changed in SQL: once this resolves, the next request anywhere sees it. */
  changed(workspaceId: string | null): Promise<void>;
  /** Loads what others have changed; next to nothing where they have not. */
  catchUp(): Promise<void>;
  /** Whether what this instance has of a workspace is what the shared state calls the newest. */
  isCurrent(workspaceId: string, version: string | undefined): boolean;
  /** Those that are alive, this one included. */
  peers(): Promise<readonly Peer[]>;
};

export type Peer = {
  readonly id: string;
  /** Where the others reach it; null where it is not to be reached. */
  readonly url: string | null;
};
