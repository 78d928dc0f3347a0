import type { Kysely } from "kysely";
import { z } from "zod";
import type { PaymentOrder, PaymentStore } from "../../../domain/billing/payment.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function paymentStore(db: Kysely<Database>): PaymentStore {
  const orders = () => db.selectFrom("payment_orders").selectAll();
  return {
    async addOrder(order) {
      const inserted = await db
        .insertInto("payment_orders")
        .values({
          id: order.id,
          workspace_id: order.workspaceId,
          adapter: order.adapter,
          reference: order.reference,
          currency: order.currency,
          amount_nanos: order.nanos,
          state: order.state,
          created_at_ms: order.createdAtMs,
          paid_at_ms: order.paidAtMs,
          payment_id: order.paymentId,
        })
        .onConflict((conflict) => conflict.columns(["workspace_id", "reference"]).doNothing())
        .executeTakeFirst();
      return inserted.numInsertedOrUpdatedRows !== 0n;
    },

    async order(id) {
      return toOrder(await orders().where("id", "=", id).executeTakeFirst());
    },

    async orderByReference(workspaceId, reference) {
      const found = orders().where("workspace_id", "=", workspaceId).where("reference", "=", reference);
      return toOrder(await found.executeTakeFirst());
    },

    async orderByPayment(adapter, paymentId) {
      const found = orders().where("adapter", "=", adapter).where("payment_id", "=", paymentId);
      return toOrder(await found.executeTakeFirst());
    },

    async orders(workspaceId, limit, cursor) {
      const size = pageSize(limit);
      const place = cursor === null ? undefined : decodeCursor(cursor);
      const rows = await orders()
        .where("workspace_id", "=", workspaceId)
        .$if(place !== undefined, (query) =>
          query.where(({ eb, refTuple, tuple }) =>
            eb(refTuple("created_at_ms", "id"), "<", tuple(place?.atMs ?? 0, place?.id ?? "")),
          ),
        )
        .orderBy("created_at_ms", "desc")
        .orderBy("id", "desc")
        .limit(size + 1)
        .execute();
      const { page, next } = slicePage(rows, size, (row) => ({ atMs: row.created_at_ms, id: row.id }));
      return { rows: page.flatMap((row) => toOrder(row) ?? []), next };
    },

    async markPaid(id, paidAtMs, paymentId) {
      const changed = await db
        .updateTable("payment_orders")
        .set({ state: "paid", paid_at_ms: paidAtMs, payment_id: paymentId })
        .where("id", "=", id)
        .where("state", "=", "open")
        .executeTakeFirst();
      return changed.numUpdatedRows !== 0n;
    },
  };
}

const state = z.enum(["open", "paid"]);

function toOrder(row: Database["payment_orders"] | undefined): PaymentOrder | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    adapter: row.adapter,
    reference: row.reference,
    currency: row.currency,
    nanos: row.amount_nanos,
    state: state.parse(row.state),
    createdAtMs: row.created_at_ms,
    paidAtMs: row.paid_at_ms,
    paymentId: row.payment_id,
  };
}
