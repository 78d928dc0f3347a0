import { useEffect, useState } from "react";
import { countryName } from "../format/country.ts";
import { type MoneyAs, moneyText } from "../format/money.ts";
import { compactText, numberText } from "../format/number.ts";
import { dayText, exactText, relativeText, shortText } from "../format/time.ts";
import { cx } from "./class-names.ts";

/** Unknown values are shown as a dash, never as zero. */
export function Unknown() {
  return (
    <span className="text-faint">
      <span aria-hidden="true">–</span>
      <span className="sr-only">Unknown</span>
    </span>
  );
}

type MoneyProps = {
  readonly amount: string | null | undefined;
  readonly currency: string;
  readonly as?: MoneyAs | undefined;
  readonly signed?: boolean | undefined;
  readonly className?: string | undefined;
};

/** Longer amounts use a smaller font in tiles and may wrap before the currency. */
const LONG_MONEY = 12;

/** A localised amount with the exact value as its title. */
export function Money({ amount, currency, as, signed = false, className }: MoneyProps) {
  if (amount === null || amount === undefined) return <Unknown />;
  const isNegative = amount.startsWith("-");
  const sign = signed && !isNegative && Number(amount) > 0 ? "+" : "";
  const text = moneyText(amount, currency, as);
  const isLong = text.length > LONG_MONEY;
  return (
    <span
      title={`${amount} ${currency}`}
      data-long={isLong || undefined}
      className={cx("figures whitespace-nowrap", signed && sign === "+" && "text-good", className)}
    >
      {sign}
      {isLong ? text.replaceAll("\u00a0", " ") : text}
    </span>
  );
}

export function Num({
  value,
  compact = false,
  unit,
  className,
}: {
  readonly value: number | null | undefined;
  readonly compact?: boolean | undefined;
  readonly unit?: string | undefined;
  readonly className?: string | undefined;
}) {
  if (value === null || value === undefined) return <Unknown />;
  const exact = numberText(value);
  return (
    <span title={compact ? exact : undefined} className={cx("figures whitespace-nowrap", className)}>
      {compact ? compactText(value) : exact}
      {unit !== undefined && <span className="text-soft"> {unit}</span>}
    </span>
  );
}

type TimeProps = {
  readonly at: string | number | null | undefined;
  readonly as?: "relative" | "exact" | "short" | "day" | undefined;
  readonly none?: string | undefined;
};

/** A time in the reader's time zone; relative by default, with the exact time as its title. */
export function Time({ at, as = "relative", none = "Never" }: TimeProps) {
  const nowMs = useNow(as === "relative");
  if (at === null || at === undefined) return <span className="text-faint">{none}</span>;
  const atMs = new Date(at).getTime();
  if (Number.isNaN(atMs)) return <Unknown />;
  const formatters = {
    relative: () => relativeText(atMs, Math.max(nowMs, Date.now())),
    exact: () => exactText(atMs),
    short: () => shortText(atMs),
    day: () => dayText(atMs),
  };
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactText(atMs)} className="figures whitespace-nowrap">
      {formatters[as]()}
    </time>
  );
}

const TICK_MS = 15_000;

/** The current time for relative texts, updated periodically. */
export function useNow(isUpdating = true, intervalMs = TICK_MS): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!isUpdating) return;
    const timer = setInterval(() => setNowMs(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [isUpdating, intervalMs]);
  return nowMs;
}

/** An ISO country code with its name: `FR France`. */
export function Country({
  code,
  short = false,
}: {
  readonly code: string | null | undefined;
  readonly short?: boolean | undefined;
}) {
  if (code === null || code === undefined || code === "") return <Unknown />;
  const name = countryName(code);
  return (
    <span title={name} className="inline-flex items-baseline gap-1.5 whitespace-nowrap">
      <span className="rounded-sm border px-1 font-mono text-2xs leading-4 text-soft">{code.toUpperCase()}</span>
      {short ? <span className="sr-only">{name}</span> : name}
    </span>
  );
}
