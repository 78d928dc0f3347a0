import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import type { AlertRules } from "../../../domain/alerts/alert-rules.ts";
import {
  type AlertRuleStore,
  type AlertStore,
  CHANNELS,
  DELIVERY_STATES,
  type Delivery,
  type FiredAlert,
} from "../../../domain/alerts/alert-store.ts";
import { inTransaction } from "./in-transaction.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function alertRuleStore(db: Kysely<Database>): AlertRuleStore {
  return {
    async all(only) {
      const all = db.selectFrom("alert_rules").selectAll().orderBy("workspace_id");
      const rows = await (only === undefined ? all : all.where("workspace_id", "=", only)).execute();
      return rows.map(toRules);
    },
    async save(rules) {
      const { workspace_id, ...changed } = fromRules(rules);
      await db
        .insertInto("alert_rules")
        .values({ workspace_id, ...changed })
        .onConflict((conflict) => conflict.column("workspace_id").doUpdateSet(changed))
        .execute();
    },
    async remove(workspaceId) {
      await db.deleteFrom("alerts_standing").where("workspace_id", "=", workspaceId).execute();
      await db.deleteFrom("alert_rules").where("workspace_id", "=", workspaceId).execute();
    },
  };
}

export function alertStore(db: Kysely<Database>): AlertStore {
  return {
    rules: alertRuleStore(db),
    ...deliveryQueue(db),

    activeAlerts: (workspaceId) =>
      db
        .selectFrom("alerts_standing")
        .select(["subject", "mark"])
        .where("workspace_id", "=", workspaceId)
        .orderBy("subject")
        .execute(),

    recordTransitions: (workspaceId, cleared, fired, nowMs) =>
      inTransaction(db, async (session) => {
        for (const { subject, mark } of cleared)
          await session
            .deleteFrom("alerts_standing")
            .where("workspace_id", "=", workspaceId)
            .where("subject", "=", subject)
            .where("mark", "=", mark)
            .execute();
        for (const alert of fired) await insertFired(session, workspaceId, alert, nowMs);
      }),

    async countAlertsSince(workspaceId, sinceMs) {
      const { alerts } = await db
        .selectFrom("alert_deliveries")
        .where("workspace_id", "=", workspaceId)
        .where("created_at_ms", ">=", sinceMs)
        .select(({ fn }) => fn.count<number | bigint>("alert_id").distinct().as("alerts"))
        .executeTakeFirstOrThrow();
      return Number(alerts);
    },

    async deliveries(workspaceId, limit, cursor) {
      const size = pageSize(limit);
      let query = db
        .selectFrom("alert_deliveries")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .orderBy("created_at_ms", "desc")
        .orderBy("id", "desc");
      if (cursor !== null) {
        const { atMs, id } = decodeCursor(cursor);
        query = query.where(({ eb, refTuple, tuple }) => eb(refTuple("created_at_ms", "id"), "<", tuple(atMs, id)));
      }
      const rows = await query.limit(size + 1).execute();
      const { page, next } = slicePage(rows, size, (row) => ({ atMs: row.created_at_ms, id: row.id }));
      return { rows: page.map(toDelivery), next };
    },
  };
}

