import { certificates, databaseUrl, hostsAndPorts, integer, redisUrl, setting } from "./setting-types.ts";

/** The store and the state that instances share. */
export const STORE_SETTINGS = {
  DATABASE_URL: {
    ...setting(
      databaseUrl.nullable(),
      null,
      "PostgreSQL instead of the embedded store; see the PostgreSQL guide. GATEWAY_ADMIN_TOKEN and GATEWAY_MASTER_KEY must be set with it.",
    ),
    secret: true,
  },
  DATABASE_MIGRATION_URL: {
    ...setting(
      databaseUrl.nullable(),
      null,
      "The database of DATABASE_URL as the owner of its tables: migrations run as this user, so that the user of DATABASE_URL only needs to read and write rows. Default: DATABASE_URL. See the PostgreSQL guide.",
    ),
    secret: true,
  },
  GATEWAY_DATABASE_CONNECTIONS: setting(
    integer(1, 1000),
    10,
    "Maximum PostgreSQL connections for queries. Two more are always open; up to two more are opened briefly at the start and for slow statements.",
  ),
  GATEWAY_DATABASE_TIMEOUT_MS: setting(
    integer(100, 30_000),
    10_000,
    "How long PostgreSQL may be unresponsive, including the wait for a connection, before calls that need it fail with 503. A slow statement may take up to 30 s while the server responds to others.",
  ),
  REDIS_URL: {
    ...setting(
      redisUrl.nullable(),
      null,
      "Redis or Valkey for the limits and wallets that several instances share: redis://user:password@host:6379/0, or rediss:// for TLS. DATABASE_URL must be set with it; see the guide on several instances.",
    ),
    secret: true,
  },
  REDIS_SENTINELS: setting(
    hostsAndPorts,
    [],
    "Addresses of Redis Sentinels, as host:port separated by commas. The host of REDIS_URL is then the name of the primary that they monitor; its user, password, database and TLS apply to every server.",
  ),
  REDIS_CA: setting(
    certificates.nullable(),
    null,
    "CA certificates in PEM for a rediss:// server. Default: the CAs of Node.",
  ),
  GATEWAY_REDIS_TIMEOUT_MS: setting(
    integer(10, 60_000),
    250,
    "How long a request waits for Redis before it fails with 503. While Redis replies slowly, the wait grows to eight times its slowest recent reply, at most ten times this setting.",
  ),
} as const;
