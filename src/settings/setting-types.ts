import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseMasterKey } from "../io/secret-files.ts";
import { type DatabaseAddress, readDatabaseAddress } from "../io/store/sql/postgres/address.ts";
import { type MailSender, parseMailSender, parseSmtpUrl, type SmtpServer } from "../io/upstream/smtp-server.ts";
import { DAY_MS, parseDurationMs } from "../kit/time.ts";

export const onOff = z.enum(["on", "off"], { error: "must be on or off" });
export const csv = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);
export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);

const WORKERS_HINT = "must be a whole number from 1 to 256, or auto";
export const workerCount: z.ZodType<number | "auto"> = z
  .string()
  .regex(/^(auto|\d{1,3})$/, WORKERS_HINT)
  .transform((text) => (text === "auto" ? text : Number(text)))
  .refine((count) => count === "auto" || (count >= 1 && count <= 256), WORKERS_HINT);

export const duration = z
  .string()
  .refine((text) => (parseDurationMs(text) ?? 0) > 0, "must be a duration such as 90s, 5m, 12h or 7d");

export const durationOrNever = z
  .string()
  .refine(
    (text) => text === "never" || (parseDurationMs(text) ?? 0) > 0,
    "must be never, or a duration such as 12h or 7d",
  );

// A record that is ingested again after a crash must still be found in the log.
export const logRetention = z
  .string()
  .refine(
    (text) => text === "forever" || (parseDurationMs(text) ?? 0) >= DAY_MS,
    "must be forever, or a duration of at least a day such as 90d",
  );
export const databaseUrl: z.ZodType<DatabaseAddress> = z.string().transform((text, context) => {
  const address = readDatabaseAddress(text);
  if (!("problem" in address)) return address;
  context.addIssue({ code: "custom", message: address.problem });
  return z.NEVER;
});

export const redisUrl = z
  .string()
  .refine(
    (text) => /^rediss?:\/\/[^\s/?#]+(?:\/\d*)?$/.test(text) && URL.canParse(text),
    "must be redis://user:password@host:6379/0, or rediss:// for TLS",
  );

export const hostsAndPorts = csv.refine(
  (list) => list.length > 0 && list.every((item) => /^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i.test(item)),
  "must be addresses such as 10.0.0.5:26379, separated by commas",
);

/** Paths are appended to it, so it has no query and no trailing slash. */
export const publicUrl = z
  .url({ protocol: /^https?$/, error: "must be an absolute http or https URL" })
  .refine(
    (text) => /^https?:\/\/[^?#@]+$/i.test(text) && !/\/v1\/*$/.test(text),
    "must be an absolute http or https URL without /v1, query or password",
  )
  .transform((url) => url.replace(/\/+$/, ""));

export const origins = csv.refine(
  (list) => list.every((item) => item === "*" || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(item)),
  "must be origins such as https://app.example.eu, separated by commas, or *",
);

/** A value that fits into a header; no other token or key could be sent. */
export const isHeaderSafe = (text: string) => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
export const HEADER_SAFE_HINT = "must be one line of plain ASCII characters";

export const certificates = z
  .string()
  .refine((text) => text.includes("-----BEGIN CERTIFICATE-----"), "must be certificates in PEM, or a file with them");

export const isMasterKey = (text: string) => parseMasterKey(text) !== undefined;
export const MASTER_KEY_HINT = "must be 32 bytes in base64 or hex";

export const mailServer: z.ZodType<SmtpServer> = z.string().transform((text, context) => {
  const server = parseSmtpUrl(text);
  if (!("problem" in server)) return server;
  context.addIssue({ code: "custom", message: server.problem });
  return z.NEVER;
});
export const sender: z.ZodType<MailSender> = z.string().transform((text, context) => {
  const from = parseMailSender(text);
  if (!("problem" in from)) return from;
  context.addIssue({ code: "custom", message: from.problem });
  return z.NEVER;
});

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export type Setting<T> = {
  readonly schema: z.ZodType<T>;
  readonly fallback: T;
  readonly description: string;
  readonly secret?: true;
};

export function setting<T>(schema: z.ZodType<T>, fallback: NoInfer<T>, description: string): Setting<T> {
  return { schema, fallback, description };
}

export function secretSetting(description: string): Setting<string | null> {
  return { schema: z.string().min(1).nullable(), fallback: null, description, secret: true };
}

/** A configured value and its source; of a secret only its presence. */
export type ConfiguredSetting = { readonly source: "environment" | "file"; readonly text: string | null };

const PROVIDER_SECRET =
  /^(?:PROVIDER_[A-Z0-9_]+_(?:API_KEY|CREDENTIALS)|AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN))$/;
const PROVIDER_PLAIN = /^PROVIDER_[A-Z0-9_]+_BASE_URL$/;

/** All settings with a value in the environment, including those of providers. */
export function configuredSettings(
  env: Readonly<Record<string, string | undefined>>,
  known: Readonly<Record<string, { readonly secret?: true }>>,
): ReadonlyMap<string, ConfiguredSetting> {
  const configured = new Map<string, ConfiguredSetting>();
  for (const [variable, text] of Object.entries(env)) {
    if (text === undefined || text === "") continue;
    const source = variable.endsWith("_FILE") ? "file" : "environment";
    const name = source === "file" ? variable.slice(0, -"_FILE".length) : variable;
    const setting = Object.hasOwn(known, name) ? known[name] : undefined;
    if (setting === undefined && !PROVIDER_SECRET.test(name) && !PROVIDER_PLAIN.test(name)) continue;
    const isSecret = setting?.secret === true || PROVIDER_SECRET.test(name);
    // The content of a file is shown by its effective value.
    configured.set(name, { source, text: isSecret || source === "file" ? null : text });
  }
  return configured;
}

/** The value of `<name>`, or the content of the file that `<name>_FILE` names. */
export function readEnvOrFile(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  problems: string[],
): string | undefined {
  const file = env[`${name}_FILE`];
  if (file === undefined || file === "") return env[name];
  if (env[name] !== undefined && env[name] !== "") {
    problems.push(`${name} and ${name}_FILE are both set: unset one of them`);
    return undefined;
  }
  try {
    const value = readFileSync(file, "utf8").trim();
    // An empty secret must not fall back to the default or to a generated one.
    if (value === "") problems.push(`${name}_FILE: the file ${file} is empty`);
    return value;
  } catch {
    problems.push(`${name}_FILE: cannot read the file ${file}`);
    return undefined;
  }
}
