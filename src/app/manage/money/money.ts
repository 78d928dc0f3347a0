import type { PaymentAdapter } from "../../../domain/billing/payment.ts";
import type { PaymentRoom } from "../deps.ts";
import { type ExpiryDeps, PromotionExpiry } from "./promotions.ts";

/** What is done about money besides requests: payments taken, credit ended in time, doubts cleared up. */
export type Money = {
  readonly payments: PaymentRoom;
  /** Now and again. */
  run(): Promise<void>;
  stop(): Promise<void>;
};

/** Credit whose date passed while nothing ran is gone before anyone can spend it. */
export async function openMoney(deps: ExpiryDeps & { readonly adapters: ReadonlyMap<string, PaymentAdapter> }) {
  const { adapters, bookings, warn } = deps;
  const expiry = new PromotionExpiry(deps);
  await expiry.run();
  const settleDoubts = async () => {
    try {
      const open = await bookings.settle();
      if (open > 0) warn({ open }, "it is not known yet whether some bookings were written");
    } catch (error) {
      warn({ err: error }, "bookings could not be looked up yet");
    }
  };
  const money: Money = {
    payments: { adapters, refused: warn, granted: () => expiry.aim() },
    run: async () => {
      await settleDoubts();
      await expiry.run();
    },
    stop: () => expiry.stop(),
  };
  return money;
}
