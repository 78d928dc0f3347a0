import { certificates, databaseUrl, integer, redisUrl, setting } from "./setting-types.ts";

/** Where things are kept that several instances share. */
export const STORE_SETTINGS = {
  DATABASE_URL: {
    ...setting(
      databaseUrl.nullable(),
      null,
      "PostgreSQL in place of the embedded store; see the PostgreSQL guide. GATEWAY_ADMIN_TOKEN and GATEWAY_MASTER_KEY must be set with it.",
    ),
    secret: true,
  },
  DATABASE_MIGRATION_URL: {
    ...setting(
      databaseUrl.nullable(),
      null,
      "The database of DATABASE_URL as the owner of its tables: they are brought up to date that way, and the user of DATABASE_URL needs no more than to read and write rows. Default: DATABASE_URL does both. See the PostgreSQL guide.",
    ),
    secret: true,
  },
  GATEWAY_DATABASE_CONNECTIONS: setting(
    integer(1, 1000),
    10,
    "Most connections to PostgreSQL for queries. Two more are kept open. For a moment one is opened at the start, and up to two where a statement takes long.",
  ),
  GATEWAY_DATABASE_TIMEOUT_MS: setting(
    integer(100, 30_000),
    10_000,
    "How long PostgreSQL may say nothing at all, also to who waits for one of its connections, before calls that need it are refused with 503. A statement that takes longer is waited for, up to 30 s, while the server answers others.",
  ),
  REDIS_URL: {
    ...setting(
      redisUrl.nullable(),
      null,
      "Redis or Valkey that several instances share their limits and wallets by: redis://user:password@host:6379/0, or rediss:// for TLS. DATABASE_URL must be set with it; see the guide on several instances.",
    ),
    secret: true,
  },
  REDIS_CA: setting(
    certificates.nullable(),
    null,
    "Certificates in PEM that the one of a rediss:// server is checked by. Default: the authorities that Node knows.",
  ),
  GATEWAY_REDIS_TIMEOUT_MS: setting(
    integer(10, 60_000),
    100,
    "How long one step at Redis may take before the request is refused with 503.",
  ),
} as const;
