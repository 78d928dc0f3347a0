import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { MARGIN_FORMAT_HINT, parseMargin } from "../domain/billing/margin.ts";
import { checkPayments, paymentAdapters, paymentPage, paymentSecrets } from "../io/payments/payment-settings.ts";
import { isCidr } from "../kit/cidr.ts";
import { pluralize } from "../kit/pluralize.ts";
import { NODE_SETTINGS } from "./nodes.ts";
import { checkPeople, PEOPLE_SETTINGS } from "./people.ts";
import { type ProviderSettings, readProviders } from "./providers.ts";
import {
  type ConfiguredSetting,
  configuredSettings,
  csv,
  duration,
  durationOrNever,
  HEADER_SAFE_HINT,
  integer,
  isHeaderSafe,
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

/**
 * The minimum length of an operator token that cannot be guessed; `openssl rand -hex 32` makes twice as many. Fewer are warned of and not refused: what
 * calls the gateway may have been set up with any.
 */
const ADMIN_TOKEN_CHARS_MIN = 32;

export const PROJECT_ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Every setting: its shape, its default and what it does. The settings page of the documentation is printed from here. */
export const SETTINGS = {
  HOST: setting(z.string().min(1), "127.0.0.1", "Address the gateway listens on."),
  PORT: setting(integer(0, 65535), 8080, "Port the gateway listens on; 0 picks a free one."),
  DATA_DIR: setting(
    z.string().min(1),
    path.join(PROJECT_ROOT, "data"),
    "Folder for the embedded store, the journal and generated secrets. A relative path is taken from the project's root.",
  ),
  GATEWAY_WORKERS: setting(
    workerCount,
    1,
    "Processes that serve, from 1 to 256, or auto: one for each core. With more than one they are replaced one after the other on SIGHUP.",
  ),
  ...STORE_SETTINGS,
  GATEWAY_CATALOGUE_DIR: setting(
    z.string().min(1).nullable(),
    null,
    "Folder that replaces the shipped catalogue; see the catalogue guide.",
  ),
  GATEWAY_SANDBOX: setting(
    onOff.nullable(),
    null,
    "Simulated providers. Default: on, and off once DATABASE_URL is set.",
  ),
  GATEWAY_DECISIONS: setting(onOff, "on", "POST /v1/decisions. off: it answers decisions_not_enabled."),
  GATEWAY_SPEECH: setting(onOff, "on", "POST /v1/audio/speech. off: it answers audio_not_enabled."),
  GATEWAY_ADMIN_TOKEN: {
    ...secretSetting(
      `Operator token of the management API, at least ${ADMIN_TOKEN_CHARS_MIN} characters: a shorter one is warned of at every start and by \`gateway doctor\`. Default: made at first start and kept in DATA_DIR/admin-token.`,
    ),
    schema: z.string().refine(isHeaderSafe, HEADER_SAFE_HINT).nullable(),
  },
  GATEWAY_MASTER_KEY: {
    ...secretSetting(
      "Master key for secrets at rest, 32 bytes in base64 or hex. Default: made at first start and kept in DATA_DIR/master-key.",
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
      "Other master keys that what is stored may be sealed with, separated by commas: they are only read with. See the guide on secrets.",
    ),
    secret: true,
  },
  GATEWAY_TRUSTED_PROXIES: setting(
    csv.refine((list) => list.every(isCidr), "write addresses or CIDR blocks, separated by commas"),
    [],
    "Proxies whose X-Forwarded-For is believed.",
  ),
  GATEWAY_PUBLIC_URL: setting(
    publicUrl.nullable(),
    null,
    "Address under which callers reach the gateway, without /v1.",
  ),
  GATEWAY_CORS_ORIGINS: setting(origins, [], "Browser origins that may call /v1; * allows every origin."),
  GATEWAY_RPM_LIVE: setting(integer(1, 1_000_000), 300, "Requests a minute of a live key without an override."),
  GATEWAY_RPM_TEST: setting(integer(1, 1_000_000), 30, "Requests a minute of a test key without an override."),
  GATEWAY_RPM_IP: setting(
    integer(0, 100_000_000),
    1200,
    "Requests a minute from one address (IPv6: one /64); 0 switches the limit off.",
  ),
  GATEWAY_RPM_MANAGE: setting(
    integer(0, 1_000_000),
    600,
    "Calls of the management API a minute by one person or one management token; 0 switches the limit off. The operator token has none.",
  ),
  GATEWAY_BODY_MAX_BYTES: setting(integer(1024, 1_073_741_824), 32 * 1024 * 1024, "Largest JSON body."),
  GATEWAY_UPLOAD_MAX_BYTES: setting(integer(1024, 1_073_741_824), 25 * 1024 * 1024, "Largest audio upload."),
  GATEWAY_UPLOADS_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    1024 * 1024 * 1024,
    "What all uploads together may take, in memory and under DATA_DIR/tmp, until their requests are over; more is 503. At least GATEWAY_UPLOAD_MAX_BYTES.",
  ),
  GATEWAY_HOLD_OUTPUT_TOKENS: setting(
    integer(1, 10_000_000),
    4096,
    "Output tokens that are reserved in the wallet when a request states no limit.",
  ),
  GATEWAY_MARGIN: setting(
    z.string().refine((text) => parseMargin(text) !== undefined, MARGIN_FORMAT_HINT),
    "0",
    "What is added to providers' prices, as a share of them: 0.05 is five percent. A workspace can have its own.",
  ),
  GATEWAY_RATES_URL: setting(
    z.url({ protocol: /^https?$/, error: "write an absolute http or https address" }).nullable(),
    null,
    "Where exchange rates are fetched from: a file in the form of the ECB's eurofxref-daily.xml. Default: nothing is fetched.",
  ),
  GATEWAY_RATES_EVERY: setting(duration, "12h", "How often exchange rates are fetched from GATEWAY_RATES_URL."),
  GATEWAY_RATES_STALE_DAYS: setting(
    integer(1, 3650),
    14,
    "Exchange rates that are older are named by `gateway doctor`.",
  ),
  GATEWAY_CONNECT_TIMEOUT_MS: setting(integer(10, 600_000), 5_000, "How long a connection to a provider may take."),
  GATEWAY_FIRST_BYTE_TIMEOUT_MS: setting(
    integer(10, 3_600_000),
    120_000,
    "How long a provider may take to begin its answer.",
  ),
  GATEWAY_IDLE_TIMEOUT_MS: setting(
    integer(10, 3_600_000),
    120_000,
    "How long a provider may be silent inside an answer.",
  ),
  GATEWAY_REQUEST_TIMEOUT_MS: setting(integer(100, 86_400_000), 900_000, "How long a request may take in all."),
  GATEWAY_ANSWER_MAX_BYTES: setting(
    integer(1024, 1_073_741_824),
    64 * 1024 * 1024,
    "Largest non-streamed answer of a provider.",
  ),
  GATEWAY_UPSTREAM_CONNECTIONS: setting(integer(1, 100_000), 1024, "Connections to one provider address."),
  GATEWAY_QUEUE_CONCURRENCY: setting(
    integer(0, 1_000_000),
    4096,
    "Inference requests served at once; further ones wait. 0 switches the limit off.",
  ),
  GATEWAY_QUEUE_WAIT_MS: setting(
    integer(0, 600_000),
    5_000,
    "How long an inference request may wait for its place before it is refused with 429.",
  ),
  GATEWAY_QUEUE_LENGTH: setting(
    integer(0, 1_000_000),
    4096,
    "Inference requests that may wait; one more is refused with 429 at once.",
  ),
  GATEWAY_ENDPOINT_CONCURRENCY: setting(
    integer(0, 1_000_000),
    1024,
    "Requests at one endpoint at once; a full one is passed over. Further parts of one request take places up to half. 0 switches the limit off.",
  ),
  ...NODE_SETTINGS,
  GATEWAY_RETRY_PERCENT: setting(
    integer(0, 100),
    20,
    "Attempts after the first of their request, as a share of the requests being served; three at once are always allowed.",
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
    "How long a client may take nothing of an answer before its connection is closed, or up to a quarter longer.",
  ),
  GATEWAY_CONNECTION_IDLE_MS: setting(
    integer(1_000, 3_600_000),
    65_000,
    "How long a connection stays open for its client's next request. A proxy or balancer in front must let go of idle connections sooner than this.",
  ),
  GATEWAY_KEEP_ALIVE_MS: setting(
    integer(10, 3_600_000),
    15_000,
    "How long a stream may be silent before its client is sent a comment line, again and again. Before the first word of a model that binds the request to its endpoint.",
  ),
  GATEWAY_JOURNAL_SYNC_MS: setting(
    integer(0, 60_000),
    20,
    "Group fdatasync of the journal: every N milliseconds; 0 syncs every write.",
  ),
  GATEWAY_RESPONSES_RETENTION: setting(duration, "30d", "How long a stored response is kept."),
  GATEWAY_RESPONSES_MAX_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    1024 * 1024 * 1024,
    "What the stored responses of one workspace may take. Beyond it answers are served and not stored.",
  ),
  GATEWAY_DISK_FREE_MIN_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    1024 * 1024 * 1024,
    "What stays free on the disk of DATA_DIR for the journal: with less no response is stored. 0 switches the limit off.",
  ),
  GATEWAY_CAPTURE_ITEM_MAX_BYTES: setting(
    integer(1024, 67_108_864),
    1024 * 1024,
    "Largest request, and largest answer, that a capture window keeps whole; what is longer is cut and says so.",
  ),
  GATEWAY_CAPTURE_WINDOW_MAX_BYTES: setting(
    integer(1024, 1_099_511_627_776),
    256 * 1024 * 1024,
    "How much one capture window keeps in all; once it is full, nothing more goes in.",
  ),
  GATEWAY_PAYMENTS: setting(
    paymentAdapters,
    [],
    "Payment adapters, separated by commas: webhook, stripe. Each needs its secrets. Absent: nothing is paid from outside. See the guide on wallets.",
  ),
  GATEWAY_PAYMENT_WEBHOOK_SECRETS: {
    ...setting(
      paymentSecrets,
      [],
      "Secrets that messages to the adapter webhook are signed with, each of at least 32 characters, separated by commas. Each is taken, so that they can be changed without a gap.",
    ),
    secret: true,
  },
  GATEWAY_PAYMENT_STRIPE_SECRETS: {
    ...setting(
      paymentSecrets,
      [],
      "Signing secrets (whsec_…) of the webhook endpoint at Stripe, separated by commas. Each of them is taken.",
    ),
    secret: true,
  },
  GATEWAY_PAYMENT_WEBHOOK_PAGE: setting(
    paymentPage,
    null,
    "Page on which people pay orders of the adapter webhook: an https address with {order}; {amount}, {minor} (in hundredths), {currency} and {reference} may be in it.",
  ),
  GATEWAY_PAYMENT_STRIPE_PAGE: setting(
    paymentPage,
    null,
    "The same for the adapter stripe, such as a payment link with ?client_reference_id={order}.",
  ),
  GATEWAY_OPERATOR_CONTACT: setting(
    z.string().min(1).max(300).nullable(),
    null,
    "Where workspaces ask the operator, for example to have money put into their wallet: an e-mail address, an https address or a sentence.",
  ),
  GATEWAY_PAYMENT_TOLERANCE: setting(
    duration,
    "5m",
    "How far the time in a payment message's signature may be from now.",
  ),
  GATEWAY_LOG_RETENTION: setting(
    logRetention,
    "400d",
    "How long a request stays in the log: a duration of at least a day, or forever. Roll-ups and ledger are kept.",
  ),
  GATEWAY_PROOF_EVERY: setting(
    durationOrNever,
    "24h",
    "How often endpoints are proven on decisions and speech; at the start those without a proof are. never: only by `gateway probe`. See the guide on proofs.",
  ),
  GATEWAY_PROOF_MAX_AGE: setting(
    duration,
    "30d",
    "How long a proof holds. An endpoint without one is not served on decisions and speech.",
  ),
  GATEWAY_PROOF_FAILURES: setting(
    integer(1, 1000),
    3,
    "Failed proofs in a row that take an endpoint off its surface until one succeeds again.",
  ),
  GATEWAY_PROOF_RETENTION: setting(duration, "400d", "How long the history of proofs is kept."),
  GATEWAY_IDEMPOTENCY_TTL: setting(
    duration,
    "24h",
    "How long a charged call is remembered by its Idempotency-Key, so that the same call is not made and charged again.",
  ),
  GATEWAY_IDEMPOTENCY_KEYS_MAX: setting(
    integer(1, 10_000_000),
    100_000,
    "Charged calls that are remembered in memory by their Idempotency-Key. With more, calls with a key are looked for in SQL first.",
  ),
  GATEWAY_SMTP_URL: {
    ...setting(
      mailServer.nullable(),
      null,
      "Server that mails leave through, those of alerts, invitations and new passwords: smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465.",
    ),
    secret: true,
  },
  GATEWAY_MAIL_FROM: setting(
    sender.nullable(),
    null,
    "Sender of mails: alerts@example.eu or Gateway <alerts@example.eu>. Needed with GATEWAY_SMTP_URL.",
  ),
  ...PEOPLE_SETTINGS,
  ...TELEMETRY_SETTINGS,
  GATEWAY_ALERTS_EVERY_MS: setting(
    integer(10, 3_600_000),
    10_000,
    "How often it is looked for alerts to raise, and for deliveries that are due.",
  ),
  GATEWAY_ALERTS_RETRY_MS: setting(
    integer(10, 3_600_000),
    5_000,
    "How long an alert that could not be delivered waits for its second try; each further wait is twice as long, up to an hour.",
  ),
  GATEWAY_WEBHOOK_PRIVATE: setting(
    onOff,
    "off",
    "For development: webhooks may be plain HTTP and in private networks. Off: public https addresses only.",
  ),
  GATEWAY_BACKGROUND_MAX: setting(
    integer(0, 1_000_000),
    200,
    "Background responses that are made at the same time, in all.",
  ),
  GATEWAY_BACKGROUND_WORKSPACE_MAX: setting(
    integer(0, 1_000_000),
    50,
    "Background responses that are made at the same time for one workspace.",
  ),
  GATEWAY_DRAIN_DELAY_MS: setting(
    integer(0, 600_000),
    0,
    "How long a stopping gateway goes on taking requests while /readyz answers 503. Behind a balancer: longer than that takes to notice, such as 3000.",
  ),
  GATEWAY_DRAIN_TIMEOUT_MS: setting(
    integer(0, 3_600_000),
    60_000,
    "How long a stopping gateway waits for running requests.",
  ),
  LOG_LEVEL: setting(
    z.enum(LOG_LEVELS, { error: `write one of ${LOG_LEVELS.join(", ")}` }),
    "info",
    "Least level that is logged to stderr.",
  ),
} as const;

