import type { Row } from "../../api/client.ts";
import type { Tone } from "../../ui/badge.tsx";

export type Entry = Row<"manageListWalletEntries">;
type Kind = Entry["kind"];

type Words = { readonly label: string; readonly many: string; readonly tone: Tone; readonly says: string };

/** What moves money, in the words of the wallet. */
export const KINDS: Readonly<Record<Kind, Words>> = {
  charge: { label: "Request", many: "Requests", tone: "neutral", says: "A request at its price" },
  topup: { label: "Top-up", many: "Top-ups", tone: "good", says: "Money that was paid in" },
  promotion: {
    label: "Promotion",
    many: "Promotional credit given",
    tone: "accent",
    says: "Credit that was given and ends at a date",
  },
  expiry: { label: "Expiry", many: "Promotional credit that ended", tone: "warn", says: "Unused credit that ended" },
  refund: { label: "Refund", many: "Refunds of requests", tone: "good", says: "A request that was given back" },
  payout: {
    label: "Payout",
    many: "Top-ups that went back",
    tone: "warn",
    says: "A top-up that went back to who paid it",
  },
  chargeback: {
    label: "Chargeback",
    many: "Payments that were disputed",
    tone: "bad",
    says: "A payment that was disputed",
  },
  adjustment: {
    label: "Correction",
    many: "Corrections by the operator",
    tone: "info",
    says: "A correction by the operator",
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
