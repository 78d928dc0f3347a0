import type { Generated } from "kysely";
import type { PeopleTables } from "./people-schema.ts";
import type { UsageColumns } from "./usage-columns.ts";
/**
 * The tables as Kysely sees them, on every engine. Money columns end in `_nanos` and are `bigint`; every other whole
 * number is a `number`, times are milliseconds since the Unix epoch, and structured values are JSON text.
 */
export type Database = {
  workspaces: {
    id: string;
    slug: string;
    name: string;
    currency: string;
    created_at_ms: number;
    policy: string;
    key_policy: string;
  };
  members: { id: string; workspace_id: string; email: string; role: string; created_at_ms: number; offered: number };
  api_keys: {
    id: string;
    workspace_id: string;
    member_id: string | null;
    name: string;
    kind: string;
    environment: string;
    digest: string;
    state: string;
    scopes: string | null;
    ip_allowlist: string | null;
    expires_at_ms: number | null;
    grace_until_ms: number | null;
    rpm: number | null;
    version: number;
    created_at_ms: number;
    rotated_from: string | null;
    policy: string | null;
    purpose: string | null;
  };
  management_tokens: {
    id: string;
    workspace_id: string;
    name: string;
    access: string;
    digest: string;
    created_at_ms: number;
    created_by: string;
    expires_at_ms: number | null;
  };
  /** Workspaces' own nodes, connected through a tunnel. */
  nodes: {
    id: string;
    workspace_id: string;
    name: string;
    country: string;
    digest: string;
    created_at_ms: number;
    created_by: string;
    /** JSON: local model ids to catalogue ids. */
    mapping: string;
    last_seen_at_ms: number | null;
    /** JSON array, oldest first; null: none. */
    attestations: string | null;
    /** JSON: local model ids to surfaces; null: as announced. */
    surfaces: string | null;
  };
  /** Replies that serve identical requests, encrypted. */
  cached_replies: {
    workspace_id: string;
    id: string;
    created_at_ms: number;
    expires_at_ms: number;
    size: number;
    reply: Uint8Array;
  };
  /** Data classes that workspaces define. */
  custom_classes: {
    workspace_id: string;
    name: string;
    version: number;
    terms: number;
    patterns: number;
    changed_at_ms: number;
    changed_by: string;
    definition: Uint8Array;
  };
  /** The change feed in commit order; null workspace: the deployment as a whole. */
  changes: { seq: Generated<number>; workspace_id: string | null; at_ms: number };
  /** Every version of every router; a null `spec` is a deletion. */
  router_versions: {
    workspace_id: string;
    slug: string;
    version: number;
    created_at_ms: number;
    spec: string | null;
  };
  /** Null: no limit. */
  spend_limits: {
    workspace_id: string;
    spender: string;
    spender_id: string;
    day_nanos: bigint | null;
    month_nanos: bigint | null;
  };
  /** Units of the currency per euro, as decimal text. Append-only. */
  exchange_rates: {
    id: string;
    code: string;
    per_eur: string;
    day: string;
    source: string;
    recorded_at_ms: number;
  };
  /** Every proof of an endpoint on a surface. Append-only. */
  endpoint_proofs: {
    id: string;
    endpoint: string;
    surface: string;
    subject: string;
    at_ms: number;
    result: string;
    reason: string;
    cause: string;
    duration_ms: number;
    input_tokens: number | null;
    output_tokens: number | null;
    audio_ms: number | null;
  };
  workspace_margins: { workspace_id: string; share: string };
  wallets: { workspace_id: string; currency: string; balance_nanos: bigint };
  /** One transfer between two accounts. */
  ledger_transactions: {
    workspace_id: string;
    created_at_ms: number;
    id: string;
    kind: string;
    from_account: string;
    to_account: string;
    currency: string;
    moved_nanos: bigint;
    note: string | null;
    detail: string | null;
  };
  /** Links a return (refund, reversal, expiry) to its source transaction. */
  ledger_returns: { transaction_id: string; workspace_id: string; source_id: string; source_created_at_ms: number };
  /** Expiring credit; the money itself is in the ledger. */
  promotions: {
    id: string;
    workspace_id: string;
    amount_nanos: bigint;
    granted_at_ms: number;
    expires_at_ms: number;
    expired_nanos: bigint;
    expiry_parts: number;
    closed_at_ms: number | null;
  };
  payment_orders: {
    id: string;
    workspace_id: string;
    adapter: string;
    reference: string;
    currency: string;
    amount_nanos: bigint;
    state: string;
    created_at_ms: number;
    paid_at_ms: number | null;
    payment_id: string | null;
  };
  /** A view: one row per account of each transaction. */
  ledger_entries: {
    transaction_id: string;
    place: number;
    account: string;
    workspace_id: string;
    created_at_ms: number;
    currency: string;
    amount_nanos: bigint;
  };
  request_records: { id: string; workspace_id: string; created_at_ms: number; record: string; shape: number };
  /** Dimensions that requests are filtered and aggregated by; unknown values are empty. */
  request_shapes: {
    workspace_id: string;
    id: number;
    key_id: string;
    member_id: string;
    environment: string;
    app: string;
    model_requested: string;
    model: string;
    provider: string;
    status: number;
    /** Empty for old shapes that were used on several surfaces. */
    surface: string;
    /** Empty for old shapes, like the country. */
    level: string;
    country: string;
    /** Null for shapes that do not distinguish it, the error code and the router. */
    endpoint: string | null;
    error_code: string;
    /** `slug@version`; empty without a router of the workspace. */
    router: string;
    /** Separated by commas. */
    data_classes: string;
    data_action: string;
  };
  /** A view: records with their queryable fields. */
  requests: {
    id: string;
    workspace_id: string;
    created_at_ms: number;
    record: string;
    key_id: string;
    environment: string;
    app: string | null;
    model_requested: string | null;
    model: string | null;
    provider: string | null;
    status: number;
    /** Null when nothing was charged. */
    charge_nanos: bigint | null;
  };
  requests_daily: UsageColumns & {
    workspace_id: string;
    day: string;
    key_id: string;
    model: string;
    provider: string;
    environment: string;
  };
  /** Days that the audit found to be in order, with the sums of `requests_daily` at that time. */
  audited_days: { workspace_id: string; day: string; requests: number; cost_nanos: bigint; other_sums: bigint };
  requests_hourly: UsageColumns & {
    workspace_id: string;
    hour_ms: number;
    shape: number;
    /** Encoded `REQUEST_SKETCHES`; null without successful requests, and for hours from before they were kept. */
    sketches: Uint8Array | null;
  };
  /** Attempts per endpoint, for the status page: by hour or day, and by the process that counted them. */
  endpoint_activity: {
    span: string;
    start_ms: number;
    endpoint: string;
    process: string;
    served: number;
    failed: number;
    /** One encoded sketch: total time of served attempts. */
    sketches: Uint8Array | null;
  };
  audit_log: {
    id: string;
    at_ms: number;
    actor: string;
    action: string;
    workspace_id: string | null;
    target: string | null;
    detail: string;
  };
  data_keys: { workspace_id: string; wrapped: Uint8Array; master_key: string | null };
  /** Workspaces' own provider keys; `secret` is encrypted, the other columns may be shown. */
  workspace_credentials: {
    workspace_id: string;
    provider: string;
    kind: string;
    usage: string;
    hint: string | null;
    fingerprint: string;
    created_at_ms: number;
    changed_at_ms: number;
    changed_by: string;
    result: string;
    tested_at_ms: number | null;
    secret: Uint8Array;
  };
  /** The platform's provider credentials; `secret` is encrypted, the other columns may be shown. */
  platform_credentials: {
    provider: string;
    kind: string;
    hint: string | null;
    fingerprint: string;
    created_at_ms: number;
    changed_at_ms: number;
    changed_by: string;
    secret: Uint8Array;
  };
  /** Uploaded files, and results of batches, which are read from their outcomes. */
  stored_files: {
    id: string;
    workspace_id: string;
    key_id: string;
    created_at_ms: number;
    expires_at_ms: number;
    purpose: string;
    content: string;
    batch_id: string | null;
    /** 0: still uploading. */
    complete: number;
    bytes: number;
    /** Encrypted. */
    filename: Uint8Array;
  };
  /** Whole lines each; encrypted. */
  file_chunks: { file_id: string; number: number; content: Uint8Array };
  batches: {
    id: string;
    workspace_id: string;
    key_id: string;
    shape: string;
    endpoint: string;
    input_file_id: string;
    status: string;
    created_at_ms: number;
    expires_at_ms: number;
    keep_until_ms: number;
    total: number;
    stop: string | null;
    /** JSON; null: not paused. */
    pause: string | null;
    /** JSON: when it reached each status. */
    times: string;
    output_file_id: string | null;
    error_file_id: string | null;
    /** Encrypted, like the errors of its validation. */
    origin: Uint8Array;
    errors: Uint8Array | null;
    /** The process that validates or finalizes it; empty: none. */
    lease_owner: string;
    lease_until_ms: number;
  };
  /** The lines of one chunk of a batch's input, with the sums of their outcomes. */
  batch_parts: {
    batch_id: string;
    number: number;
    first_line: number;
    lines: number;
    done: number;
    runs: number;
    lease_owner: string;
    lease_until_ms: number;
    succeeded: number;
    errored: number;
    cancelled: number;
    expired: number;
    cost_nanos: bigint;
    input_tokens: number;
    output_tokens: number;
    cached_tokens: number;
    reasoning_tokens: number;
  };
  /** `ending` is an index of `LINE_ENDS`; the content is encrypted. */
  batch_outcomes: {
    batch_id: string;
    line: number;
    part: number;
    ending: number;
    bytes: number;
    content: Uint8Array;
  };
  /** Records of served lines until their part is done, because they may not be in the journal. */
  batch_records: { batch_id: string; part: number; line: number; record: string };
  stored_responses: {
    id: string;
    workspace_id: string;
    key_id: string;
    created_at_ms: number;
    expires_at_ms: number;
    status: string;
    model: string;
    previous_id: string | null;
    background: string;
    runs: number;
    /** 1: the answer has begun. 2: the complete answer replaces the request. */
    answering: number;
    /** The run that claimed the end; 0: none. */
    ending: number;
    /** 1: canceled. */
    called_off: number;
    /**
     * Encrypted, like the two below: the response object, its input, and the request while it may be run again, or the answer
     * while it is being charged.
     */
    response: Uint8Array;
    input: Uint8Array;
    request: Uint8Array | null;
  };
  stored_items: { workspace_id: string; id: string; response_id: string };
  stored_events: { response_id: string; first_number: number; last_number: number; events: Uint8Array };
  capture_windows: {
    id: string;
    workspace_id: string;
    opened_at_ms: number;
    closes_at_ms: number;
    closed_at_ms: number | null;
    purged_at_ms: number | null;
    retention_ms: number;
    scope: string;
    opened_by: string;
    reason: string | null;
    items: number;
    bytes: number;
  };
  captured: {
    request_id: string;
    window_id: string;
    workspace_id: string;
    key_id: string;
    captured_at_ms: number;
    expires_at_ms: number;
    /** Encrypted, like the answer. */
    request: Uint8Array | null;
    answer: Uint8Array | null;
    cut: string;
  };
  /** Every version of every policy; `subject` is a key's id, or empty for the workspace itself. */
  policy_versions: {
    workspace_id: string;
    subject: string;
    version: number;
    created_at_ms: number;
    policy: string | null;
  };
  /** A view: the fields of records that evidence reports aggregate. */
  evidence_requests: {
    workspace_id: string;
    created_at_ms: number;
    key_id: string;
    environment: string;
    provider: string | null;
    endpoint: string | null;
    model: string | null;
    level: string | null;
    /** A list as JSON. */
    countries: string | null;
    error_code: string | null;
    router: string | null;
    router_version: number | null;
    input_tokens: number | null;
    output_tokens: number | null;
    charge_nanos: bigint | null;
    currency: string | null;
  };
  idempotency_keys: {
    key_digest: string;
    body_digest: string;
    workspace_id: string;
    request_id: string;
    status: number;
    charged_nanos: bigint;
    currency: string;
    expires_at_ms: number;
  };
  /** Alert rules per workspace. */
  alert_rules: {
    workspace_id: string;
    low_balance_nanos: bigint | null;
    /** Lists as JSON. */
    limit_percents: string;
    credential_refused: number;
    /** A list as JSON. */
    data_classes: string | null;
    mail_to: string | null;
    webhook_url: string | null;
    /** Encrypted. */
    webhook_secret: Uint8Array | null;
    secret_changed_at_ms: number | null;
    changed_at_ms: number;
  };
  /** Alerts that have fired and are not repeated while the row exists. */
  alerts_standing: {
    workspace_id: string;
    subject: string;
    mark: string;
    alert_id: string;
    told_at_ms: number;
  };
  alert_deliveries: {
    id: string;
    alert_id: string;
    workspace_id: string;
    kind: string;
    channel: string;
    target: string;
    payload: string;
    created_at_ms: number;
    state: string;
    attempts: number;
    at_ms: number;
    last_error: string | null;
  };
  /** The outbox of the log export. */
  log_outbox: { target: string; request_id: string; queued_at_ms: number; record: string };
  meta: { name: string; value: string };
  schema_migrations: { number: number; name: string; checksum: string; applied_at_ms: number };
} & PeopleTables;
