import type { Ddl } from "../engine.ts";

const SUMS = [
  "requests, errors, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, characters",
  "audio_ms, cost_nanos, timed, total_ms, streamed, first_byte_ms",
].join(", ");
const MISSING = "0, 0, 0, 0, 0, 0, 0, 0, 0, sum(nanos), 0, 0, 0, 0";

/** No request has this shape id. */
const NO_SHAPE = 0;

/**
 * Earlier versions left requests that were logged as interrupted and charged later out of the roll-ups, which statements and
 * credit expiry use. The difference to the ledger is added by day and hour with an unknown key and model. The migration takes
 * no lock on the ledger, and no other process writes the added rows.
 */
export function chargesInRollups({ dayOf }: Ddl): string[] {
  const missing = (table: string, moment: string, column: string) => `
    select workspace_id, ${moment} as ${column}, moved_nanos as nanos from ledger_transactions where kind = 'charge'
    union all select workspace_id, ${column}, -cost_nanos as nanos from ${table}`;
  return [
    `insert into requests_daily (workspace_id, day, key_id, model, provider, environment, ${SUMS})
      select workspace_id, day, '', '', '', 'live', ${MISSING}
      from (${missing("requests_daily", dayOf("created_at_ms"), "day")}) as compared
      group by workspace_id, day having sum(nanos) > 0
      on conflict (workspace_id, day, key_id, model, provider, environment)
      do update set cost_nanos = requests_daily.cost_nanos + excluded.cost_nanos`,
    `insert into requests_hourly (workspace_id, hour_ms, shape, ${SUMS})
      select workspace_id, hour_ms, ${NO_SHAPE}, ${MISSING}
      from (${missing("requests_hourly", "created_at_ms - created_at_ms % 3600000", "hour_ms")}) as compared
      group by workspace_id, hour_ms having sum(nanos) > 0
      on conflict (workspace_id, hour_ms, shape)
      do update set cost_nanos = requests_hourly.cost_nanos + excluded.cost_nanos`,
    `insert into request_shapes
      (workspace_id, id, key_id, member_id, environment, app, model_requested, model, provider, status, surface)
      select distinct workspace_id, ${NO_SHAPE}, '', '', 'live', '', '', '', '', 200, '' from requests_hourly
      where shape = ${NO_SHAPE}
      on conflict do nothing`,
  ];
}
