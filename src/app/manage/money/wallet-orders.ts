import { fault, invalidValue } from "../../../contract/faults.ts";
import { OrderCreate } from "../../../contract/schemas/manage-money.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import {
  ORDER_PREFIX,
  type PaymentAdapter,
  type PaymentOrder,
  paymentPageUrl,
} from "../../../domain/billing/payment.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { isoTime } from "../views.ts";
import { parseAmount } from "./wallets.ts";

function orderView({ payments }: ManageContext, order: PaymentOrder) {
  const page = payments.adapters.has(order.adapter) ? (payments.checkoutUrls.get(order.adapter) ?? null) : null;
  return {
    id: order.id,
    adapter: order.adapter,
    reference: order.reference,
    amount: formatNanos(order.nanos),
    currency: order.currency,
    state: order.state,
    created_at: isoTime(order.createdAtMs),
    paid_at: order.paidAtMs === null ? null : isoTime(order.paidAtMs),
    payment: order.paymentId,
    pay_url: page === null || order.state === "paid" ? null : paymentPageUrl(page, order),
  };
}

function selectAdapter({ payments }: ManageContext, name: string | undefined): PaymentAdapter {
  const names = [...payments.adapters.keys()];
  if (names.length === 0)
    throw fault("conflict", { message: "No payment adapter is configured. Set GATEWAY_PAYMENTS and restart." });
  const found = payments.adapters.get(name ?? (names.length === 1 ? (names[0] ?? "") : ""));
  if (found !== undefined) return found;
  throw invalidValue("adapter", `must be one of ${names.join(", ")}`);
}

type NewOrder = { readonly adapter: PaymentAdapter; readonly nanos: bigint; readonly reference: string };

async function createOrder(scope: ManageScope, workspace: Workspace, { adapter, nanos, reference }: NewOrder) {
  const order: PaymentOrder = {
    id: scope.ids.next(ORDER_PREFIX),
    workspaceId: workspace.id,
    adapter: adapter.name,
    reference,
    currency: workspace.currency,
    nanos,
    state: "open",
    createdAtMs: scope.clock.nowMs(),
    paidAtMs: null,
    paymentId: null,
  };
  const isNew = await commitWithAudit(scope, async ({ payments }) => {
    if (!(await payments.addOrder(order))) return { answer: false, audit: null };
    const detail = { amount: formatNanos(nanos), currency: order.currency, adapter: order.adapter, reference };
    const audit = { action: "wallet.order", workspaceId: workspace.id, target: order.id, detail };
    return { answer: true, audit };
  });
  if (isNew) return { order, repeated: false };
  const before = await scope.store.payments.orderByReference(workspace.id, reference);
  if (before?.nanos === nanos && before.adapter === adapter.name) return { order: before, repeated: true };
  throw fault("conflict", {
    message: "This reference was already used for a different order. Use another reference.",
    param: "reference",
  });
}

export function walletOrderHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowTopUp: buffered(async (exchange) => {
      const { currency } = findWorkspace(context, exchange.params["workspace"]);
      const { adapters, checkoutUrls, contact } = context.payments;
      const ways = [...adapters.keys()].map((adapter) => ({
        adapter,
        has_page: (checkoutUrls.get(adapter) ?? null) !== null,
      }));
      return { status: 200, json: { currency, ways, contact } };
    }),
    manageCreateOrder: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { amount, currency, reference, adapter: name } = await readBody(exchange, OrderCreate);
      const adapter = selectAdapter(scope, name);
      if (currency !== workspace.currency)
        throw invalidValue("currency", `must be ${workspace.currency}, the currency of the wallet`);
      const nanos = parseAmount(amount);
      const problem = adapter.unpayableReason({ currency, nanos });
      if (problem !== undefined) throw invalidValue("amount", problem);
      const { order, repeated } = await scope.serialized(() =>
        createOrder(scope, workspace, { adapter, nanos, reference }),
      );
      return { status: 201, json: { ...orderView(scope, order), repeated } };
    }),
    manageListOrders: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = await context.store.payments.orders(workspace.id, limit, cursor ?? null);
      return { status: 200, json: { data: rows.map((order) => orderView(context, order)), next } };
    }),
    manageShowOrder: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      const order = await context.store.payments.order(id);
      if (order?.workspaceId === workspace.id) return { status: 200, json: orderView(context, order) };
      throw fault("not_found", { message: `This workspace has no order "${printable(id)}".` });
    }),
  };
}
