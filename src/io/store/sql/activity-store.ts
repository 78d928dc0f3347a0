import type { Kysely } from "kysely";
import type { ActivityStore, EndpointActivity } from "../../../domain/routing/endpoint-activity.ts";
import { encodeSketches, mergeEncoded } from "../../../kit/quantile-sketch.ts";
import type { Database } from "./schema.ts";

const ROWS_PER_PAGE = 2_000;
const ROWS_PER_INSERT = 500;

export function activityStore(db: Kysely<Database>): ActivityStore {
  return {
    async put(process, rows) {
      for (let at = 0; at < rows.length; at += ROWS_PER_INSERT)
        await db
          .insertInto("endpoint_activity")
          .values(
            rows.slice(at, at + ROWS_PER_INSERT).map(({ span, startMs, endpoint, served, failed, latencyMs }) => ({
              ...{ span, start_ms: startMs, endpoint, process, served, failed },
              sketches: encodeSketches([latencyMs]),
            })),
          )
          .onConflict((conflict) =>
            conflict.columns(["span", "start_ms", "endpoint", "process"]).doUpdateSet(({ ref }) => ({
              served: ref("excluded.served"),
              failed: ref("excluded.failed"),
              sketches: ref("excluded.sketches"),
            })),
          )
          .execute();
    },

    async since(span, fromMs) {
      const merged = new Map<string, EndpointActivity>();
      let after = { startMs: fromMs - 1, endpoint: "", process: "" };
      for (;;) {
        const rows = await db
          .selectFrom("endpoint_activity")
          .selectAll()
          .where("span", "=", span)
          .where(({ eb, refTuple, tuple }) =>
            eb(refTuple("start_ms", "endpoint", "process"), ">", tuple(after.startMs, after.endpoint, after.process)),
          )
          .orderBy("start_ms")
          .orderBy("endpoint")
          .orderBy("process")
          .limit(ROWS_PER_PAGE)
          .execute();
        for (const { endpoint, served, failed, sketches } of rows) {
          const sum = merged.get(endpoint) ?? { endpoint, served: 0, failed: 0, latencyMs: new Map() };
          merged.set(endpoint, sum);
          sum.served += served;
          sum.failed += failed;
          if (sketches !== null) mergeEncoded([sum.latencyMs], sketches);
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < ROWS_PER_PAGE) return [...merged.values()];
        after = { startMs: last.start_ms, endpoint: last.endpoint, process: last.process };
      }
    },

    async sweep(span, beforeMs) {
      await db.deleteFrom("endpoint_activity").where("span", "=", span).where("start_ms", "<", beforeMs).execute();
    },
  };
}
