import path from "node:path";
import { z } from "zod";
import { MARGIN_FORMAT_HINT, parseMargin } from "../domain/billing/margin.ts";
import { checkPayments, paymentAdapters, paymentPage, paymentSecrets } from "../io/payments/payment-settings.ts";
import { isCidr } from "../kit/cidr.ts";
import { BATCH_SETTINGS } from "./batches.ts";
import { DATA_CLASS_SETTINGS } from "./data-classes.ts";
import { NODE_SETTINGS } from "./nodes.ts";
import { OPERATOR_TOKEN_SETTINGS, operatorTokenProblem, operatorTokenWarning } from "./operator-token.ts";
import { checkPeople, PEOPLE_SETTINGS } from "./people.ts";
import { DATA_ROOT } from "./project-paths.ts";
import { type ProviderEnvironment, readProviders } from "./providers.ts";
import { RESPONSE_CACHE_SETTINGS } from "./response-cache.ts";
import { RESPONSE_SETTINGS } from "./responses.ts";
import {
  type ConfiguredSetting,
  configuredSettings,
  csv,
  duration,
  durationOrNever,
  integer,
  isMasterKey,
  LOG_LEVELS,
  logRetention,
  MASTER_KEY_HINT,
  mailServer,
  onOff,
  origins,
  publicUrl,
  readEnvOrFile,
  type Setting,
  secretSetting,
  sender,
  setting,
  workerCount,
} from "./setting-types.ts";
import { STORE_SETTINGS } from "./store.ts";
import { checkTelemetrySettings, TELEMETRY_SETTINGS } from "./telemetry.ts";

/** Default timeout of a provider that sends nothing. */
export const SILENCE_MS_DEFAULT = 120_000;

export { PROJECT_ROOT } from "./project-paths.ts";

