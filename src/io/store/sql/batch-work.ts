import { type Kysely, sql } from "kysely";
import { type BatchPart, LINE_ENDS, type LineOutcome } from "../../../domain/batches/batch.ts";
import { type BatchStore, outcomeKey } from "../../../domain/batches/batch-store.ts";
import type { Database } from "./schema.ts";
import type { SealedContent } from "./sealed-content.ts";

type WorkOperations = Pick<
  BatchStore,
  | "claim"
  | "renew"
  | "releaseAll"
  | "resetClaims"
  | "claimPart"
  | "releasePart"
  | "finishPart"
  | "partRemains"
  | "openParts"
  | "unfinishedParts"
  | "saveOutcomes"
>;

/** Candidates of one claim: other processes claim at the same time. */
const CANDIDATES = 16;
const FREE = { lease_owner: "", lease_until_ms: 0 } as const;

/** Claims of processes on batches and their parts, and the outcomes of lines. */
export function batchWork(db: Kysely<Database>, sealed: SealedContent): WorkOperations {
  return { ...claims(db), ...parts(db), ...outcomes(db, sealed) };
}

function claims(db: Kysely<Database>): Pick<WorkOperations, "claim" | "renew" | "releaseAll" | "resetClaims"> {
  return {
    async claim(id, { owner, nowMs, untilMs }) {
      const { numUpdatedRows } = await db
        .updateTable("batches")
        .set({ lease_owner: owner, lease_until_ms: untilMs })
        .where("id", "=", id)
        .where("lease_until_ms", "<=", nowMs)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    async renew({ owner, untilMs }) {
      for (const table of ["batches", "batch_parts"] as const)
        await db
          .updateTable(table)
          .set({ lease_until_ms: untilMs })
          .where("lease_owner", "=", owner)
          .where("lease_until_ms", ">", 0)
          .execute();
    },

    async releaseAll(owner) {
      for (const table of ["batches", "batch_parts"] as const)
        await db.updateTable(table).set(FREE).where("lease_owner", "=", owner).execute();
    },

    async resetClaims() {
      for (const table of ["batches", "batch_parts"] as const)
        await db.updateTable(table).set(FREE).where("lease_until_ms", ">", 0).execute();
    },
  };
}

type PartOperations = Pick<
  WorkOperations,
  "claimPart" | "releasePart" | "finishPart" | "partRemains" | "openParts" | "unfinishedParts"
>;

function parts(db: Kysely<Database>): PartOperations {
  const onPart = ({ batchId, number }: Pick<BatchPart, "batchId" | "number">) =>
    db.updateTable("batch_parts").where("batch_id", "=", batchId).where("number", "=", number);
  return {
    async claimPart(batchId, { owner, nowMs, untilMs }) {
      const candidates = await db
        .selectFrom("batch_parts")
        .select(["number", "first_line", "lines", "runs"])
        .where("batch_id", "=", batchId)
        .where("done", "=", 0)
        .where("lease_until_ms", "<=", nowMs)
        .orderBy("number")
        .limit(CANDIDATES)
        .execute();
      for (const { number, first_line, lines, runs } of candidates) {
        const { numUpdatedRows } = await onPart({ batchId, number })
          .set({ lease_owner: owner, lease_until_ms: untilMs, runs: runs + 1 })
          .where("done", "=", 0)
          .where("runs", "=", runs)
          .where("lease_until_ms", "<=", nowMs)
          .executeTakeFirst();
        if (numUpdatedRows > 0n) return { batchId, number, firstLine: first_line, lines, runs: runs + 1 };
      }
      return undefined;
    },

    async releasePart(part, owner) {
      await onPart(part).set(FREE).where("lease_owner", "=", owner).execute();
    },

    async finishPart(part) {
      await db.transaction().execute(async (session) => {
        await session
          .updateTable("batch_parts")
          .set({ done: 1, ...FREE })
          .where("batch_id", "=", part.batchId)
          .where("number", "=", part.number)
          .execute();
        await session
          .deleteFrom("batch_records")
          .where("batch_id", "=", part.batchId)
          .where("part", "=", part.number)
          .execute();
      });
    },

    async partRemains({ batchId, number, firstLine, lines }) {
      const done = await db
        .selectFrom("batch_outcomes")
        .select("line")
        .where("batch_id", "=", batchId)
        .where("line", ">=", firstLine)
        .where("line", "<", firstLine + lines)
        .execute();
      const records = await db
        .selectFrom("batch_records")
        .select(["line", "record"])
        .where("batch_id", "=", batchId)
        .where("part", "=", number)
        .orderBy("line")
        .execute();
      return {
        done: new Set(done.map(({ line }) => line)),
        records: records.map(({ line, record }) => ({ line, text: record })),
      };
    },

    async openParts(batchId, nowMs) {
      const { rows } = await sql<{ open: number; claimed: number }>`
        select cast(count(*) as bigint) as open,
          cast(coalesce(sum(case when lease_until_ms > ${nowMs} then 1 else 0 end), 0) as bigint) as claimed
        from batch_parts where batch_id = ${batchId} and done = 0`.execute(db);
      return rows[0] ?? { open: 0, claimed: 0 };
    },

    async unfinishedParts(batchId) {
      const rows = await db
        .selectFrom("batch_parts")
        .select(["number", "first_line", "lines"])
        .where("batch_id", "=", batchId)
        .where("done", "=", 0)
        .orderBy("number")
        .execute();
      return rows.map(({ number, first_line, lines }) => ({ batchId, number, firstLine: first_line, lines }));
    },
  };
}

function outcomes(db: Kysely<Database>, sealed: SealedContent): Pick<WorkOperations, "saveOutcomes"> {
  return {
    async saveOutcomes(outcomes) {
      const rows = await outcomeRows(sealed, outcomes);
      return db.transaction().execute(async (session) => {
        const stored = await session
          .insertInto("batch_outcomes")
          .values(rows)
          .onConflict((conflict) => conflict.columns(["batch_id", "line"]).doNothing())
          .returning(["batch_id", "line"])
          .execute();
        const keys = new Set(stored.map(({ batch_id, line }) => outcomeKey({ batchId: batch_id, line })));
        const first = outcomes.filter((outcome) => keys.has(outcomeKey(outcome)));
        const records = first.flatMap(({ batchId, part, line, record }) =>
          record === null ? [] : [{ batch_id: batchId, part, line, record }],
        );
        if (records.length > 0) await session.insertInto("batch_records").values(records).execute();
        for (const sums of sumsByPart(first)) await addToPart(session, sums);
        return keys;
      });
    },
  };
}

async function outcomeRows(sealed: SealedContent, outcomes: readonly LineOutcome[]) {
  const rows = [];
  for (const { batchId, workspaceId, part, line, end, text } of outcomes) {
    const seal = await sealed.sealer(workspaceId);
    rows.push({
      batch_id: batchId,
      line,
      part,
      ending: LINE_ENDS.indexOf(end),
      bytes: Buffer.byteLength(text),
      content: seal("outcome", `${batchId} ${line}`, text),
    });
  }
  // One lock order for all processes.
  return rows.sort((a, b) => (a.batch_id === b.batch_id ? a.line - b.line : a.batch_id < b.batch_id ? -1 : 1));
}

type PartSums = Pick<LineOutcome, "batchId" | "part"> & {
  readonly ends: Record<LineOutcome["end"], number>;
  usage: LineOutcome["usage"];
};

function sumsByPart(outcomes: readonly LineOutcome[]): PartSums[] {
  const parts = new Map<string, PartSums>();
  for (const { batchId, part, end, usage } of outcomes) {
    const key = `${batchId} ${part}`;
    const known = parts.get(key);
    const sums = known ?? { batchId, part, ends: { succeeded: 0, errored: 0, cancelled: 0, expired: 0 }, usage };
    sums.ends[end] += 1;
    if (known === undefined) parts.set(key, sums);
    else
      known.usage = {
        costNanos: known.usage.costNanos + usage.costNanos,
        inputTokens: known.usage.inputTokens + usage.inputTokens,
        outputTokens: known.usage.outputTokens + usage.outputTokens,
        cachedTokens: known.usage.cachedTokens + usage.cachedTokens,
        reasoningTokens: known.usage.reasoningTokens + usage.reasoningTokens,
      };
  }
  return [...parts.values()].sort((a, b) =>
    a.batchId === b.batchId ? a.part - b.part : a.batchId < b.batchId ? -1 : 1,
  );
}

async function addToPart(session: Kysely<Database>, { batchId, part, ends, usage }: PartSums): Promise<void> {
  await session
    .updateTable("batch_parts")
    .set(({ eb }) => ({
      succeeded: eb("succeeded", "+", ends.succeeded),
      errored: eb("errored", "+", ends.errored),
      cancelled: eb("cancelled", "+", ends.cancelled),
      expired: eb("expired", "+", ends.expired),
      cost_nanos: eb("cost_nanos", "+", usage.costNanos),
      input_tokens: eb("input_tokens", "+", usage.inputTokens),
      output_tokens: eb("output_tokens", "+", usage.outputTokens),
      cached_tokens: eb("cached_tokens", "+", usage.cachedTokens),
      reasoning_tokens: eb("reasoning_tokens", "+", usage.reasoningTokens),
    }))
    .where("batch_id", "=", batchId)
    .where("number", "=", part)
    .execute();
}
