import { type Decimal, formatDecimal, parseDecimal, powerOfTen } from "../../kit/money.ts";

/** −1 makes requests free; a share above the maximum is probably meant as percent. */
const SHARE_MIN = -1n;
const SHARE_MAX = 10n;
const PLACES_MAX = 6;

export const MARGIN_FORMAT_HINT = `must be a share of the price from ${SHARE_MIN} to ${SHARE_MAX} with at most ${PLACES_MAX} decimal places, such as 0.05 for five percent`;

/** Undefined for an invalid margin. */
export function parseMargin(text: string): Margin | undefined {
  const share = parseDecimal(text);
  if (share === undefined || share.scale > PLACES_MAX) return undefined;
  const denominator = powerOfTen(share.scale);
  if (share.digits < SHARE_MIN * denominator || share.digits > SHARE_MAX * denominator) return undefined;
  if (share.digits === 0n) return NO_MARGIN;
  return { numerator: denominator + share.digits, denominator, share: formatDecimal(share) };
}

/** Exact. */
export function withMargin(price: Decimal, { numerator, denominator }: Margin): Decimal {
  if (numerator === denominator) return price;
  return { digits: price.digits * numerator, scale: price.scale + (denominator.toString().length - 1) };
}

export type MarginStore = {
  /** Of one workspace if it is given. */
  loadAll(workspaceId?: string): Promise<readonly { readonly workspaceId: string; readonly share: string }[]>;
  /** Null: the deployment's margin applies again. */
  save(workspaceId: string, share: string | null): Promise<void>;
};

/** What the operator adds: the charged price is the provider's times `numerator / denominator`. */
export type Margin = {
  readonly numerator: bigint;
  readonly denominator: bigint;
  /** The added share as it is recorded with a charge: "0.05". */
  readonly share: string;
};

export const NO_MARGIN: Margin = { numerator: 1n, denominator: 1n, share: "0" };
/** What a request is billed for besides tokens. `cacheTtl`: the longest cache lifetime it requests. */
export type HoldUnits = {
  readonly characters?: number | undefined;
  readonly seconds?: number | undefined;
  readonly images?: number | undefined;
  readonly searchUnits?: number | undefined;
  readonly cacheTtl?: "5m" | "1h" | undefined;
  /** Requested surcharges, with the maximum number of uses if the request states it. */
  readonly extras?: readonly { readonly name: string; readonly usesMax?: number }[] | undefined;
  /** Number of prompts of this size; by default one. */
  readonly prompts?: number | undefined;
  readonly margin: Margin;
};
