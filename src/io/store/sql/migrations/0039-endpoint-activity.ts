import type { Ddl } from "../engine.ts";

/** What the status page shows. Each process has its own rows, so that processes never wait for each other. */
export function endpointActivity({ integer, text, bytes, keyedTable }: Ddl): string[] {
  return [
    `create table endpoint_activity (
      span ${text} not null,
      start_ms ${integer} not null,
      endpoint ${text} not null,
      process ${text} not null,
      served ${integer} not null,
      failed ${integer} not null,
      sketches ${bytes},
      primary key (span, start_ms, endpoint, process)
    ) ${keyedTable}`,
  ];
}
