/** One management action, or an API key's change to stored data. Append-only. */
export type AuditEntry = {
  readonly id: string;
  readonly atMs: number;
  /** `operator`, a member id, `key:` and a key id, or `gateway` for automatic actions. */
  readonly actor: string;
  /** As `noun.verb`: `key.revoke`. */
  readonly action: string;
  /** Null for the deployment as a whole. */
  readonly workspaceId: string | null;
  /** The id of the changed object. */
  readonly target: string | null;
  /** What changed, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Absent fields do not filter. `sinceMs` is inclusive, `untilMs` exclusive. */
export type AuditFilter = {
  readonly workspaceId?: string;
  readonly actor?: string;
  /** One action such as `key.revoke`, or every action of a noun: `key`. */
  readonly action?: string;
  readonly target?: string;
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

export type AuditStore = {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter, limit: number, cursor: string | null): Promise<{ rows: AuditEntry[]; next: string | null }>;
};

/** The result of a change and its audit entry; null when nothing was changed. */
export type AuditedChange<T> = {
  readonly result: T;
  readonly audit: AuditEntry | null;
  /** False when no instance caches the changed data. */
  readonly needsReload?: false;
};
