import type { Ddl } from "../engine.ts";

/** Capture windows and their contents, policy versions, and the view for evidence reports. */
export function capture({ integer, text, bytes, keyedTable, plainTable, fromJson, appendOnly }: Ddl): string[] {
  return [
    `create table capture_windows (
      id ${text} not null primary key,
      workspace_id ${text} not null references workspaces (id),
      opened_at_ms ${integer} not null,
      closes_at_ms ${integer} not null,
      closed_at_ms ${integer},
      purged_at_ms ${integer},
      retention_ms ${integer} not null,
      scope ${text} not null,
      opened_by ${text} not null,
      reason ${text},
      items ${integer} not null,
      bytes ${integer} not null
    ) ${plainTable}`,
    "create index capture_windows_by_time on capture_windows (opened_at_ms, id)",
    `create table captured (
      request_id ${text} not null primary key,
      window_id ${text} not null references capture_windows (id),
      workspace_id ${text} not null,
      key_id ${text} not null,
      captured_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      request ${bytes},
      answer ${bytes},
      cut ${text} not null
    ) ${plainTable}`,
    "create index captured_by_window on captured (window_id)",
    "create index captured_by_key on captured (workspace_id, key_id)",
    "create index captured_by_expiry on captured (expires_at_ms)",
    // `subject` is a key id, or empty for the workspace; a null policy has no rules.
    `create table policy_versions (
      workspace_id ${text} not null references workspaces (id),
      subject ${text} not null,
      version ${integer} not null,
      created_at_ms ${integer} not null,
      policy ${text},
      primary key (workspace_id, subject, version)
    ) ${keyedTable}`,
    ...appendOnly("policy_versions"),
    // Only the current version of existing policies is known, in force since its last change in the audit log.
    `insert into policy_versions (workspace_id, subject, version, created_at_ms, policy)
      select id, '', 1, coalesce((select max(at_ms) from audit_log where audit_log.workspace_id = workspaces.id
        and action = 'policy.change'), created_at_ms), policy from workspaces`,
    `insert into policy_versions (workspace_id, subject, version, created_at_ms, policy)
      select workspace_id, id, 1, coalesce((select max(at_ms) from audit_log where audit_log.target = api_keys.id
        and action = 'key.change'), created_at_ms), policy from api_keys where policy is not null`,
    `create view evidence_requests as select workspace_id, created_at_ms,
      ${[
        `${fromJson("record", ["keyId"])} as key_id`,
        `${fromJson("record", ["environment"])} as environment`,
        `${fromJson("record", ["provider"])} as provider`,
        `${fromJson("record", ["endpoint"])} as endpoint`,
        `${fromJson("record", ["model"])} as model`,
        `${fromJson("record", ["level"])} as level`,
        `${fromJson("record", ["countries"])} as countries`,
        `${fromJson("record", ["errorCode"])} as error_code`,
        `${fromJson("record", ["decision", "router", "slug"])} as router`,
        `cast(${fromJson("record", ["decision", "router", "version"])} as ${integer}) as router_version`,
        `cast(${fromJson("record", ["usage", "inputTokens"])} as ${integer}) as input_tokens`,
        `cast(${fromJson("record", ["usage", "outputTokens"])} as ${integer}) as output_tokens`,
        `cast(${fromJson("record", ["charge", "nanos"])} as ${integer}) as charge_nanos`,
        `${fromJson("record", ["charge", "currency"])} as currency`,
      ].join(",\n      ")}
      from request_records`,
  ];
}
