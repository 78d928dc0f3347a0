import type { Row } from "../../api/client.ts";
import type { Tone } from "../../ui/badge.tsx";

export type Entry = Row<"manageListWalletEntries">;
type Kind = Entry["kind"];

type KindLabel = { readonly label: string; readonly many: string; readonly tone: Tone; readonly description: string };

/** Labels of ledger entry kinds. */
export const KINDS: Readonly<Record<Kind, KindLabel>> = {
  charge: { label: "Request", many: "Requests", tone: "neutral", description: "Charge for a request" },
  topup: { label: "Top-up", many: "Top-ups", tone: "good", description: "Funds added" },
  promotion: {
    label: "Promotion",
    many: "Promotional credit granted",
    tone: "accent",
    description: "Promotional credit with an expiry date",
  },
  expiry: {
    label: "Expiry",
    many: "Expired promotional credit",
    tone: "warn",
    description: "Unused credit that expired",
  },
  refund: { label: "Refund", many: "Refunds", tone: "good", description: "Refund of a request" },
  payout: {
    label: "Payout",
    many: "Payouts",
    tone: "warn",
    description: "A top-up returned to the payer",
  },
  chargeback: {
    label: "Chargeback",
    many: "Chargebacks",
    tone: "bad",
    description: "A disputed payment",
  },
  adjustment: {
    label: "Adjustment",
    many: "Adjustments",
    tone: "info",
    description: "Balance adjustment by the operator",
  },
};

export const KIND_NAMES: readonly Kind[] = [
  "charge",
  "topup",
  "promotion",
  "expiry",
  "refund",
  "payout",
  "chargeback",
  "adjustment",
];
