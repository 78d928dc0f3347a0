import type { Generated } from "kysely";

/** Account tables. The authentication library writes times as ISO 8601 text and booleans as 0 or 1. */
export type PeopleTables = {
  people: {
    id: string;
    name: string;
    email: string;
    email_verified: number;
    image: string | null;
    two_factor_enabled: number | null;
    operator: number;
    disabled: number;
    epoch: Generated<number>;
    created_at: string;
    updated_at: string;
  };
  people_sessions: {
    id: string;
    user_id: string;
    /** A digest. */
    token: string;
    expires_at: string;
    ip_address: string | null;
    user_agent: string | null;
    created_at: string;
    updated_at: string;
  };
  people_accounts: {
    id: string;
    user_id: string;
    account_id: string;
    provider_id: string;
    password: string | null;
    created_at: string;
    updated_at: string;
  };
  people_verifications: {
    id: string;
    identifier: string;
    value: string;
    expires_at: string;
    created_at: string;
    updated_at: string;
  };
  people_two_factors: { id: string; user_id: string; secret: string; verified: number | null };
  people_passkeys: {
    id: string;
    user_id: string;
    name: string | null;
    backed_up: number;
    created_at: string | null;
  };
  people_devices: { id: string; user_id: string | null; expires_at: string };
  people_links: {
    id: string;
    kind: string;
    digest: string;
    email: string | null;
    workspace_id: string | null;
    role: string | null;
    made_by: string;
    created_at_ms: number;
    expires_at_ms: number;
    used_at_ms: number | null;
    revoked_at_ms: number | null;
    day_nanos: bigint | null;
    month_nanos: bigint | null;
  };
};
