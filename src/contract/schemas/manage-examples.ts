/** Examples of the management API; a test holds each against its schema. */
const AT = "2026-11-15T09:30:00.000Z";

export const policy = {
  floor: "L2",
  countries: ["DE", "FR"],
  zero_data_retention: false,
  no_training: true,
  blocked_providers: [],
  allowed_models: null,
  own_nodes: "subject" as const,
  test_keys: "any" as const,
  parameters: null,
};

export const keyPolicy = { personal_keys: true, approval: false, ip_allowlist: null };

export const workspace = {
  id: "ws_019a864f0b2c7f3a8e21d04c5b6a7988",
  slug: "research",
  name: "Research",
  currency: "EUR",
  created_at: AT,
  policy,
  key_policy: keyPolicy,
};

export const member = {
  id: "mem_019a864f0b2c7f3a8e21d04c5b6a7989",
  email: "ada@example.eu",
  role: "admin",
  created_at: AT,
};

export const memberListed = {
  ...member,
  joined: true,
  name: "Ada Moreau",
  two_factor: true,
  passkeys: 1,
  last_seen_at: AT,
};

export const key = {
  id: "key_019a864f0b2c7f3a8e21d04c5b6a798a",
  workspace: "research",
  name: "backend",
  prefix: "sk_svc_live_",
  kind: "workspace",
  member: null,
  environment: "live",
  state: "active",
  scopes: ["inference:chat"],
  ip_allowlist: ["203.0.113.0/24"],
  expires_at: null,
  grace_until: null,
  rpm: 600,
  policy: null,
  created_at: AT,
  rotated_from: null,
  purpose: "api" as const,
};

export const keyListed = { ...key, last_used_at: AT, requests_month: 412, spent_month: "1.204", currency: "EUR" };

export const keyIssued = {
  id: key.id,
  key: "sk_svc_live_…",
  prefix: "sk_svc_live_",
  name: "backend",
  environment: "live",
  expires_at: null,
};

export const wallet = { balance: "25.00", held: "0.00", currency: "EUR" };

export const walletCredited = {
  id: "credit:ws_019a864f0b2c7f3a8e21d04c5b6a7988:invoice-17",
  amount: "25.00",
  currency: "EUR",
  note: "Invoice 17",
  created_at: AT,
  repeated: false,
  wallet,
};

export const walletEntry = {
  id: walletCredited.id,
  kind: "topup",
  created_at: AT,
  amount: "25.00",
  currency: "EUR",
  note: "Invoice 17",
  request: null,
  balance_after: "25.00",
  entries: [
    { account: "topup_clearing", amount: "-25.00", currency: "EUR" },
    { account: "wallet", amount: "25.00", currency: "EUR" },
  ],
};

export const request = {
  id: "chatcmpl-019a864f0b2c7f3a8e21d04c5b6a798b",
  created_at: AT,
  key_id: key.id,
  key_name: "backend",
  member: null,
  environment: "live",
  app: "notebook",
  surface: "chat",
  model_requested: "sandbox/chat",
  model: "sandbox/chat",
  provider: "sandbox-de",
  endpoint: "sandbox-de:de:sandbox/chat",
  level: "L2",
  countries: ["DE"],
  router: null,
  streaming: false,
  status: 200,
  error_code: null,
  usage: {
    input_tokens: 12,
    cached_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 8,
    reasoning_tokens: 0,
    characters: null,
    images: null,
    search_units: null,
    seconds: null,
    estimated: false,
  },
  cost: "0.0000125",
  own_key: false,
  node_id: null,
  level_attested: false,
  currency: "EUR",
  ttfb_ms: 21,
  total_ms: 24,
  overhead_ms: 1,
  attempts: [
    {
      endpoint: "sandbox-de:de:sandbox/chat",
      provider: "sandbox-de",
      started_at: AT,
      duration_ms: 23,
      outcome: "served",
      upstream_status: 200,
      reason: "answered",
      maybe_accepted: false,
      own_key: false,
    },
  ],
};

/** What the detail has beside the row and the decision. */
export const requestDetail = {
  workspace: "research",
  omitted: [],
  detail: null,
  client_request_id: null,
  upstream_id: "chatcmpl-8d1f",
  captured_in: null,
  charge: {
    price: { currency: "EUR", input_per_1m_tokens: "0.05", output_per_1m_tokens: "0.2" },
    rate: null,
    margin: null,
  },
  policies: [
    {
      subject: "workspace",
      version: 2,
      policy: {
        floor: "L2",
        countries: null,
        zero_data_retention: false,
        no_training: false,
        blocked_providers: [],
        allowed_models: null,
        own_nodes: "subject",
        test_keys: "any",
        parameters: null,
      },
    },
  ],
  error: null,
};

export const decision = {
  candidates: [
    {
      endpoint: "sandbox-us:us:sandbox/chat",
      model: "sandbox/chat",
      provider: "sandbox-us",
      level: "L0",
      outcome: "excluded",
      reason: "level L0 is below the floor L2",
      scores: null,
    },
    {
      endpoint: "sandbox-de:de:sandbox/chat",
      model: "sandbox/chat",
      provider: "sandbox-de",
      level: "L2",
      outcome: "planned",
      reason: "lowest expected cost",
      scores: null,
    },
  ],
  order: ["sandbox-de:de:sandbox/chat"],
};

export const provider = {
  slug: "sandbox-de",
  name: "Sandbox Germany",
  operator: "Simulated",
  connected: true,
  credential: null,
  stored: false,
  overridden_by: null,
  connected_by_settings: false,
  own_key: null,
  sandbox: true,
  levels: ["L2"],
  countries: ["DE"],
  models: 1,
  endpoints: 1,
  setting: null,
};

export const audit = {
  id: "aud_019a864f0b2c7f3a8e21d04c5b6a798c",
  at: AT,
  actor: "operator",
  action: "key.revoke",
  workspace: "research",
  target: key.id,
  detail: {},
};

export const storedResponse = {
  id: "resp_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
  created_at: AT,
  expires_at: "2026-12-15T09:30:00.000Z",
  status: "completed",
  model: "sandbox/chat",
  background: false,
};

export const doctor = {
  ok: true,
  warnings: 0,
  checks: [{ name: "ledger", ok: true, status: "ok" as const, detail: "the ledger balances" }],
};
