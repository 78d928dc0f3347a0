import { ExchangeRateUpdater, type ExchangeRateUpdaterDeps } from "../app/manage/money/exchange-rate-updater.ts";
import { type MoneyJobs, openMoneyJobs } from "../app/manage/money/money-jobs.ts";
import type { PromotionExpiryDeps } from "../app/manage/money/promotions.ts";
import { MarginRegistry } from "../domain/billing/charge.ts";
import { NO_MARGIN, parseMargin } from "../domain/billing/margin.ts";
import { newerCatalogueRates, type RateRegistry, type RateRow } from "../domain/catalogue/exchange-rates.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import { openPaymentAdapters } from "../io/payments/payment-adapters.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { createEcbRateSource } from "../io/upstream/ecb-rate-source.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { formatDecimal } from "../kit/money.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { holdMaxMs, REQUEST_READ_TIMEOUT_MS } from "./overload-protection.ts";

/** Loads margins and exchange rates; newer rates of the catalogue files are added to the store. */
export async function loadPrices(
  config: Config,
  store: Store,
  rates: RateRegistry,
  ids: IdGenerator,
): Promise<MarginRegistry> {
  const latest = await store.rates.latest();
  const newer = newerCatalogueRates(rates.snapshot, latest).map(
    (currency): RateRow => ({
      id: ids.next("rate_"),
      code: currency.code,
      perEur: formatDecimal(currency.perEur),
      day: currency.rateDate,
      source: currency.rateSource,
      recordedAtMs: systemClock.nowMs(),
    }),
  );
  await store.rates.append(newer);
  rates.apply([...latest, ...newer]);
  const margins = new MarginRegistry(parseMargin(config.GATEWAY_MARGIN) ?? NO_MARGIN);
  for (const { workspaceId, share } of await store.margins.loadAll())
    margins.set(workspaceId, parseMargin(share) ?? null);
  return margins;
}

type RateUpdaterBootstrapDeps = Pick<ExchangeRateUpdaterDeps, "tenancy" | "store" | "rateBook" | "mutationLock"> & {
  readonly fleet: Pick<Fleet, "isLeader">;
  readonly log: Logger;
  readonly transport: Transport;
};

/** Fetches exchange rates periodically when GATEWAY_RATES_URL is set. */
export function startRateUpdater(config: Config, deps: RateUpdaterBootstrapDeps): ExchangeRateUpdater {
  const { fleet, log, transport, tenancy, store, rateBook, mutationLock } = deps;
  const { GATEWAY_RATES_URL: address, GATEWAY_RATES_EVERY: every, GATEWAY_RATES_STALE_DAYS: staleDays } = config;
  const updater = new ExchangeRateUpdater({
    tenancy,
    store,
    rateBook,
    mutationLock,
    source: address === null ? undefined : createEcbRateSource(address, transport, systemTimers),
    everyMs: parseDurationMs(every) ?? 0,
    staleDays,
    timers: systemTimers,
    isLeader: () => fleet.isLeader,
    warn: (detail, message) => log.warn(detail, message),
  });
  updater.start();
  return updater;
}

/** Payment adapters, and the expiry of promotional credit. */
export function openPayments(
  config: Config,
  deps: Omit<PromotionExpiryDeps, "timers" | "requestMaxMs" | "lateChargeMaxMs" | "warn">,
  log: Logger,
): Promise<MoneyJobs> {
  const secretsOf = {
    webhook: config.GATEWAY_PAYMENT_WEBHOOK_SECRETS,
    stripe: config.GATEWAY_PAYMENT_STRIPE_SECRETS,
  };
  const secrets = new Map(config.GATEWAY_PAYMENTS.map((name) => [name, secretsOf[name]]));
  return openMoneyJobs({
    ...deps,
    checkoutUrls: new Map([
      ["webhook", config.GATEWAY_PAYMENT_WEBHOOK_PAGE],
      ["stripe", config.GATEWAY_PAYMENT_STRIPE_PAGE],
    ]),
    contact: config.GATEWAY_OPERATOR_CONTACT,
    adapters: openPaymentAdapters(secrets, parseDurationMs(config.GATEWAY_PAYMENT_TOLERANCE) ?? 0),
    timers: systemTimers,
    requestMaxMs: holdMaxMs(config),
    // Another instance repeats the background job of a crashed one, so two holds can follow one another.
    lateChargeMaxMs: REQUEST_READ_TIMEOUT_MS + 2 * holdMaxMs(config),
    warn: (detail, message) => log.warn(detail, message),
  });
}
