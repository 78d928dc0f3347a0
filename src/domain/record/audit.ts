/** One management action, or what an API key did to something that is kept. Entries are only ever added. */
export type AuditEntry = {
  readonly id: string;
  readonly atMs: number;
  /** Who did it: `operator`, the id of a member, `key:` and the id of a key, or `gateway` for what it does by itself. */
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

/** What is not named is not asked. Times: from the first on, before the second. */
export type AuditFilter = {
  readonly workspaceId?: string;
  readonly actor?: string;
  /** `key.revoke`, or all that is done to one kind of thing: `key`. */
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

/** What a change answers, and the line about it; no line where nothing was changed. */
export type AuditedChange<T> = {
  readonly result: T;
  readonly audit: AuditEntry | null;
  /** Whether an instance has to load something anew for it; absent: yes. */
  readonly reload?: "nobody";
};