/** Every setting with its schema, default and description; docs/settings.md is generated from it. */
export const SETTINGS = {
  HOST: setting(z.string().min(1), "127.0.0.1", "Address the gateway listens on."),
  PORT: setting(integer(0, 65535), 8080, "Port the gateway listens on; 0 picks a free one."),
  DATA_DIR: setting(
    z.string().min(1),
    path.join(DATA_ROOT, "data"),
    "Folder for the embedded store, the journal and generated secrets. A relative path is resolved from the project root; with the release package, from the working directory.",
  ),
  GATEWAY_WORKERS: setting(
    workerCount,
    1,
    "Worker processes, from 1 to 256, or auto: one for each core. With more than one, SIGHUP starts a rolling restart.",
  ),
  ...STORE_SETTINGS,
  GATEWAY_CATALOGUE_DIR: setting(
    z.string().min(1).nullable(),
    null,
    "Folder that replaces the bundled catalogue; see the catalogue guide.",
  ),
  GATEWAY_SANDBOX: setting(
    onOff.nullable(),
    null,
    "Simulated providers. Default: on, and off once DATABASE_URL is set.",
  ),
  GATEWAY_DECISIONS: setting(onOff, "on", "POST /v1/decisions. off: it responds with decisions_not_enabled."),
  GATEWAY_SPEECH: setting(onOff, "on", "POST /v1/audio/speech. off: it responds with audio_not_enabled."),
  GATEWAY_RERANK: setting(onOff, "on", "Reranking (/v1/rerank, /v2/rerank). off: it responds with rerank_not_enabled."),
  GATEWAY_MODERATIONS: setting(onOff, "on", "POST /v1/moderations. off: it responds with moderations_not_enabled."),
  GATEWAY_IMAGES: setting(onOff, "on", "Images (/v1/images/…). off: it responds with images_not_enabled."),
  GATEWAY_GEMINI: setting(onOff, "on", "The Gemini API below /v1beta. off: it responds with gemini_not_enabled."),
  GATEWAY_STATUS_PAGE: setting(
    onOff,
    "on",
    "The public status page at /status and /v1/public/status: availability and latency of provider endpoints. off: both respond with not_found.",
  ),
  ...OPERATOR_TOKEN_SETTINGS,
  GATEWAY_MASTER_KEY: {
    ...secretSetting(
      "Master key for secrets at rest, 32 bytes in base64 or hex. Default: generated at the first start and stored in DATA_DIR/master-key.",
    ),
    schema: z.string().refine(isMasterKey, MASTER_KEY_HINT).nullable(),
  },
  GATEWAY_MASTER_KEY_PREVIOUS: {
    ...setting(
      z
        .string()
        .transform((text) => text.split(/[\s,]+/).filter((item) => item !== ""))
        .refine((list) => list.every(isMasterKey), `${MASTER_KEY_HINT}; several are separated by commas`),
      [],
      "Earlier master keys for decryption, separated by commas. See the guide on secrets.",
    ),
    secret: true,
  },
  GATEWAY_TRUSTED_PROXIES: setting(
    csv.refine((list) => list.every(isCidr), "must be IP addresses or CIDR blocks, separated by commas"),
    [],
    "Proxies whose X-Forwarded-For header is trusted.",
  ),
  GATEWAY_PUBLIC_URL: setting(publicUrl.nullable(), null, "Public URL of the gateway, without /v1."),
  GATEWAY_CORS_ORIGINS: setting(origins, [], "Browser origins that may call /v1; * allows every origin."),
  GATEWAY_RPM_LIVE: setting(integer(1, 1_000_000), 300, "Requests per minute of a live key without its own limit."),
  GATEWAY_RPM_TEST: setting(integer(1, 1_000_000), 30, "Requests per minute of a test key without its own limit."),
  GATEWAY_RPM_IP: setting(
    integer(0, 100_000_000),
    1200,
    "Requests per minute from one IP address (IPv6: one /64); 0 disables the limit.",
  ),
  GATEWAY_RPM_MANAGE: setting(
    integer(0, 1_000_000),
    600,
    "Management API calls per minute of one person or management token; 0 disables the limit. The operator token has no limit.",
  ),
  GATEWAY_BODY_MAX_BYTES: setting(integer(1024, 1_073_741_824), 32 * 1024 * 1024, "Largest JSON body."),
  GATEWAY_UPLOAD_MAX_BYTES: setting(
    integer(1024, 1_073_741_824),
    25 * 1024 * 1024,
    "Largest upload: an audio file, or the images of an edit together.",
  ),
  GATEWAY_UPLOADS_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    1024 * 1024 * 1024,
    "Total size of all uploads in progress, in memory and under DATA_DIR/tmp; above it uploads get 503. At least GATEWAY_UPLOAD_MAX_BYTES and GATEWAY_FILE_MAX_BYTES.",
  ),
  GATEWAY_HOLD_OUTPUT_TOKENS: setting(
    integer(1, 10_000_000),
    4096,
    "Output tokens to hold in the wallet for a request without a token limit.",
  ),
  GATEWAY_MARGIN: setting(
    z.string().refine((text) => parseMargin(text) !== undefined, MARGIN_FORMAT_HINT),
    "0",
    "Margin on provider prices: 0.05 is five percent. A workspace can have its own.",
  ),
  GATEWAY_RATES_URL: setting(
    z.url({ protocol: /^https?$/, error: "must be an absolute http or https URL" }).nullable(),
    null,
    "URL of exchange rates in the format of the ECB's eurofxref-daily.xml. Default: none are fetched.",
  ),
  GATEWAY_RATES_EVERY: setting(duration, "12h", "How often exchange rates are fetched from GATEWAY_RATES_URL."),
  GATEWAY_RATES_STALE_DAYS: setting(
    integer(1, 3650),
    14,
    "Age at which `gateway doctor` reports an exchange rate as stale.",
  ),
  GATEWAY_CONNECT_TIMEOUT_MS: setting(integer(10, 600_000), 5_000, "Timeout of a connection to a provider."),
  GATEWAY_FIRST_BYTE_TIMEOUT_MS: setting(
    integer(10, 3_600_000),
    SILENCE_MS_DEFAULT,
    "Timeout of the first byte of a provider's streamed response.",
  ),
  GATEWAY_IDLE_TIMEOUT_MS: setting(
    integer(10, 3_600_000),
    SILENCE_MS_DEFAULT,
    "Idle timeout inside a provider's streamed response.",
  ),
  GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: setting(
    integer(10, 3_600_000).nullable(),
    null,
    "Timeout of the first byte and of every part of a response that is not streamed: providers send it only when it is complete. Default: 600000 (10 minutes), or GATEWAY_FIRST_BYTE_TIMEOUT_MS and GATEWAY_IDLE_TIMEOUT_MS where these are not at their defaults.",
  ),
  GATEWAY_REQUEST_TIMEOUT_MS: setting(integer(100, 86_400_000), 900_000, "Total timeout of a request."),
  GATEWAY_ANSWER_MAX_BYTES: setting(
    integer(1024, 1_073_741_824),
    64 * 1024 * 1024,
    "Largest non-streamed response of a provider.",
  ),
  ...RESPONSE_SETTINGS,
  GATEWAY_UPSTREAM_CONNECTIONS: setting(
    integer(1, 100_000),
    1024,
    "Connections to one provider address; of each workspace where workspaces have their own.",
  ),
  GATEWAY_UPSTREAM_ISOLATION: setting(
    z.enum(["auto", "workspace"], { error: "must be auto or workspace" }),
    "auto",
    "Which requests share connections to providers. workspace: each workspace has its own; auto: only at addresses that ever sent unsolicited bytes.",
  ),
  GATEWAY_UPSTREAM_ISOLATED_WORKSPACES: setting(
    integer(1, 100_000),
    256,
    "Workspaces that have separate connections to one provider address; those of the least recently active one are closed first.",
  ),
  GATEWAY_QUEUE_CONCURRENCY: setting(
    integer(0, 1_000_000),
    4096,
    "Concurrent inference requests; further ones wait in the queue. 0 disables the limit.",
  ),
  GATEWAY_QUEUE_WAIT_MS: setting(
    integer(0, 600_000),
    5_000,
    "Maximum wait in the queue before a request is rejected with 429.",
  ),
  GATEWAY_QUEUE_LENGTH: setting(
    integer(0, 1_000_000),
    4096,
    "Length of the queue; further requests are rejected with 429 at once.",
  ),
  GATEWAY_ENDPOINT_CONCURRENCY: setting(
    integer(0, 1_000_000),
    1024,
    "Concurrent requests per endpoint; a full endpoint is skipped. Additional parts of one request may use up to half of the slots. 0 disables the limit.",
  ),
  ...NODE_SETTINGS,
  ...DATA_CLASS_SETTINGS,
  ...RESPONSE_CACHE_SETTINGS,
  ...BATCH_SETTINGS,
  GATEWAY_RETRY_PERCENT: setting(
    integer(0, 100),
    20,
    "Retry budget: retries in progress as a percentage of requests in progress; three concurrent retries are always allowed.",
  ),
  GATEWAY_ASIDE_FAILURES: setting(
    integer(0, 1_000_000),
    5,
    "Consecutive failures that open an endpoint's circuit, so that it is tried last. 0: circuits never open.",
  ),
  GATEWAY_ASIDE_MS: setting(
    integer(10, 86_400_000),
    30_000,
    "How long a circuit stays open the first time; each further trip adds as much, up to ten times that.",
  ),
  GATEWAY_CLIENT_STALL_MS: setting(
    integer(100, 3_600_000),
    60_000,
    "How long a client may stop reading a response before its connection is closed; the check may take up to a quarter longer.",
  ),
  GATEWAY_CONNECTION_IDLE_MS: setting(
    integer(1_000, 3_600_000),
    65_000,
    "Keep-alive timeout of client connections. A proxy or load balancer in front must close idle connections sooner than this.",
  ),
  GATEWAY_WEBSOCKETS_PER_KEY: setting(
    integer(0, 100_000),
    100,
    "Maximum WebSocket connections of one key to /v1/responses, per instance. 0: they are disabled and clients use HTTP.",
  ),
  GATEWAY_WEBSOCKET_IDLE_MS: setting(
    integer(1_000, 3_600_000),
    600_000,
    "How long a WebSocket connection may stay without a request before it is closed.",
  ),
  GATEWAY_KEEP_ALIVE_MS: setting(
    integer(10, 3_600_000),
    15_000,
    "Interval of keep-alive comments in an idle stream. A comment before the first token commits the request to its endpoint.",
  ),
  GATEWAY_JOURNAL_SYNC_MS: setting(
    integer(0, 60_000),
    20,
    "Interval of the journal's group fdatasync in milliseconds; 0 syncs every write.",
  ),
  GATEWAY_RESPONSES_RETENTION: setting(duration, "30d", "Retention of stored responses."),
  GATEWAY_RESPONSES_MAX_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    1024 * 1024 * 1024,
    "Total size of the stored responses of one workspace. Above it responses are served but not stored.",
  ),
  GATEWAY_DISK_FREE_MIN_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    1024 * 1024 * 1024,
    "Free space to keep on the disk of DATA_DIR for the journal; below it no response is stored. 0 disables the limit.",
  ),
  GATEWAY_CAPTURE_ITEM_MAX_BYTES: setting(
    integer(1024, 67_108_864),
    1024 * 1024,
    "Largest request or response that a capture window stores; longer ones are truncated and marked.",
  ),
  GATEWAY_CAPTURE_WINDOW_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    256 * 1024 * 1024,
    "Total size of one capture window; once it is full, nothing more is captured.",
  ),
  GATEWAY_PAYMENTS: setting(
    paymentAdapters,
    [],
    "Payment adapters, separated by commas: webhook, stripe. Each needs its secrets. Absent: no payments are accepted. See the guide on wallets.",
  ),
  GATEWAY_PAYMENT_WEBHOOK_SECRETS: {
    ...setting(
      paymentSecrets,
      [],
      "Signing secrets of the webhook adapter, at least 32 characters each, separated by commas. All are valid at the same time, so that they can be rotated.",
    ),
    secret: true,
  },
  GATEWAY_PAYMENT_STRIPE_SECRETS: {
    ...setting(
      paymentSecrets,
      [],
      "Signing secrets (whsec_…) of the webhook endpoint at Stripe, separated by commas. All are valid at the same time.",
    ),
    secret: true,
  },
  GATEWAY_PAYMENT_WEBHOOK_PAGE: setting(
    paymentPage,
    null,
    "Checkout page of the webhook adapter: an https URL with {order}; {amount}, {minor} (in hundredths), {currency} and {reference} are optional.",
  ),
  GATEWAY_PAYMENT_STRIPE_PAGE: setting(
    paymentPage,
    null,
    "The same for the adapter stripe, such as a payment link with ?client_reference_id={order}.",
  ),
  GATEWAY_OPERATOR_CONTACT: setting(
    z.string().min(1).max(300).nullable(),
    null,
    "Contact of the operator for workspaces, for example to add funds: an email address, an https URL or a sentence.",
  ),
  GATEWAY_PAYMENT_TOLERANCE: setting(
    duration,
    "5m",
    "Clock tolerance of the timestamp in a payment message's signature.",
  ),
  GATEWAY_LOG_RETENTION: setting(
    logRetention,
    "400d",
    "Retention of the request log: a duration of at least a day, or forever. Roll-ups and ledger are never deleted.",
  ),
  GATEWAY_PROOF_EVERY: setting(
    durationOrNever,
    "24h",
    "How often endpoints are probed for decisions and speech; endpoints without a proof are probed at the start. never: only by `gateway probe`. See the guide on proofs.",
  ),
  GATEWAY_PROOF_MAX_AGE: setting(
    duration,
    "30d",
    "Validity of a proof. Endpoints without a valid proof are not used for decisions and speech.",
  ),
  GATEWAY_PROOF_FAILURES: setting(
    integer(1, 1000),
    3,
    "Consecutive failed proofs that disable an endpoint on its surface until one succeeds.",
  ),
  GATEWAY_PROOF_RETENTION: setting(duration, "400d", "Retention of the proof history."),
  GATEWAY_IDEMPOTENCY_TTL: setting(
    duration,
    "24h",
    "How long an Idempotency-Key prevents a charged request from being run and charged again.",
  ),
  GATEWAY_IDEMPOTENCY_KEYS_MAX: setting(
    integer(1, 10_000_000),
    100_000,
    "Idempotency keys of charged calls to keep in memory. Above it, keys are also looked up in SQL.",
  ),
  GATEWAY_SMTP_URL: {
    ...setting(
      mailServer.nullable(),
      null,
      "SMTP server for alerts, invitations and password resets: smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465.",
    ),
    secret: true,
  },
  GATEWAY_MAIL_FROM: setting(
    sender.nullable(),
    null,
    "Sender of emails: alerts@example.eu or Gateway <alerts@example.eu>. Required with GATEWAY_SMTP_URL.",
  ),
  ...PEOPLE_SETTINGS,
  ...TELEMETRY_SETTINGS,
  GATEWAY_ALERTS_EVERY_MS: setting(
    integer(10, 3_600_000),
    10_000,
    "How often alert rules are evaluated and due deliveries are sent.",
  ),
  GATEWAY_ALERTS_RETRY_MS: setting(
    integer(10, 3_600_000),
    5_000,
    "Delay before the first retry of an alert delivery; it doubles with each retry, up to an hour.",
  ),
  GATEWAY_WEBHOOK_PRIVATE: setting(
    onOff,
    "off",
    "For development: webhooks may use plain HTTP and private networks. Off: public https URLs only.",
  ),
  GATEWAY_BACKGROUND_MAX: setting(integer(0, 1_000_000), 200, "Concurrent background responses in total."),
  GATEWAY_BACKGROUND_WORKSPACE_MAX: setting(
    integer(0, 1_000_000),
    50,
    "Concurrent background responses per workspace.",
  ),
  GATEWAY_DRAIN_DELAY_MS: setting(
    integer(0, 600_000),
    0,
    "How long a stopping gateway still accepts requests while /readyz responds with 503. Behind a load balancer: longer than its health check interval, such as 3000.",
  ),
  GATEWAY_DRAIN_TIMEOUT_MS: setting(
    integer(0, 3_600_000),
    60_000,
    "How long a stopping gateway waits for requests in progress.",
  ),
  LOG_LEVEL: setting(
    z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(", ")}` }),
    "info",
    "Minimum level of log lines on stderr.",
  ),
} as const;

type SettingValues = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};

export type Config = SettingValues & {
  readonly sandbox: boolean;
  readonly providers: ProviderEnvironment;
  /** Settings that have a value in the environment, by name. */
  readonly configured: ReadonlyMap<string, ConfiguredSetting>;
  readonly warnings: readonly string[];
};

export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}

/** Generated secrets would be in the data directory of one instance only. */
const REQUIRED_WITH_DATABASE = ["GATEWAY_ADMIN_TOKEN", "GATEWAY_MASTER_KEY"] as const;

const CLI_ONLY_SETTINGS = ["GATEWAY_URL", "GATEWAY_KEY", "GATEWAY_KEY_FILE", "GATEWAY_NODE_TOKEN"];

/** Validates the environment; every problem names its variable and says what to write. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const warnings: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { schema, fallback }] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const raw = readEnvOrFile(env, name, problems);
    if (raw === undefined || raw === "") {
      values[name] = fallback;
      continue;
    }
    const parsed = schema.safeParse(raw);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(`${name}: ${parsed.error.issues[0]?.message ?? "not valid"}`);
  }
  if ((values["REDIS_CA"] ?? null) !== null && !String(values["REDIS_URL"]).startsWith("rediss:"))
    problems.push("REDIS_URL: must be a rediss:// URL, because REDIS_CA is set");
  const { REDIS_SENTINELS: sentinels } = values;
  if (Array.isArray(sentinels) && sentinels.length > 0 && (values["REDIS_URL"] ?? null) === null)
    problems.push("REDIS_URL: required, because REDIS_SENTINELS is set: redis://user:password@name-of-the-primary/0");
  if ((values["REDIS_URL"] ?? null) !== null && (values["DATABASE_URL"] ?? null) === null)
    problems.push("DATABASE_URL: required, because REDIS_URL is set: instances also share their store");
  if ((values["DATABASE_MIGRATION_URL"] ?? null) !== null && (values["DATABASE_URL"] ?? null) === null)
    problems.push(
      "DATABASE_URL: required, because DATABASE_MIGRATION_URL is set: it is the user that runs the gateway",
    );
  if ((values["DATABASE_URL"] ?? null) !== null)
    for (const name of REQUIRED_WITH_DATABASE)
      if (values[name] === null) problems.push(`${name}: required, because DATABASE_URL is set`);
  if ((values["GATEWAY_SMTP_URL"] ?? null) !== null && values["GATEWAY_MAIL_FROM"] === null)
    problems.push("GATEWAY_MAIL_FROM: required, because GATEWAY_SMTP_URL is set");
  checkPayments(values, problems);
  checkPeople(values, problems);
  checkTelemetrySettings(values, problems);
  const providers = readProviders(env, problems);
  const known = new Set([...CLI_ONLY_SETTINGS, ...Object.keys(SETTINGS).flatMap((name) => [name, `${name}_FILE`])]);
  for (const name of Object.keys(env)) {
    if (name.startsWith("GATEWAY_") && !known.has(name))
      warnings.push(`${name}: unknown setting; docs/settings.md lists all settings`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const settings = values as SettingValues;
  const { GATEWAY_ADMIN_TOKEN: adminToken } = settings;
  const problem = adminToken === null ? undefined : operatorTokenProblem(adminToken, "GATEWAY_ADMIN_TOKEN", settings);
  if (problem !== undefined) throw new ConfigError([problem]);
  const warning = adminToken === null ? undefined : operatorTokenWarning(adminToken);
  if (warning !== undefined) warnings.push(warning);
  return Object.freeze({
    ...settings,
    DATA_DIR: path.resolve(DATA_ROOT, settings.DATA_DIR),
    sandbox: (settings.GATEWAY_SANDBOX ?? (settings.DATABASE_URL === null ? "on" : "off")) === "on",
    providers,
    configured: configuredSettings(env, SETTINGS),
    warnings,
  });
}
