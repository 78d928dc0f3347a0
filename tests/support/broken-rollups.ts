const DAY = "ws_1 on 2027-01-15";

/** Changes behind the store's back to a store with one request `r1` over 30, and the audit's finding for each. */
export const ROLLUPS_BROKEN: readonly (readonly [statement: string, problems: readonly string[]])[] = [
  [
    "update requests_daily set cost_nanos = cost_nanos + 1",
    [
      `cost_nanos of ${DAY} is 31 in requests_daily but 30 in requests_hourly`,
      `cost_nanos of ${DAY} is 31 in requests_daily but 30 in the ledger: statements go by the first, wallets by the second`,
    ],
  ],
  [
    "update requests_hourly set cost_nanos = cost_nanos - 1",
    [`cost_nanos of ${DAY} is 30 in requests_daily but 29 in requests_hourly`],
  ],
  [
    "update requests_hourly set output_tokens = output_tokens + 1",
    [`output_tokens of ${DAY} is 300 in requests_daily but 301 in requests_hourly`],
  ],
  [
    "update requests_hourly set hour_ms = hour_ms + 3600000",
    ["the log of ws_1 has 1 request of one kind in the hour of 2027-01-15T12:00:00.000Z, but requests_hourly has 0"],
  ],
  [
    `update request_records set record = replace(record, '"nanos":"30"', '"nanos":"0"')`,
    ["request r1 is free in the log, but charged 30 in the ledger"],
  ],
];
