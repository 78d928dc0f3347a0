import { Fault } from "../../contract/faults.ts";

/** SQL has the change for certain, but the other instances could not be notified yet. */
export class ChangeNotPropagated extends Fault {
  constructor() {
    super("service_unavailable", {
      message:
        "The change is saved, but other instances could not be notified yet. They will follow within seconds. Check the current state before you send it again.",
      headers: { "retry-after": "5" },
    });
  }
}

/** The instances of one gateway, which share its store and its state. */
export type Fleet = {
  /** Of this instance: stored in its data directory, and the same after a restart. */
  readonly id: string;
  /** There are no other instances, so every method below is free. */
  readonly isSingleInstance: boolean;
  /** The leader alone runs the jobs of the deployment: sweeping, probing, fetching rates. */
  readonly isLeader: boolean;
  /** Live instances, including this one. */
  readonly instanceCount: number;
  /** Runs work while no instance runs other work under the same name. */
  withLock<T>(name: string, work: () => Promise<T>): Promise<T>;
  /**
   * Throws when this instance lost a lock under which work is still running. Every commit calls it, so that a stalled
   * instance does not overwrite what the next holder changed.
   */
  assertLocksHeld(): void;
  /**
   * Call it after a change of a workspace (null: of the deployment) in SQL. Once it resolves, the next request of the
   * workspace sees the change on every instance; changes of the deployment follow a moment later.
   */
  publishChange(workspaceId: string | null): Promise<void>;
  /** Loads what other instances changed; cheap when they changed nothing. */
  catchUp(): Promise<void>;
  /** Whether this instance has loaded the version of a workspace that the shared state names. */
  isCurrent(workspaceId: string, version: string | undefined): boolean;
  /** Loads changes of a workspace, so that this version is current. */
  refreshWorkspace(workspaceId: string, version: string): Promise<void>;
  /** Live instances, including this one. */
  instanceIds(): Promise<readonly string[]>;
};

/** Reloads from SQL what an instance caches in memory. */
export type CacheReloader = {
  reloadWorkspace(workspaceId: string): Promise<void>;
  /** Everything without a workspace: exchange rates, proofs. */
  reloadDeployment(): Promise<void>;
  reloadAll(): Promise<void>;
};