type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};

export type Config = Settings & {
  readonly sandbox: boolean;
  readonly providers: ProviderSettings;
  /** By name, what was set at all. */
  readonly configured: ReadonlyMap<string, ConfiguredSetting>;
  readonly warnings: readonly string[];
};

export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}

/** What a deployment with a database of its own must be given: made at the first start, they would be in one folder. */
const REQUIRED_WITH_DATABASE = ["GATEWAY_ADMIN_TOKEN", "GATEWAY_MASTER_KEY"] as const;

/** What commands read and the gateway does not. */
const CLI_ONLY_SETTINGS = ["GATEWAY_URL", "GATEWAY_KEY", "GATEWAY_KEY_FILE", "GATEWAY_NODE_TOKEN"];

/** Environment to one frozen, validated Config; every problem names its variable and says what to write. */
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
    problems.push("REDIS_URL: write a rediss:// address, because REDIS_CA is set: without TLS nothing is checked");
  if ((values["REDIS_URL"] ?? null) !== null && (values["DATABASE_URL"] ?? null) === null)
    problems.push("DATABASE_URL: set it too, because REDIS_URL is set: instances share their store as well");
  if ((values["DATABASE_MIGRATION_URL"] ?? null) !== null && (values["DATABASE_URL"] ?? null) === null)
    problems.push("DATABASE_URL: set it too, because DATABASE_MIGRATION_URL is set: the first is who runs the gateway");
  if ((values["DATABASE_URL"] ?? null) !== null)
    for (const name of REQUIRED_WITH_DATABASE)
      if (values[name] === null) problems.push(`${name}: set it too, because DATABASE_URL is set`);
  if ((values["GATEWAY_SMTP_URL"] ?? null) !== null && values["GATEWAY_MAIL_FROM"] === null)
    problems.push("GATEWAY_MAIL_FROM: set it too, because GATEWAY_SMTP_URL is set");
  checkPayments(values, problems);
  checkPeople(values, problems);
  checkTelemetrySettings(values, problems);
  const providers = readProviders(env, problems);
  const known = new Set([...CLI_ONLY_SETTINGS, ...Object.keys(SETTINGS).flatMap((name) => [name, `${name}_FILE`])]);
  for (const name of Object.keys(env)) {
    if (name.startsWith("GATEWAY_") && !known.has(name))
      warnings.push(`${name}: this version has no such setting; docs/settings.md lists them all`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const settings = values as Settings;
  const tokenChars = settings.GATEWAY_ADMIN_TOKEN?.length ?? ADMIN_TOKEN_CHARS_MIN;
  if (tokenChars < ADMIN_TOKEN_CHARS_MIN)
    warnings.push(
      `GATEWAY_ADMIN_TOKEN: it has ${pluralize(tokenChars, "character")} and opens everything; write at least ${ADMIN_TOKEN_CHARS_MIN}, such as \`openssl rand -hex 32\` makes`,
    );
  return Object.freeze({
    ...settings,
    DATA_DIR: path.resolve(PROJECT_ROOT, settings.DATA_DIR),
    sandbox: (settings.GATEWAY_SANDBOX ?? (settings.DATABASE_URL === null ? "on" : "off")) === "on",
    providers,
    configured: configuredSettings(env, SETTINGS),
    warnings,
  });
}
