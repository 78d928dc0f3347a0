/** A usage report that must not be billed: the caller falls back to an estimate, bounded by the hold. */
export class ImpossibleUsage extends Error {
  constructor(reason: string) {
    super(`impossible usage: ${reason}`);
    this.name = "ImpossibleUsage";
  }
}

/** The endpoint should not have been eligible for a wallet in this currency. */
export class NoExchangeRate extends Error {
  constructor(from: string, to: string) {
    super(`there is no exchange rate from ${from} to ${to}`);
    this.name = "NoExchangeRate";
  }
}
