import { z } from "zod";
import {
  ORDER_PREFIX,
  type PaymentAdapter,
  type PaymentEvent,
  type PaymentOrder,
  type PaymentWebhook,
  type PaymentWebhookResult,
} from "../../domain/billing/payment.ts";
import { tryParseDocument } from "../../kit/json-document.ts";
import { type SignatureKeys, signatureProblem } from "./webhook-signature.ts";

export const STRIPE_ADAPTER = "stripe";
const HEADER = "stripe-signature";

/** Currencies whose minor unit is a hundredth. Others are not supported. */
const HUNDREDTHS = new Set(["CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "NOK", "PLN", "RON", "SEK", "USD"]);
const NANOS_PER_HUNDREDTH = 10_000_000n;

/** Control characters and lone surrogates cannot be stored. */
const Id = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,255}$/u);
const OrderId = Id.startsWith(ORDER_PREFIX);
const Minor = z.number().int().nonnegative();
const Currency = z.string().regex(/^[a-z]{3}$/);
const Metadata = z.record(z.string(), z.string()).nullish();

const Event = z.object({ id: Id, type: z.string(), data: z.object({ object: z.unknown() }) });

const Session = z.object({
  payment_status: z.string(),
  client_reference_id: Id.nullish(),
  metadata: Metadata,
  payment_intent: Id.nullish(),
  amount_total: Minor.nullish(),
  currency: Currency.nullish(),
});
const Intent = z.object({ id: Id, amount_received: Minor, currency: Currency, metadata: Metadata });
const Charge = z.object({ payment_intent: Id.nullish(), amount_refunded: Minor, currency: Currency });
const Dispute = z.object({
  id: Id,
  status: z.string(),
  payment_intent: Id.nullish(),
  amount: Minor,
  currency: Currency,
});

/** In these states of a new dispute the bank has taken the money; in an inquiry it has not. */
const FUNDS_TAKEN = new Set(["needs_response", "under_review", "lost"]);

type Amount = { readonly minor: number; readonly currency: string };

/** Webhooks of Stripe about checkout sessions and payment intents that carry the id of an order. */
export function stripe(keys: SignatureKeys): PaymentAdapter {
  return { name: STRIPE_ADAPTER, unpayableReason, parseWebhook: (webhook) => parseStripeWebhook(webhook, keys) };
}

function unpayableReason({ currency, nanos }: Pick<PaymentOrder, "currency" | "nanos">): string | undefined {
  if (!HUNDREDTHS.has(currency)) return `must be a supported currency: this adapter does not support ${currency}`;
  return nanos % NANOS_PER_HUNDREDTH === 0n ? undefined : "must be an amount with at most two decimal places";
}

function parseStripeWebhook(webhook: PaymentWebhook, keys: SignatureKeys): PaymentWebhookResult {
  const problem = signatureProblem(HEADER, webhook, keys);
  if (problem !== undefined) return { is: "refused", reason: problem };
  const event = Event.safeParse(tryParseDocument(webhook.body));
  if (!event.success) return { is: "unreadable", reason: "The message is not an event." };
  const { id, type, data } = event.data;
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (read === undefined) return ignored("The event does not move money.");
  return read(id, data.object);
}

const READERS: Readonly<Record<string, (id: string, object: unknown) => PaymentWebhookResult>> = {
  "checkout.session.completed": readSession,
  "checkout.session.async_payment_succeeded": readSession,
  "payment_intent.succeeded": readIntent,
  "charge.refunded": readRefund,
  "charge.dispute.created": (id, object) => readDispute(id, object, "by status"),
  "charge.dispute.funds_withdrawn": (id, object) => readDispute(id, object, "taken"),
};

function readSession(id: string, object: unknown): PaymentWebhookResult {
  const session = Session.safeParse(object).data;
  if (session === undefined) return unreadable();
  const { payment_status, client_reference_id, metadata, payment_intent, amount_total, currency } = session;
  if (payment_status !== "paid") return ignored("The payment is not completed yet.");
  const orderId = orderIdIn(client_reference_id, metadata?.["order"]);
  if (orderId === undefined) return ignored("The event has no order.");
  if (typeof amount_total !== "number" || typeof currency !== "string") return unreadable();
  const order = { by: "id", id: orderId } as const;
  return paid(id, order, payment_intent ?? null, { minor: amount_total, currency });
}

function readIntent(id: string, object: unknown): PaymentWebhookResult {
  const intent = Intent.safeParse(object).data;
  if (intent === undefined) return unreadable();
  const orderId = orderIdIn(intent.metadata?.["order"]);
  if (orderId === undefined) return ignored("The event has no order.");
  const amount = { minor: intent.amount_received, currency: intent.currency };
  return paid(id, { by: "id", id: orderId }, intent.id, amount);
}

/** The account may sell other things and use the same fields for them. */
function orderIdIn(...names: readonly (string | null | undefined)[]): string | undefined {
  return names.map((name) => OrderId.safeParse(name).data).find((id) => id !== undefined);
}

function paid(
  id: string,
  order: PaymentEvent["order"],
  paymentId: string | null,
  amount: Amount,
): PaymentWebhookResult {
  return readAmount(amount, { id, kind: "paid", order, paymentId, disputeId: null, amountScope: "event" });
}

/** A charge reports the cumulative amount refunded. */
function readRefund(id: string, object: unknown): PaymentWebhookResult {
  const charge = Charge.safeParse(object).data;
  if (charge === undefined) return unreadable();
  const { payment_intent: paymentId, amount_refunded: minor, currency } = charge;
  if (typeof paymentId !== "string") return ignored("The event has no payment.");
  const order = { by: "payment", id: paymentId } as const;
  const base = { id, kind: "refunded", order, paymentId, disputeId: null } as const;
  return readAmount({ minor, currency }, { ...base, amountScope: "cumulative" });
}

/** Several events can concern one dispute; its id identifies it. */
function readDispute(id: string, object: unknown, funds: "taken" | "by status"): PaymentWebhookResult {
  const dispute = Dispute.safeParse(object).data;
  if (dispute === undefined) return unreadable();
  const { id: disputeId, status, payment_intent: paymentId, amount: minor, currency } = dispute;
  if (typeof paymentId !== "string") return ignored("The event has no payment.");
  if (funds !== "taken" && !FUNDS_TAKEN.has(status)) return ignored("No bank transfer has been received.");
  const order = { by: "payment", id: paymentId } as const;
  const base = { id, kind: "disputed", order, paymentId, disputeId } as const;
  return readAmount({ minor, currency }, { ...base, amountScope: "event" });
}

function readAmount(amount: Amount, event: Omit<PaymentEvent, "currency" | "nanos">): PaymentWebhookResult {
  const currency = amount.currency.toUpperCase();
  if (!HUNDREDTHS.has(currency)) return { is: "unreadable", reason: `Amounts in ${currency} are not supported.` };
  return { is: "event", event: { ...event, currency, nanos: BigInt(amount.minor) * NANOS_PER_HUNDREDTH } };
}

const ignored = (reason: string): PaymentWebhookResult => ({ is: "ignored", reason });
const unreadable = (): PaymentWebhookResult => ({
  is: "unreadable",
  reason: "The event does not have the fields of its type.",
});
