import { Badge } from "../../ui/badge.tsx";
import { Time } from "../../ui/values.tsx";
import type { PublicEndpointDetail } from "./catalogue.ts";
import { MainPrice } from "./parts.tsx";

type HistoryRow = PublicEndpointDetail["price_history"][number];

/** Dated prices, latest first; with one price only the day it is known since. */
export function PriceHistory({ endpoint }: { readonly endpoint: PublicEndpointDetail }) {
  const { upcoming_prices: upcoming, price_history: history } = endpoint;
  const [current, ...earlier] = history;
  if (current === undefined && upcoming.length === 0) return <p className="text-soft">No price on record.</p>;
  const rows = [
    ...upcoming.toReversed().map((price) => ({ price, label: "Upcoming", isUpcoming: true })),
    ...(current === undefined ? [] : [{ price: current, label: "Current", isUpcoming: false }]),
    ...earlier.map((price) => ({ price, label: undefined, isUpcoming: false })),
  ];
  return (
    <ol className="grid gap-1.5">
      {rows.map(({ price, label, isUpcoming }) => (
        <li key={price.from ?? "first"} className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1">
          <span className="flex flex-wrap items-center gap-2 text-soft">
            <PriceDate price={price} isUpcoming={isUpcoming} />
            {label !== undefined && <Badge tone={isUpcoming ? "warn" : "neutral"}>{label}</Badge>}
          </span>
          <span className="figures text-right">
            <MainPrice price={price} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function PriceDate({ price, isUpcoming }: { readonly price: HistoryRow; readonly isUpcoming: boolean }) {
  if (price.since === null) return <span>Date unknown</span>;
  return (
    <span>
      {isUpcoming ? "From " : "Since "}
      <Time at={price.since} as="day" />
    </span>
  );
}
