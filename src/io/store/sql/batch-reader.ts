import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import { type BatchProgress, LINE_ENDS } from "../../../domain/batches/batch.ts";
import type { BatchStore } from "../../../domain/batches/batch-store.ts";
import type { FileContent } from "../../../domain/batches/stored-file.ts";
import {
  type BatchRow,
  HEAD_COLUMNS,
  PROGRESS_COLUMNS,
  type ProgressRow,
  toBatch,
  toHead,
  toProgress,
  UNFINISHED,
} from "./batch-rows.ts";
import type { Database } from "./schema.ts";
import type { SealedContent } from "./sealed-content.ts";

const LIST_STEP = 100;
/** Outcomes per read of the results. */
const RESULT_ROWS = 200;
const UNFINISHED_MAX = 500;

type ReadOperations = Pick<
  BatchStore,
  "find" | "list" | "progress" | "unfinished" | "unfinishedCount" | "resultBytes" | "results"
>;

export function batchReader(db: Kysely<Database>, sealed: SealedContent): ReadOperations {
  const readable = (workspaceId: string, nowMs: number) =>
    db.selectFrom("batches").where("workspace_id", "=", workspaceId).where("keep_until_ms", ">", nowMs);
  return {
    async find(workspaceId, id, nowMs) {
      const row = await readable(workspaceId, nowMs).selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? undefined : toBatch(sealed, row);
    },

    async list(workspaceId, nowMs, { shape, limit, after, before, mayRead }) {
      const edge = after ?? before;
      let cursor = edge === undefined ? undefined : await positionOf(db, workspaceId, edge);
      if (edge !== undefined && cursor === undefined) return { batches: [], hasMore: false };
      const isBackward = after === undefined && before !== undefined;
      const found: BatchRow[] = [];
      for (;;) {
        const direction = isBackward ? "asc" : "desc";
        let query = readable(workspaceId, nowMs)
          .selectAll()
          .where("shape", "=", shape)
          .orderBy("created_at_ms", direction)
          .orderBy("id", direction)
          .limit(LIST_STEP);
        if (cursor !== undefined) {
          const { created_at_ms: atMs, id } = cursor;
          query = query.where(({ eb, refTuple, tuple }) =>
            eb(refTuple("created_at_ms", "id"), isBackward ? ">" : "<", tuple(atMs, id)),
          );
        }
        const rows = await query.execute();
        found.push(...rows.filter((row) => mayRead(row.key_id)));
        cursor = rows.at(-1);
        if (found.length > limit || rows.length < LIST_STEP) break;
      }
      const page = found.slice(0, limit);
      if (isBackward) page.reverse();
      return { batches: await Promise.all(page.map((row) => toBatch(sealed, row))), hasMore: found.length > limit };
    },

    async progress(ids) {
      const sums = new Map<string, BatchProgress>();
      if (ids.length === 0) return sums;
      const { rows } = await sql<ProgressRow & { batch_id: string }>`
        select batch_id, ${sql.join(PROGRESS_COLUMNS.map(summed))} from batch_parts
        where batch_id in (${sql.join(ids)}) group by batch_id`.execute(db);
      for (const row of rows) sums.set(row.batch_id, toProgress(row));
      return sums;
    },

    async unfinished() {
      const rows = await db
        .selectFrom("batches")
        .select(HEAD_COLUMNS)
        .where("status", "in", UNFINISHED)
        .orderBy("created_at_ms")
        .limit(UNFINISHED_MAX)
        .execute();
      return rows.map(toHead);
    },

    async unfinishedCount(workspaceId) {
      const { count } = await db
        .selectFrom("batches")
        .select(sql<number>`cast(count(*) as bigint)`.as("count"))
        .where("workspace_id", "=", workspaceId)
        .where("status", "in", UNFINISHED)
        .executeTakeFirstOrThrow();
      return count;
    },

    async resultBytes(batchId, content) {
      const sums = await ofContent(db.selectFrom("batch_outcomes").where("batch_id", "=", batchId), content)
        .select(sql<number | null>`cast(sum(bytes) as bigint)`.as("bytes"))
        .executeTakeFirstOrThrow();
      return sums.bytes ?? undefined;
    },

    async results({ id, workspaceId }, content, afterLine) {
      const rows = await ofContent(
        db.selectFrom("batch_outcomes").where("batch_id", "=", id).where("line", ">", afterLine),
        content,
      )
        .select(["line", "content"])
        .orderBy("line")
        .limit(RESULT_ROWS)
        .execute();
      const open = await sealed.opener(workspaceId);
      return rows.map(({ line, content }) => ({ line, text: open("outcome", `${id} ${line}`, content).toString() }));
    },
  };
}

const summed = (column: string): RawBuilder<unknown> =>
  sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`;

const SUCCEEDED = LINE_ENDS.indexOf("succeeded");

function ofContent<T>(
  query: SelectQueryBuilder<Database, "batch_outcomes", T>,
  content: FileContent | "all",
): SelectQueryBuilder<Database, "batch_outcomes", T> {
  if (content === "all") return query;
  return query.where("ending", content === "successes" ? "=" : "!=", SUCCEEDED);
}

function positionOf(db: Kysely<Database>, workspaceId: string, id: string) {
  return db
    .selectFrom("batches")
    .select(["created_at_ms", "id"])
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
}
