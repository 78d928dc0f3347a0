/** One management action. Entries are only ever added. */
export type AuditEntry = {
  readonly id: string;
  readonly atMs: number;
  /** Who did it: `operator`, or the id of a member. */
  readonly actor: string;
  /** What was done, as `noun.verb`: `key.revoke`. */
  readonly action: string;
  /** Null for what concerns the whole deployment. */
  readonly workspaceId: string | null;
  /** The id of what it was done to. */
  readonly target: string | null;
  /** What changed, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>;
};

export type AuditStore = {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first; a workspace's own entries, or with null those of the whole deployment. */
  list(
    workspaceId: string | null,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: AuditEntry[]; next: string | null }>;
};
