import type { PaymentDeps } from "../deps.ts";
import { PromotionExpiry, type PromotionExpiryDeps } from "./promotions.ts";

/** Payment webhooks, expiry of promotional credit and resolution of uncertain transactions. */
export type MoneyJobs = {
  readonly payments: PaymentDeps;
  /** Runs the periodic jobs once. */
  run(): Promise<void>;
  stop(): Promise<void>;
};

type MoneyJobsDeps = PromotionExpiryDeps & Pick<PaymentDeps, "adapters" | "checkoutUrls" | "contact">;

/** Runs the expiry first, so that credit that expired during a downtime cannot be spent. */
export async function openMoneyJobs(deps: MoneyJobsDeps) {
  const { adapters, checkoutUrls, contact, ledgerPoster, warn } = deps;
  const expiry = new PromotionExpiry(deps);
  await expiry.run();
  const resolveUncertain = async () => {
    try {
      const open = await ledgerPoster.resolveUncertain();
      if (open > 0) warn({ open }, "ledger: transactions with unknown outcome");
    } catch (error) {
      warn({ err: error }, "ledger: lookup of uncertain transactions failed");
    }
  };
  const money: MoneyJobs = {
    payments: { adapters, checkoutUrls, contact, onRejected: warn, onPromotionGranted: () => expiry.scheduleNext() },
    run: async () => {
      await resolveUncertain();
      await expiry.run();
    },
    stop: () => expiry.stop(),
  };
  return money;
}
