import type { PaymentRoom } from "../deps.ts";
import { type ExpiryDeps, PromotionExpiry } from "./promotions.ts";

/** What is done about money besides requests: payments taken, credit ended in time, doubts cleared up. */
export type Money = {
  readonly payments: PaymentRoom;
  /** Now and again. */
  run(): Promise<void>;
  stop(): Promise<void>;
};

type MoneyDeps = ExpiryDeps & Pick<PaymentRoom, "adapters" | "pages" | "contact">;

/** Credit whose date passed while nothing ran is gone before anyone can spend it. */
export async function openMoney(deps: MoneyDeps) {
  const { adapters, pages, contact, bookings, warn } = deps;
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
    payments: { adapters, pages, contact, refused: warn, granted: () => expiry.aim() },
    run: async () => {
      await settleDoubts();
      await expiry.run();
    },
    stop: () => expiry.stop(),
  };
  return money;
}
