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
    summary: "List current exchange rates",
    answer: RateList,
    example: { answer: { data: [rateExample], next: null } },
  }),
  managed({
    id: "managePostRates",
    method: "POST",
    path: RATES,
    allows: "operator",
    tag: "Prices",
    summary: "Set exchange rates",
    description:
      "Takes effect with the next request; earlier charges keep their rate. Each rate is validated separately: a rate that changed by more than a factor of 1.25, is older than the current one or is in the future is rejected and reported. If all rates are rejected, the response is 400.",
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
    summary: "List the history of exchange rates",
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
    summary: "Show the margin of a workspace",
    answer: MarginView,
    example: { answer: marginExample },
  }),
  managed({
    id: "managePutMargin",
    method: "PUT",
    path: MARGIN,
    allows: "operator",
    tag: "Prices",
    summary: "Set or remove the margin of a workspace",
    description: "Takes effect with the next request. Every change is in the audit log.",
    body: MarginPut,
    answer: MarginView,
    example: { body: { margin: "0.05" }, answer: marginExample },
  }),
];
