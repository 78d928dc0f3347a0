import type { Ddl } from "../engine.ts";

/** Request shapes: the filter dimensions are stored once per combination, and requests and hourly roll-ups refer to them. */
export function log({ integer, text, keyedTable, fromJson }: Ddl): string[] {
  const textField = (field: string) => `coalesce(${fromJson("record", [field])}, '')`;
  const integerField = (...path: string[]) => `cast(coalesce(${fromJson("record", path)}, '0') as ${integer})`;
  const failed = `${integerField("status")} >= 400 or ${fromJson("record", ["errorCode"])} is not null`;
  const sums: readonly (readonly [string, string])[] = [
    ["requests", "count(*)"],
    ["errors", `sum(case when ${failed} then 1 else 0 end)`],
    ["input_tokens", `sum(${integerField("usage", "inputTokens")})`],
    ["cached_tokens", `sum(${integerField("usage", "cachedTokens")})`],
    ["cache_write_tokens", `sum(${integerField("usage", "cacheWriteTokens")})`],
    ["output_tokens", `sum(${integerField("usage", "outputTokens")})`],
    ["reasoning_tokens", `sum(${integerField("usage", "reasoningTokens")})`],
    ["characters", `sum(${integerField("usage", "characters")})`],
    ["audio_ms", `sum(round(cast(coalesce(${fromJson("record", ["usage", "seconds"])}, '0') as numeric) * 1000))`],
    ["cost_nanos", `sum(${integerField("charge", "nanos")})`],
  ];
  const parts: readonly (readonly [string, string])[] = [
    ["key_id", textField("keyId")],
    ["member_id", textField("memberId")],
    ["environment", textField("environment")],
    ["app", textField("app")],
    ["model_requested", textField("modelRequested")],
    ["model", textField("model")],
    ["provider", textField("provider")],
    ["status", integerField("status")],
  ];
  const names = parts.map(([name]) => name);
  return [
    `create table request_shapes (
      workspace_id ${text} not null,
      id ${integer} not null,
      key_id ${text} not null,
      member_id ${text} not null,
      environment ${text} not null,
      app ${text} not null,
      model_requested ${text} not null,
      model ${text} not null,
      provider ${text} not null,
      status ${integer} not null,
      primary key (workspace_id, id)
    ) ${keyedTable}`,
    `alter table request_records add column shape ${integer} not null default 0`,
    // Existing shapes are numbered consecutively; later ids are hashes.
    `insert into request_shapes (workspace_id, id, ${names.join(", ")})
      select workspace_id, row_number() over (order by workspace_id), ${names.join(", ")} from (
        select distinct workspace_id, ${parts.map(([name, value]) => `${value} as ${name}`).join(", ")}
        from request_records
      ) as found`,
    `create index request_shapes_filling on request_shapes (workspace_id, ${names.join(", ")})`,
    `update request_records set shape = (
      select request_shapes.id from request_shapes where request_shapes.workspace_id = request_records.workspace_id
        and ${parts.map(([name, value]) => `request_shapes.${name} = ${value}`).join(" and ")}
    )`,
    "drop index request_shapes_filling",
    // Labels and keys are unbounded, so a workspace may have very many shapes.
    "create index request_shapes_by_app on request_shapes (workspace_id, app)",
    "create index request_shapes_by_key on request_shapes (workspace_id, key_id)",
    "drop index request_records_by_time",
    "create index request_records_by_time on request_records (workspace_id, created_at_ms, id, shape)",
    "create index request_records_by_shape on request_records (workspace_id, shape, created_at_ms, id)",
    `create table requests_hourly (
      workspace_id ${text} not null,
      hour_ms ${integer} not null,
      shape ${integer} not null,
      ${sums.map(([name]) => `${name} ${integer} not null`).join(", ")},
      primary key (workspace_id, hour_ms, shape)
    ) ${keyedTable}`,
    `insert into requests_hourly (workspace_id, hour_ms, shape, ${sums.map(([name]) => name).join(", ")})
      select workspace_id, created_at_ms - created_at_ms % 3600000, shape,
        ${sums.map(([, value]) => `cast(${value} as ${integer})`).join(", ")}
      from request_records group by workspace_id, created_at_ms - created_at_ms % 3600000, shape`,
  ];
}
