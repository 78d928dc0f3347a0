import { type Decimal, formatDecimal, parseDecimal } from "../../kit/money.ts";
import { powerOfTen } from "./exchange-rate.ts";

/** What the operator adds to a provider's price. A price times `numerator / denominator` is what is charged. */
export type Margin = {
  readonly numerator: bigint;
  readonly denominator: bigint;
  /** The share that is added, as it is written beside a charge: "0.05". */
  readonly share: string;
};

/** Prices as they are. */
export const NO_MARGIN: Margin = { numerator: 1n, denominator: 1n, share: "0" };

/** −1 gives everything away; beyond eleven times the price somebody wrote percent. */
const SHARE_MIN = -1n;
const SHARE_MAX = 10n;
const PLACES_MAX = 6;

export const MARGIN_FORMAT_HINT = `write a share of the price from ${SHARE_MIN} to ${SHARE_MAX} with at most ${PLACES_MAX} places, such as 0.05 for five percent`;

/** Undefined for what is no margin. */
export function parseMargin(text: string): Margin | undefined {
  const share = parseDecimal(text);
  if (share === undefined || share.scale > PLACES_MAX) return undefined;
  const denominator = powerOfTen(share.scale);
  if (share.digits < SHARE_MIN * denominator || share.digits > SHARE_MAX * denominator) return undefined;
  if (share.digits === 0n) return NO_MARGIN;
  return { numerator: denominator + share.digits, denominator, share: formatDecimal(share) };
}

/** A figure of a price with the margin in it, exactly. */
export function withMargin(figure: Decimal, { numerator, denominator }: Margin): Decimal {
  if (numerator === denominator) return figure;
  return { digits: figure.digits * numerator, scale: figure.scale + (denominator.toString().length - 1) };
}

export type MarginStore = {
  /** Of one workspace alone where it is named. */
  loadAll(workspaceId?: string): Promise<readonly { readonly workspaceId: string; readonly share: string }[]>;
  /** Null: the deployment's own margin holds again. */
  save(workspaceId: string, share: string | null): Promise<void>;
};

/** Which margin holds for whom, in memory: what the request path reads. */
export class MarginRegistry {
  /** Of every workspace that has none of its own. */
  readonly defaultMargin: Margin;
  readonly #overrides = new Map<string, Margin>();

  constructor(usual: Margin) {
    this.defaultMargin = usual;
  }

  set(workspaceId: string, margin: Margin | null): void {
    if (margin === null) this.#overrides.delete(workspaceId);
    else this.#overrides.set(workspaceId, margin);
  }

  /** Undefined where the usual one holds. */
  overrideFor(workspaceId: string): Margin | undefined {
    return this.#overrides.get(workspaceId);
  }

  marginFor(workspaceId: string): Margin {
    return this.#overrides.size === 0 ? this.defaultMargin : (this.#overrides.get(workspaceId) ?? this.defaultMargin);
  }
}
