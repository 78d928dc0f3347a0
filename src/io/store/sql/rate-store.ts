import type { Kysely, Selectable } from "kysely";
import type { MarginStore } from "../../../domain/billing/margin.ts";
import type { RateRow, RateStore } from "../../../domain/catalogue/exchange-rates.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function rateStore(db: Kysely<Database>): RateStore {
  return {
    async latest() {
      const rows = await db
        .selectFrom("exchange_rates as rate")
        .selectAll()
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("exchange_rates as later")
                .select("later.id")
                .whereRef("later.code", "=", "rate.code")
                .where(({ eb, ref, or, and }) => {
                  const [day, atMs, id] = [ref("rate.day"), ref("rate.recorded_at_ms"), ref("rate.id")];
                  const sameTime = and([eb("later.recorded_at_ms", "=", atMs), eb("later.id", ">", id)]);
                  const laterThatDay = or([eb("later.recorded_at_ms", ">", atMs), sameTime]);
                  return or([eb("later.day", ">", day), and([eb("later.day", "=", day), laterThatDay])]);
                }),
            ),
          ),
        )
        .orderBy("rate.code")
        .execute();
      return rows.map(toRate);
    },

    async history(code, limit, cursor) {
      const size = pageSize(limit);
      let query = db.selectFrom("exchange_rates").selectAll();
      if (code !== null) query = query.where("code", "=", code);
      if (cursor !== null) {
        const { atMs, id } = decodeCursor(cursor);
        query = query.where((eb) =>
          eb.or([eb("recorded_at_ms", "<", atMs), eb.and([eb("recorded_at_ms", "=", atMs), eb("id", "<", id)])]),
        );
      }
      const found = await query
        .orderBy("recorded_at_ms", "desc")
        .orderBy("id", "desc")
        .limit(size + 1)
        .execute();
      const { page, next } = slicePage(found, size, ({ recorded_at_ms, id }) => ({ atMs: recorded_at_ms, id }));
      return { rows: page.map(toRate), next };
    },

    async append(rows) {
      if (rows.length === 0) return;
      await db
        .insertInto("exchange_rates")
        .values(
          rows.map(({ id, code, perEur, day, source, recordedAtMs }) => ({
            id,
            code,
            per_eur: perEur,
            day,
            source,
            recorded_at_ms: recordedAtMs,
          })),
        )
        .execute();
    },
  };
}

function toRate(row: Selectable<Database["exchange_rates"]>): RateRow {
  const { id, code, day, source } = row;
  return { id, code, perEur: row.per_eur, day, source, recordedAtMs: row.recorded_at_ms };
}

export function marginStore(db: Kysely<Database>): MarginStore {
  return {
    async loadAll(only) {
      const all = db.selectFrom("workspace_margins").selectAll().orderBy("workspace_id");
      const rows = await (only === undefined ? all : all.where("workspace_id", "=", only)).execute();
      return rows.map(({ workspace_id, share }) => ({ workspaceId: workspace_id, share }));
    },

    async save(workspaceId, share) {
      if (share === null) await db.deleteFrom("workspace_margins").where("workspace_id", "=", workspaceId).execute();
      else
        await db
          .insertInto("workspace_margins")
          .values({ workspace_id: workspaceId, share })
          .onConflict((conflict) => conflict.column("workspace_id").doUpdateSet({ share }))
          .execute();
    },
  };
}
