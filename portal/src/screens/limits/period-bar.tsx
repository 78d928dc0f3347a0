import { percentText } from "../../format/number.ts";
import { Progress } from "../../ui/layout.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { type Period, toneOf, usageOf } from "./limit-usage.ts";

/** A higher percentage is shown as "Over": the limit was set far below the spend. */
const SHOWN_MAX = 9.99;

type Props = {
  readonly period: Period;
  readonly unit: "day" | "month";
  readonly currency: string;
  readonly of: string;
};

export function PeriodBar({ period, unit, currency, of }: Props) {
  const share = usageOf(period);
  const isHeld = Number(period.held) > 0;
  return (
    <div className="grid w-full min-w-0 content-start gap-1 text-left">
      <p className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span>
          <Money amount={period.spent} currency={currency} className="font-medium" />
          {period.limit === null ? (
            <span className="text-soft"> spent, no limit</span>
          ) : (
            <span className="text-soft">
              {" of "}
              <Money amount={period.limit} currency={currency} as="exact" />
            </span>
          )}
        </span>
        {share !== undefined && (
          <span className="figures text-xs text-soft">{share > SHOWN_MAX ? "Over" : percentText(share)}</span>
        )}
      </p>
      {share !== undefined && (
        <Progress share={share} tone={toneOf(share)} label={`${unit === "day" ? "Daily" : "Monthly"} limit: ${of}`} />
      )}
      <p className="text-xs text-soft">
        {isHeld && (
          <>
            <Money amount={period.held} currency={currency} /> held by running requests ·{" "}
          </>
        )}
        Resets <Time at={period.resets_at} as="short" />
      </p>
    </div>
  );
}