/** The insert decides which process sends the alert: another one that detected the same finds the row. */
async function insertFired(
  session: Kysely<Database>,
  workspaceId: string,
  fired: FiredAlert,
  nowMs: number,
): Promise<void> {
  const { subject, mark, alertId, deliveries } = fired;
  const inserted = await session
    .insertInto("alerts_standing")
    .values({ workspace_id: workspaceId, subject, mark, alert_id: alertId, told_at_ms: nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows === 0n) return;
  for (const delivery of deliveries)
    await session.insertInto("alert_deliveries").values(fromDelivery(delivery)).execute();
}

function deliveryQueue(db: Kysely<Database>): Pick<AlertStore, "due" | "claim" | "conclude" | "sweep"> {
  return {
    async due(nowMs, { total, perWorkspace }) {
      const waiting = db
        .selectFrom("alert_deliveries")
        .where("state", "=", "waiting")
        .where("at_ms", "<=", nowMs)
        .select(({ fn }) => [
          "id as waiting_id",
          fn
            .agg<number>("row_number")
            .over((turn) => turn.partitionBy("workspace_id").orderBy("at_ms").orderBy("id"))
            .as("turn"),
        ])
        .as("waiting");
      const rows = await db
        .selectFrom(waiting)
        .innerJoin("alert_deliveries", "alert_deliveries.id", "waiting.waiting_id")
        .where("turn", "<=", perWorkspace)
        .orderBy("turn")
        .orderBy("at_ms")
        .orderBy("alert_deliveries.id")
        .limit(total)
        .selectAll("alert_deliveries")
        .execute();
      return rows.map(toDelivery);
    },
    async claim({ id, attempts }, untilMs) {
      const claimed = await db
        .updateTable("alert_deliveries")
        .set({ attempts: attempts + 1, at_ms: untilMs })
        .where("id", "=", id)
        .where("state", "=", "waiting")
        .where("attempts", "=", attempts)
        .executeTakeFirst();
      return claimed.numUpdatedRows === 1n;
    },
    async conclude(id, { state, atMs, lastError }) {
      await db
        .updateTable("alert_deliveries")
        .set({ state, at_ms: atMs, last_error: lastError })
        .where("id", "=", id)
        .where("state", "=", "waiting")
        .execute();
    },
    async sweep(beforeMs) {
      const removed = await db
        .deleteFrom("alert_deliveries")
        .where("state", "in", ["delivered", "failed"])
        .where("at_ms", "<", beforeMs)
        .executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

const percents = z.array(z.number().int());
const addresses = z.array(z.string());
const names = z.array(z.string());

function toRules(row: Selectable<Database["alert_rules"]>): AlertRules {
  const { webhook_url: url, webhook_secret: sealed, secret_changed_at_ms: secretChangedAtMs } = row;
  return {
    workspaceId: row.workspace_id,
    lowBalanceNanos: row.low_balance_nanos,
    limitPercents: percents.parse(JSON.parse(row.limit_percents)),
    credentialRefused: row.credential_refused === 1,
    dataClasses: row.data_classes === null ? [] : names.parse(JSON.parse(row.data_classes)),
    mailTo: row.mail_to === null ? null : addresses.parse(JSON.parse(row.mail_to)),
    webhook: url === null || sealed === null || secretChangedAtMs === null ? null : { url, sealed, secretChangedAtMs },
    changedAtMs: row.changed_at_ms,
  };
}

function fromRules(rules: AlertRules): Selectable<Database["alert_rules"]> {
  return {
    workspace_id: rules.workspaceId,
    low_balance_nanos: rules.lowBalanceNanos,
    limit_percents: JSON.stringify(rules.limitPercents),
    credential_refused: rules.credentialRefused ? 1 : 0,
    data_classes: rules.dataClasses.length === 0 ? null : JSON.stringify(rules.dataClasses),
    mail_to: rules.mailTo === null ? null : JSON.stringify(rules.mailTo),
    webhook_url: rules.webhook?.url ?? null,
    webhook_secret: rules.webhook?.sealed ?? null,
    secret_changed_at_ms: rules.webhook?.secretChangedAtMs ?? null,
    changed_at_ms: rules.changedAtMs,
  };
}

const channel = z.enum(CHANNELS);
const state = z.enum(DELIVERY_STATES);

function toDelivery(row: Selectable<Database["alert_deliveries"]>): Delivery {
  return {
    id: row.id,
    alertId: row.alert_id,
    workspaceId: row.workspace_id,
    type: row.kind,
    channel: channel.parse(row.channel),
    target: row.target,
    payload: row.payload,
    createdAtMs: row.created_at_ms,
    state: state.parse(row.state),
    attempts: row.attempts,
    atMs: row.at_ms,
    lastError: row.last_error,
  };
}

function fromDelivery(delivery: Delivery): Selectable<Database["alert_deliveries"]> {
  return {
    id: delivery.id,
    alert_id: delivery.alertId,
    workspace_id: delivery.workspaceId,
    kind: delivery.type,
    channel: delivery.channel,
    target: delivery.target,
    payload: delivery.payload,
    created_at_ms: delivery.createdAtMs,
    state: delivery.state,
    attempts: delivery.attempts,
    at_ms: delivery.atMs,
    last_error: delivery.lastError,
  };
}
