import {
  MarginPut,
  MarginView,
  marginExample,
  RateHistory,
  RateHistoryQuery,
  RateList,
  RatesPost,
  RatesTaken,
  rateExample,
  ratesExample,
} from "../../schemas/manage-rates.ts";
import { managed } from "../managed.ts";

const RATES = "/manage/rates";
const MARGIN = "/manage/workspaces/{workspace}/margin";

/** Exchange rates, and what is added to providers' prices. */
export const RATE_ROUTES = [
  managed({
    id: "manageListRates",
    method: "GET",
    path: RATES,
    allows: "person",
    tag: "Prices",
    summary: "List the exchange rates in force",
    answer: RateList,
    example: { answer: { data: [rateExample], next: null } },
  }),
  managed({
    id: "managePostRates",
    method: "POST",
    path: RATES,
    allows: "operator",
    tag: "Prices",
    summary: "Give new exchange rates",
    description:
      "They hold from the next request on; what was charged keeps the rate it was charged at. Each rate is judged on its own: one that moved by more than a factor of 1.25, is older than the one in force or lies in the future is refused and named, and when all are refused the answer is 400.",
    body: RatesPost,
    answer: RatesTaken,
    example: { body: { rates: { USD: "1.1604" }, date: "2026-11-13" }, answer: ratesExample },
  }),
  managed({
    id: "manageRateHistory",
    method: "GET",
    path: `${RATES}/history`,
    allows: "person",
    tag: "Prices",
    summary: "List every exchange rate that was ever kept",
    query: RateHistoryQuery,
    answer: RateHistory,
    example: {
      answer: {
        data: [
          {
            id: "rate_01a1ddeb",
            currency: "USD",
            per_eur: "1.1604",
            date: "2026-11-13",
            source: rateExample.source,
            recorded_at: rateExample.recorded_at,
          },
        ],
        next: null,
      },
    },
  }),
  managed({
    id: "manageFetchRates",
    method: "POST",
    path: `${RATES}/fetch`,
    allows: "operator",
    tag: "Prices",
    summary: "Fetch exchange rates from GATEWAY_RATES_URL now",
    answer: RatesTaken,
    faults: ["invalid_value", "upstream_error"],
    example: { answer: ratesExample },
  }),
  managed({
    id: "manageShowMargin",
    method: "GET",
    path: MARGIN,
    allows: "operator",
    tag: "Prices",
    summary: "Show what is added to providers' prices for a workspace",
    answer: MarginView,
    example: { answer: marginExample },
  }),
  managed({
    id: "managePutMargin",
    method: "PUT",
    path: MARGIN,
    allows: "operator",
    tag: "Prices",
    summary: "Set or lift the margin of a workspace",
    description: "It holds from the next request on. The audit log keeps every change.",
    body: MarginPut,
    answer: MarginView,
    example: { body: { margin: "0.05" }, answer: marginExample },
  }),
];
