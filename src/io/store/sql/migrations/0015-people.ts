import type { Ddl } from "../engine.ts";

/**
 * Accounts. The authentication library writes the first seven tables through `auth-adapter.ts`, with ISO 8601 times and booleans
 * as 0 or 1. Session tokens and device codes are stored as digests. `people_links` has set-up links, invitations and pending
 * sign-ups by the digest of their token.
 */
export function people({ integer, text, plainTable }: Ddl): string[] {
  return [
    `create table people (
      id ${text} not null primary key,
      name ${text} not null,
      email ${text} not null unique,
      email_verified ${integer} not null,
      image ${text},
      two_factor_enabled ${integer},
      operator ${integer} not null default 0,
      disabled ${integer} not null default 0,
      created_at ${text} not null,
      updated_at ${text} not null
    ) ${plainTable}`,
    `create table people_sessions (
      id ${text} not null primary key,
      user_id ${text} not null references people (id) on delete cascade,
      token ${text} not null unique,
      expires_at ${text} not null,
      ip_address ${text},
      user_agent ${text},
      created_at ${text} not null,
      updated_at ${text} not null
    ) ${plainTable}`,
    "create index people_sessions_by_person on people_sessions (user_id)",
    "create index people_sessions_by_end on people_sessions (expires_at)",
    `create table people_accounts (
      id ${text} not null primary key,
      user_id ${text} not null references people (id) on delete cascade,
      account_id ${text} not null,
      provider_id ${text} not null,
      password ${text},
      access_token ${text},
      refresh_token ${text},
      id_token ${text},
      access_token_expires_at ${text},
      refresh_token_expires_at ${text},
      scope ${text},
      created_at ${text} not null,
      updated_at ${text} not null,
      unique (provider_id, account_id)
    ) ${plainTable}`,
    "create index people_accounts_by_person on people_accounts (user_id)",
    `create table people_verifications (
      id ${text} not null primary key,
      identifier ${text} not null,
      value ${text} not null,
      expires_at ${text} not null,
      created_at ${text} not null,
      updated_at ${text} not null
    ) ${plainTable}`,
    "create index people_verifications_by_identifier on people_verifications (identifier)",
    "create index people_verifications_by_end on people_verifications (expires_at)",
    `create table people_two_factors (
      id ${text} not null primary key,
      user_id ${text} not null references people (id) on delete cascade,
      secret ${text} not null,
      backup_codes ${text} not null,
      verified ${integer},
      failed_verification_count ${integer},
      locked_until ${text}
    ) ${plainTable}`,
    "create index people_two_factors_by_person on people_two_factors (user_id)",
    `create table people_passkeys (
      id ${text} not null primary key,
      user_id ${text} not null references people (id) on delete cascade,
      name ${text},
      public_key ${text} not null,
      credential_id ${text} not null unique,
      counter ${integer} not null,
      device_type ${text} not null,
      backed_up ${integer} not null,
      transports ${text},
      created_at ${text},
      aaguid ${text}
    ) ${plainTable}`,
    "create index people_passkeys_by_person on people_passkeys (user_id)",
    `create table people_devices (
      id ${text} not null primary key,
      device_code ${text} not null unique,
      user_code ${text} not null unique,
      user_id ${text},
      expires_at ${text} not null,
      status ${text} not null,
      last_polled_at ${text},
      polling_interval ${integer},
      client_id ${text},
      scope ${text}
    ) ${plainTable}`,
    `create table people_links (
      id ${text} not null primary key,
      kind ${text} not null,
      digest ${text} not null unique,
      email ${text},
      workspace_id ${text} references workspaces (id),
      role ${text},
      made_by ${text} not null,
      created_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      used_at_ms ${integer},
      revoked_at_ms ${integer},
      check ((workspace_id is null) = (role is null))
    ) ${plainTable}`,
    "create index people_links_by_workspace on people_links (workspace_id, created_at_ms)",
  ];
}
