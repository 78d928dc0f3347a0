import type { PaymentDeps } from "../deps.ts";
import { PromotionExpiry, type PromotionExpiryDeps } from "./promotions.ts";

/** What is done about money besides requests: payments taken, credit ended in time, doubts cleared up. */
export type MoneyJobs = {
  readonly payments: PaymentDeps;
  /** Now and again. */
  run(): Promise<void>;
  stop(): Promise<void>;
};

type MoneyJobsDeps = PromotionExpiryDeps & Pick<PaymentDeps, "adapters" | "checkoutUrls" | "contact">;

/** Credit whose date passed while nothing ran is gone before anyone can spend it. */
export async function openMoneyJobs(deps: MoneyJobsDeps) {
  const { adapters, checkoutUrls, contact, ledgerPoster, warn } = deps;
  const expiry = new PromotionExpiry(deps);
  await expiry.run();
  const settleDoubts = async () => {
    try {
      const open = await ledgerPoster.resolveUncertain();
      if (open > 0) warn({ open }, "it is not known yet whether some bookings were written");
    } catch (error) {
      warn({ err: error }, "bookings could not be looked up yet");
    }
  };
  const money: MoneyJobs = {
    payments: { adapters, checkoutUrls, contact, onRejected: warn, onPromotionGranted: () => expiry.scheduleNext() },
    run: async () => {
      await settleDoubts();
      await expiry.run();
    },
    stop: () => expiry.stop(),
  };
  return money;
}
