import { HEADER_SAFE_HINT, isHeaderSafe, readEnvOrFile } from "./setting-types.ts";

/** Settings `PROVIDER_<SLUG>_API_KEY`, `_CREDENTIALS` and `_BASE_URL`, also with a region. */
export type ProviderEnvironment = {
  readonly apiKeys: ReadonlyMap<string, string>;
  /** JSON key files of service accounts. */
  readonly credentials: ReadonlyMap<string, string>;
  /** By `SLUG` or `SLUG__REGION`, in the upper-case form of the variable. */
  readonly baseUrls: ReadonlyMap<string, string>;
  /** The standard AWS variables, for AWS providers without a key of their own. */
  readonly aws: AwsKeySettings | null;
};

type AwsKeySettings = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
};

const PROVIDER_VARIABLE = /^PROVIDER_([A-Z0-9_]+?)_(API_KEY|CREDENTIALS|BASE_URL)$/;

export function readProviders(
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): ProviderEnvironment {
  const apiKeys = new Map<string, string>();
  const credentials = new Map<string, string>();
  const baseUrls = new Map<string, string>();
  const names = Object.keys(env).filter((name) => name.startsWith("PROVIDER_"));
  for (const name of new Set(names.map((found) => found.replace(/_FILE$/, "")))) {
    const match = PROVIDER_VARIABLE.exec(name);
    const slug = match?.[1];
    if (slug === undefined) {
      problems.push(
        `${name}: must be PROVIDER_<SLUG>_API_KEY, PROVIDER_<SLUG>_CREDENTIALS_FILE or PROVIDER_<SLUG>_BASE_URL`,
      );
      continue;
    }
    const value = readEnvOrFile(env, name, problems);
    if (value === undefined || value === "") continue;
    if (match?.[2] === "API_KEY" && !isHeaderSafe(value)) problems.push(`${name}: ${HEADER_SAFE_HINT}`);
    else if (match?.[2] === "API_KEY") apiKeys.set(slug, value);
    else if (match?.[2] === "CREDENTIALS") credentials.set(slug, value);
    else if (/^https?:\/\/[^\s/?#]+[^\s?#]*$/.test(value)) baseUrls.set(slug, value.replace(/\/+$/, ""));
    else problems.push(`${name}: must be an absolute http or https URL without a query`);
  }
  return { apiKeys, credentials, baseUrls, aws: readAwsKeys(env, problems) };
}

function readAwsKeys(env: Readonly<Record<string, string | undefined>>, problems: string[]): AwsKeySettings | null {
  const read = (name: string) => {
    const value = readEnvOrFile(env, name, problems) || undefined;
    if (value !== undefined && !isHeaderSafe(value)) problems.push(`${name}: ${HEADER_SAFE_HINT}`);
    return value;
  };
  const accessKeyId = read("AWS_ACCESS_KEY_ID");
  const secretAccessKey = read("AWS_SECRET_ACCESS_KEY");
  const sessionToken = read("AWS_SESSION_TOKEN") ?? null;
  if (accessKeyId === undefined && secretAccessKey === undefined) return null;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    problems.push("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set, or neither");
    return null;
  }
  return { accessKeyId, secretAccessKey, sessionToken };
}
