import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "./schema.ts";

/** Encrypted bytes per workspace: counted at startup, then updated with every write. */
export class StoredBytes {
  readonly #bytes = new Map<string, number>();

  of(workspaceId: string): number {
    return this.#bytes.get(workspaceId) ?? 0;
  }

  change(workspaceId: string, byBytes: number): void {
    this.#bytes.set(workspaceId, this.of(workspaceId) + byBytes);
  }

  async count(db: Kysely<Database>): Promise<void> {
    const { rows } = await sql<Omit<ResponseSize, "id">>`
      select workspace_id, sum(${contentBytes("stored_responses")}) as bytes from stored_responses group by workspace_id
      union all
      select parent.workspace_id, sum(length(stored_events.events)) as bytes
      from stored_events join stored_responses as parent on parent.id = stored_events.response_id
      group by parent.workspace_id`.execute(db);
    this.#bytes.clear();
    for (const { workspace_id, bytes } of rows) this.change(workspace_id, Number(bytes));
  }
}

export type ResponseSize = { readonly id: string; readonly workspace_id: string; readonly bytes: number };

/** Includes events. */
export async function readSizes(session: Kysely<Database>, ids: readonly string[]): Promise<ResponseSize[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<ResponseSize>`
    select id, workspace_id, ${contentBytes("stored_responses")} + coalesce(
      (select sum(length(stored_events.events)) from stored_events where stored_events.response_id = stored_responses.id),
      0
    ) as bytes
    from stored_responses where id in (${sql.join(ids)})`.execute(session);
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** Excludes events. */
function contentBytes(table: string): RawBuilder<number> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql`(length(${column("response")}) + length(${column("input")}) + coalesce(length(${column("request")}), 0))`;
}
