import type { Ddl } from "../engine.ts";

/** Results of endpoint proofs; old rows are swept. */
export function proofs({ integer, text, plainTable }: Ddl): string[] {
  return [
    `create table endpoint_proofs (
      id ${text} not null primary key,
      endpoint ${text} not null,
      surface ${text} not null,
      subject ${text} not null,
      at_ms ${integer} not null,
      result ${text} not null,
      reason ${text} not null,
      cause ${text} not null,
      duration_ms ${integer} not null,
      input_tokens ${integer},
      output_tokens ${integer},
      audio_ms ${integer}
    ) ${plainTable}`,
    "create index endpoint_proofs_by_time on endpoint_proofs (at_ms, id)",
    "create index endpoint_proofs_by_endpoint on endpoint_proofs (endpoint, at_ms, id)",
  ];
}
