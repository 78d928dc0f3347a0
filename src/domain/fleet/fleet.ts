import { Fault } from "../../contract/faults.ts";

/** What was changed is in SQL for certain, but the other instances do not know of it yet. */
export class ChangeNotPropagated extends Fault {
  constructor() {
    super("service_unavailable", {
      message:
        "The change is saved, but the other instances could not be told of it yet. They learn of it within some seconds. Look whether it is there before you send it again.",
      headers: { "retry-after": "5" },
    });
  }
}

/** The instances of one gateway, which share its store and its state; one that is alone has no others. */
export type Fleet = {
  /** Of this instance: kept in its data directory, and the same after a restart. */
  readonly id: string;
  /** Then nothing here costs anything, and nothing has to be waited for. */
  readonly isSingleInstance: boolean;
  /** Whether this one does what only one of all must do: sweeping, probing, fetching rates. */
  readonly isLeader: boolean;
  /** How many are known to be alive, this one included. */
  readonly instanceCount: number;
  /** Runs work while no instance runs other work under the same name. */
  withLock<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Throws where what asks is run by `alone` and may not be the only one any more. */
  assertLocksHeld(): void;
  /**
   * Something of a workspace (null: of the deployment as a whole) was changed in SQL: once this resolves, the next
   * request of the workspace sees it on every instance. What is of the deployment reaches the others a moment later.
   */
  publishChange(workspaceId: string | null): Promise<void>;
  /** Loads what others have changed; next to nothing where they have not. */
  catchUp(): Promise<void>;
  /** Whether what this instance has of a workspace is what the shared state calls the newest. */
  isCurrent(workspaceId: string, version: string | undefined): boolean;
  /** Loads what has changed of a workspace; then that version of it is the one that is here. */
  refreshWorkspace(workspaceId: string, version: string): Promise<void>;
  /** Ids of those that are alive, this one included. */
  instanceIds(): Promise<readonly string[]>;
};

/** Loads from SQL what an instance keeps in its memory, in the place of what it had. */
export type CacheReloader = {
  reloadWorkspace(workspaceId: string): Promise<void>;
  /** What belongs to no workspace: exchange rates, proofs. */
  reloadDeployment(): Promise<void>;
  /** All of it, after it was not followed for too long to know what changed. */
  reloadAll(): Promise<void>;
};
