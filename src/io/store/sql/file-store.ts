import { type Kysely, type Selectable, sql } from "kysely";
import { FILE_PURPOSES } from "../../../contract/batches.ts";
import type { FileStore, StoredFile } from "../../../domain/batches/stored-file.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import { UNFINISHED } from "./batch-rows.ts";
import type { Database } from "./schema.ts";
import { SealedContent } from "./sealed-content.ts";

type FileRow = Selectable<Database["stored_files"]>;

/** Rows are read and filtered in steps of this size. */
const LIST_STEP = 200;
const SWEPT_FILES_MAX = 100;

export function fileStore(db: Kysely<Database>, vault: Pick<Vault, "derive">): FileStore {
  const sealed = new SealedContent(vault);
  return { ...fileReader(db, sealed), ...fileChunks(db, sealed), ...fileRemoval(db) };
}

function fileReader(db: Kysely<Database>, sealed: SealedContent): Pick<FileStore, "find" | "list"> {
  const nameContext = (file: Pick<StoredFile, "id" | "workspaceId">) =>
    ({ workspaceId: file.workspaceId, column: "filename", row: file.id }) as const;
  const fileOf = async (row: FileRow): Promise<StoredFile> => ({
    id: row.id,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    purpose: FILE_PURPOSES.find((purpose) => purpose === row.purpose) ?? "batch",
    filename: (await sealed.open(nameContext({ id: row.id, workspaceId: row.workspace_id }), row.filename)).toString(),
    bytes: row.bytes,
    content: row.content === "successes" || row.content === "errors" ? row.content : "chunks",
    batchId: row.batch_id,
  });
  return {
    async find(workspaceId, id, nowMs) {
      const row = await readable(db, workspaceId, nowMs).selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? undefined : fileOf(row);
    },

    async list(workspaceId, nowMs, { purpose, order, limit, after, mayRead }) {
      const found: FileRow[] = [];
      let cursor =
        after === undefined
          ? undefined
          : await db
              .selectFrom("stored_files")
              .select(["created_at_ms", "id"])
              .where("workspace_id", "=", workspaceId)
              .where("id", "=", after)
              .executeTakeFirst();
      if (after !== undefined && cursor === undefined) return { files: [], hasMore: false };
      for (;;) {
        let query = readable(db, workspaceId, nowMs)
          .selectAll()
          .where((eb) => eb.or([eb("content", "!=", "chunks"), eb("batch_id", "is", null)]))
          .orderBy("created_at_ms", order)
          .orderBy("id", order)
          .limit(LIST_STEP);
        if (purpose !== undefined) query = query.where("purpose", "=", purpose);
        if (cursor !== undefined) {
          const { created_at_ms: atMs, id } = cursor;
          query = query.where(({ eb, refTuple, tuple }) =>
            eb(refTuple("created_at_ms", "id"), order === "asc" ? ">" : "<", tuple(atMs, id)),
          );
        }
        const rows = await query.execute();
        found.push(...rows.filter((row) => mayRead(row.key_id)));
        cursor = rows.at(-1);
        if (found.length > limit || rows.length < LIST_STEP) break;
      }
      const files = await Promise.all(found.slice(0, limit).map(fileOf));
      return { files, hasMore: found.length > limit };
    },
  };
}

type ChunkOperations = Pick<FileStore, "begin" | "addChunks" | "complete" | "chunkNumbers" | "chunk">;

function fileChunks(db: Kysely<Database>, sealed: SealedContent): ChunkOperations {
  return {
    async begin(file) {
      await db
        .insertInto("stored_files")
        .values({ ...(await fileRow(sealed, file)), complete: 0 })
        .execute();
    },

    async addChunks({ id, workspaceId }, chunks) {
      const rows = await Promise.all(
        chunks.map(async ({ number, bytes }) => ({
          file_id: id,
          number,
          content: await sealed.seal({ workspaceId, column: "chunk", row: `${id} ${number}` }, bytes),
        })),
      );
      if (rows.length > 0) await db.insertInto("file_chunks").values(rows).execute();
    },

    async complete({ id }, bytes) {
      await db.updateTable("stored_files").set({ complete: 1, bytes }).where("id", "=", id).execute();
    },

    async chunkNumbers(id) {
      const rows = await db
        .selectFrom("file_chunks")
        .select("number")
        .where("file_id", "=", id)
        .orderBy("number")
        .execute();
      return rows.map(({ number }) => number);
    },

    async chunk({ id, workspaceId }, number) {
      const row = await db
        .selectFrom("file_chunks")
        .select("content")
        .where("file_id", "=", id)
        .where("number", "=", number)
        .executeTakeFirst();
      return row && sealed.open({ workspaceId, column: "chunk", row: `${id} ${number}` }, row.content);
    },
  };
}

function fileRemoval(db: Kysely<Database>): Pick<FileStore, "batchInProgress" | "remove" | "usedBytes" | "sweep"> {
  return {
    async batchInProgress(workspaceId, id) {
      const row = await db
        .selectFrom("batches")
        .select("id")
        .where("workspace_id", "=", workspaceId)
        .where("input_file_id", "=", id)
        .where("status", "in", UNFINISHED)
        .executeTakeFirst();
      return row?.id;
    },

    async remove(workspaceId, id) {
      const { numDeletedRows } = await db
        .deleteFrom("stored_files")
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },

    async usedBytes(workspaceId) {
      const sum = await db
        .selectFrom("stored_files")
        .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as("bytes"))
        .where("workspace_id", "=", workspaceId)
        .executeTakeFirstOrThrow();
      return sum.bytes;
    },

    async sweep(nowMs, abandonedMs) {
      // The input of a batch is needed until the batch is over.
      const rows = await db
        .selectFrom("stored_files")
        .select("id")
        .where((eb) =>
          eb.or([
            eb("expires_at_ms", "<=", nowMs),
            eb.and([eb("complete", "=", 0), eb("created_at_ms", "<=", abandonedMs)]),
          ]),
        )
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("batches")
                .select("batches.id")
                .whereRef("batches.input_file_id", "=", "stored_files.id")
                .where("batches.status", "in", UNFINISHED),
            ),
          ),
        )
        .limit(SWEPT_FILES_MAX)
        .execute();
      for (const { id } of rows) await db.deleteFrom("stored_files").where("id", "=", id).execute();
      return rows.length;
    },
  };
}

export async function fileRow(sealed: SealedContent, file: StoredFile): Promise<FileRow> {
  return {
    id: file.id,
    workspace_id: file.workspaceId,
    key_id: file.keyId,
    created_at_ms: file.createdAtMs,
    expires_at_ms: file.expiresAtMs,
    purpose: file.purpose,
    content: file.content,
    batch_id: file.batchId,
    complete: 1,
    bytes: file.bytes,
    filename: await sealed.seal({ workspaceId: file.workspaceId, column: "filename", row: file.id }, file.filename),
  };
}

const readable = (db: Kysely<Database>, workspaceId: string, nowMs: number) =>
  db
    .selectFrom("stored_files")
    .where("workspace_id", "=", workspaceId)
    .where("complete", "=", 1)
    .where("expires_at_ms", ">", nowMs);
