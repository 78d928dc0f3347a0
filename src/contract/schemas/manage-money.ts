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
  .regex(/^[A-Za-z0-9._:-]{1,128}$/, "write 1 to 128 letters, digits, dots, colons, hyphens or underscores")
  .meta({ description: "Your own name for it: sent twice, it is booked once.", example: "ticket-4711" });

const Reason = Label(500).meta({ description: "Why; it stands in the ledger and in the audit log." });

export const WalletRefund = z
  .strictObject({
    request: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ description: "Id of a charged request: the money goes back into the wallet." }),
    topup: z.string().min(1).max(300).optional().meta({
      description: "Id of a top-up in the ledger: the money leaves the wallet, back to who paid it.",
    }),
    amount: AmountInput.optional().meta({ description: "Absent: all that is left of it." }),
    reference: Reference,
    reason: Reason,
  })
  .meta({ id: "WalletRefund" });

export const WalletAdjustment = z
  .strictObject({
    direction: z.enum(["up", "down"]).meta({ description: "Into the wallet, or out of it." }),
    amount: AmountInput,
    reference: Reference,
    reason: Reason,
  })
  .meta({ id: "WalletAdjustment" });

export const WalletPromotion = z
  .strictObject({
    amount: AmountInput,
    expires_at: TimeInput.meta({ description: "From this time on, what is unused of it leaves the wallet." }),
    reference: Reference,
    note: Label(500).nullish(),
  })
  .meta({ id: "WalletPromotion" });

export const WalletBooked = z
  .object({
    id: z.string().meta({ description: "Id of the ledger transaction." }),
    kind: WalletKind,
    amount: Money.meta({ description: "What it did to the wallet: negative when money left it." }),
    currency: z.string(),
    note: z.string().nullable(),
    created_at: Time,
    repeated: z.boolean().meta({ description: "True when it was booked by an earlier call." }),
    wallet: WalletView,
  })
  .meta({ id: "WalletBooked" });

export const PromotionView = z
  .object({
    id: z.string(),
    amount: Money,
    left: Money.meta({ description: "What is unused of it; requests that run are not taken off." }),
    expired: Money.meta({ description: "What has left the wallet unused." }),
    currency: z.string(),
    granted_at: Time,
    expires_at: Time,
    state: z.enum(["running", "ending", "ended"]).meta({
      description: "`ending`: its date has come, and requests that began before it may still be running.",
    }),
  })
  .meta({ id: "Promotion" });

export const PromotionList = listOf(PromotionView);

export const OrderCreate = z
  .strictObject({
    amount: AmountInput,
    currency: z.string().regex(/^[A-Z]{3}$/, "write a currency code such as EUR"),
    reference: Reference,
    adapter: z
      .string()
      .max(64)
      .optional()
      .meta({ description: "Through what it will be paid. Absent: the only one there is." }),
  })
  .meta({ id: "PaymentOrderCreate" });

export const OrderView = z
  .object({
    id: z.string().meta({ description: "What a payment must name to fulfil the order." }),
    adapter: z.string(),
    reference: z.string(),
    amount: Money,
    currency: z.string(),
    state: z.enum(["open", "paid"]),
    created_at: Time,
    paid_at: Time.nullable(),
    payment: z.string().nullable().meta({ description: "The provider's id of the payment." }),
    pay_url: z
      .string()
      .nullable()
      .meta({ description: "Where an open order is paid, if the operator has set a page." }),
  })
  .meta({ id: "PaymentOrder" });

export const TopUpView = z
  .object({
    currency: z.string(),
    ways: z
      .array(
        z.object({
          adapter: z.string(),
          has_page: z.boolean().meta({ description: "Orders come with the address on which they are paid." }),
        }),
      )
      .meta({ description: "Through what orders can be paid; none: only the operator fills the wallet." }),
    contact: z.string().nullable().meta({ description: "Where to ask the operator, as the operator wrote it." }),
  })
  .meta({ id: "TopUp" });

export const OrderCreated = OrderView.extend({
  repeated: z.boolean().meta({ description: "True when an earlier call made this order." }),
}).meta({ id: "PaymentOrderCreated" });

const EntryFilters = z.strictObject({
  kind: z
    .string()
    .max(200)
    .optional()
    .meta({ description: `One or several of ${WalletKind.options.join(", ")}, separated by commas.` }),
  since: TimeInput.optional().meta({ description: "From this time on." }),
  until: TimeInput.optional().meta({ description: "Before this time." }),
});

export const EntryQuery = PageQuery.extend(EntryFilters.shape);

export const EntryExportQuery = EntryFilters.extend({
  format: z.enum(["csv", "jsonl"]).default("csv").meta({ description: "CSV with a header row, or JSON lines." }),
});

export const StatementQuery = z.strictObject({
  month: z
    .string()
    .regex(/^[2-8]\d{3}-(?:0[1-9]|1[0-2])$/, "write a month such as 2026-11")
    .meta({ description: "A calendar month of UTC.", example: "2026-11" }),
});

export const StatementView = z
  .object({
    workspace: z.string(),
    month: z.string(),
    from: Time,
    to: Time.meta({ description: "The moment after the month; in a month that is not over, it may still change." }),
    currency: z.string(),
    opening_balance: Money,
    closing_balance: Money.meta({ description: "The opening balance and everything below." }),
    kinds: z
      .array(z.object({ kind: WalletKind, transactions: z.number(), in: Money, out: Money, net: Money }))
      .meta({ description: "What the ledger says, by kind." }),
    models: z
      .array(z.object({ model: z.string().nullable(), requests: z.number(), cost: Money }))
      .meta({ description: "Charges by model; they sum to the charges above. Null: the model is not known." }),
  })
  .meta({ id: "WalletStatement" });

export const PaymentReceived = z
  .object({
    received: z.literal(true),
    outcome: z.enum(["credited", "taken_back", "repeated", "ignored"]).meta({
      description: "`repeated`: it was booked before. `ignored`: it is about nothing that moves money here.",
    }),
  })
  .meta({ id: "PaymentReceived" });
