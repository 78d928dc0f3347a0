import type { Row } from "../../api/client.ts";
import type { Tone } from "../../ui/badge.tsx";

export type Entry = Row<"manageListWalletEntries">;
export type Kind = Entry["kind"];

/** What moves money, in the words of the wallet. */
export const KINDS: Readonly<Record<Kind, { readonly label: string; readonly tone: Tone; readonly says: string }>> = {
  charge: { label: "Request", tone: "neutral", says: "A request at its price" },
  topup: { label: "Top-up", tone: "good", says: "Money that was paid in" },
  promotion: { label: "Promotion", tone: "accent", says: "Credit that was given and ends at a date" },
  expiry: { label: "Expiry", tone: "warn", says: "Unused credit that ended" },
  refund: { label: "Refund", tone: "good", says: "A request that was given back" },
  payout: { label: "Payout", tone: "warn", says: "A top-up that went back to who paid it" },
  chargeback: { label: "Chargeback", tone: "bad", says: "A payment that was disputed" },
  adjustment: { label: "Correction", tone: "info", says: "A correction by the operator" },
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
