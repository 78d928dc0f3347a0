import { z } from "zod";
import { WalletView } from "./manage-records.ts";
import { AmountInput, Label, listOf, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";

export const WalletKind = z.enum([
  "charge",
  "topup",
  "promotion",
  "expiry",
  "refund",
  "payout",
  "chargeback",
  "adjustment",
]);

const Reference = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,128}$/, "must be 1 to 128 letters, digits, dots, colons, hyphens or underscores")
  .meta({ description: "Idempotency id: the same id is posted only once.", example: "ticket-4711" });

const Reason = Label(500).meta({ description: "Reason, recorded in the ledger and in the audit log." });

export const WalletRefund = z
  .strictObject({
    request: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ description: "Id of a charged request to refund to the wallet." }),
    topup: z.string().min(1).max(300).optional().meta({
      description: "Id of a top-up in the ledger to refund to its payer; it is debited from the wallet.",
    }),
    amount: AmountInput.optional().meta({ description: "Default: the remaining amount." }),
    reference: Reference,
    reason: Reason,
  })
  .meta({ id: "WalletRefund" });

export const WalletAdjustment = z
  .strictObject({
    direction: z.enum(["up", "down"]).meta({ description: "Credit (up) or debit (down) the wallet." }),
    amount: AmountInput,
    reference: Reference,
    reason: Reason,
  })
  .meta({ id: "WalletAdjustment" });

export const WalletPromotion = z
  .strictObject({
    amount: AmountInput,
    expires_at: TimeInput.meta({ description: "Expiry time: unused credit leaves the wallet." }),
    reference: Reference,
    note: Label(500).nullish(),
  })
  .meta({ id: "WalletPromotion" });

export const WalletBooked = z
  .object({
    id: z.string().meta({ description: "Id of the ledger transaction." }),
    kind: WalletKind,
    amount: Money.meta({ description: "Change of the balance; negative for a debit." }),
    currency: z.string(),
    note: z.string().nullable(),
    created_at: Time,
    repeated: z.boolean().meta({ description: "True if an earlier call posted it." }),
    wallet: WalletView,
  })
  .meta({ id: "WalletBooked" });

export const PromotionView = z
  .object({
    id: z.string(),
    amount: Money,
    left: Money.meta({ description: "Remaining amount; running requests are not deducted." }),
    expired: Money.meta({ description: "Amount that expired unused." }),
    currency: z.string(),
    granted_at: Time,
    expires_at: Time,
    state: z.enum(["running", "ending", "ended"]).meta({
      description: "`ending`: it has expired, but requests that started earlier may still be running.",
    }),
  })
  .meta({ id: "Promotion" });

export const PromotionList = listOf(PromotionView);

export const OrderCreate = z
  .strictObject({
    amount: AmountInput,
    currency: z.string().regex(/^[A-Z]{3}$/, "must be a currency code such as EUR"),
    reference: Reference,
    adapter: z.string().max(64).optional().meta({ description: "Payment adapter. Default: the only one configured." }),
  })
  .meta({ id: "PaymentOrderCreate" });

export const OrderView = z
  .object({
    id: z.string().meta({ description: "Reference that a payment must contain to fulfil the order." }),
    adapter: z.string(),
    reference: z.string(),
    amount: Money,
    currency: z.string(),
    state: z.enum(["open", "paid"]),
    created_at: Time,
    paid_at: Time.nullable(),
    payment: z.string().nullable().meta({ description: "Payment id of the provider." }),
    pay_url: z
      .string()
      .nullable()
      .meta({ description: "Checkout URL of an open order, if the operator has configured one." }),
  })
  .meta({ id: "PaymentOrder" });

export const TopUpView = z
  .object({
    currency: z.string(),
    ways: z
      .array(
        z.object({
          adapter: z.string(),
          has_page: z.boolean().meta({ description: "Orders have a checkout URL." }),
        }),
      )
      .meta({ description: "Payment adapters for orders; empty: only the operator can add funds." }),
    contact: z.string().nullable().meta({ description: "Contact of the operator, as configured." }),
  })
  .meta({ id: "TopUp" });

export const OrderCreated = OrderView.extend({
  repeated: z.boolean().meta({ description: "True if an earlier call created this order." }),
}).meta({ id: "PaymentOrderCreated" });

const EntryFilters = z.strictObject({
  kind: z
    .string()
    .max(200)
    .optional()
    .meta({ description: `One or more of ${WalletKind.options.join(", ")}, comma-separated.` }),
  since: TimeInput.optional().meta({ description: "Start, inclusive." }),
  until: TimeInput.optional().meta({ description: "End, exclusive." }),
});

export const EntryQuery = PageQuery.extend(EntryFilters.shape);

export const EntryExportQuery = EntryFilters.extend({
  format: z.enum(["csv", "jsonl"]).default("csv").meta({ description: "CSV with a header row, or JSON lines." }),
});

export const StatementQuery = z.strictObject({
  month: z
    .string()
    .regex(/^[2-8]\d{3}-(?:0[1-9]|1[0-2])$/, "must be a month such as 2026-11")
    .meta({ description: "Calendar month in UTC.", example: "2026-11" }),
});

export const StatementView = z
  .object({
    workspace: z.string(),
    month: z.string(),
    from: Time,
    to: Time.meta({ description: "End of the month, exclusive; the statement of a current month may still change." }),
    currency: z.string(),
    opening_balance: Money,
    closing_balance: Money.meta({ description: "The opening balance plus all amounts below." }),
    kinds: z
      .array(z.object({ kind: WalletKind, transactions: z.number(), in: Money, out: Money, net: Money }))
      .meta({ description: "Ledger totals by kind." }),
    models: z
      .array(z.object({ model: z.string().nullable(), requests: z.number(), cost: Money }))
      .meta({ description: "Charges by model; they sum to the charges above. Null: the model is unknown." }),
  })
  .meta({ id: "WalletStatement" });

export const PaymentReceived = z
  .object({
    received: z.literal(true),
    outcome: z.enum(["credited", "taken_back", "repeated", "ignored"]).meta({
      description: "`repeated`: it was posted before. `ignored`: the event does not move money here.",
    }),
  })
  .meta({ id: "PaymentReceived" });
