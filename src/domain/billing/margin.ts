import { type Decimal, formatDecimal, parseDecimal, powerOfTen } from "../../kit/money.ts";
import { type Margin, NO_MARGIN } from "./charge.ts";

/** −1 makes requests free; a share above the maximum is probably meant as percent. */
const SHARE_MIN = -1n;
const SHARE_MAX = 10n;
const PLACES_MAX = 6;

export const MARGIN_FORMAT_HINT = `write a share of the price from ${SHARE_MIN} to ${SHARE_MAX} with at most ${PLACES_MAX} places, such as 0.05 for five percent`;

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
