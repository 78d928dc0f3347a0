import { percentText } from "../../format/number.ts";
import { Progress } from "../../ui/layout.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { type Period, shareOf, toneOf } from "./share.ts";

/** Beyond this a share is only large: the limit was set far below what was spent. */
const SHOWN_MAX = 9.99;

type Props = {
  readonly period: Period;
  readonly unit: "day" | "month";
  readonly currency: string;
  readonly of: string;
};

/** What is taken of a day's or month's limit, in figures and as a bar. */
export function PeriodBar({ period, unit, currency, of }: Props) {
  const share = shareOf(period);
  const isHeld = Number(period.held) > 0;
  return (
    <div className="grid w-full min-w-0 gap-1 text-left">
      <p className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span>
          <Money amount={period.spent} currency={currency} className="font-medium" />
          {period.limit === null ? (
            <span className="text-soft"> spent, no limit</span>
          ) : (
            <span className="text-soft">
              {" of "}
              <Money amount={period.limit} currency={currency} />
            </span>
          )}
        </span>
        {share !== undefined && (
          <span className="figures text-xs text-soft">{share > SHOWN_MAX ? "over" : percentText(share)}</span>
        )}
      </p>
      {share !== undefined && <Progress share={share} tone={toneOf(share)} label={`Limit of the ${unit}: ${of}`} />}
      <p className="text-xs text-soft">
        {isHeld && (
          <>
            <Money amount={period.held} currency={currency} /> held by running requests,{" "}
          </>
        )}
        starts anew <Time at={period.resets_at} as="short" />
      </p>
    </div>
  );
}
