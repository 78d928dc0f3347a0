import type { Ddl } from "../engine.ts";

/** Replies that serve identical requests of their workspace, encrypted. */
export function cachedReplies({ integer, text, bytes, plainTable }: Ddl): string[] {
  return [
    `create table cached_replies (
      workspace_id ${text} not null,
      id ${text} not null,
      created_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      size ${integer} not null,
      reply ${bytes} not null,
      primary key (workspace_id, id)
    ) ${plainTable}`,
    "create index cached_replies_by_time on cached_replies (workspace_id, created_at_ms, id, expires_at_ms, size)",
    "create index cached_replies_by_expiry on cached_replies (expires_at_ms)",
  ];
}
