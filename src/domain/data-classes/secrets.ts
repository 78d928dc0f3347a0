import { kindAt } from "./characters.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { type Kind, secretKind } from "./kinds.ts";

/** A token with a known beginning: the rest is checked by alphabet and length. */
type Token = { readonly prefix: string; readonly kind: Kind; readonly rest: RegExp; readonly entropyMin: number };

const OWN = secretKind("secret.gateway", "Key or token of this gateway");
const AWS = secretKind("secret.aws-access-key", "AWS access key id");
const AWS_SECRET = secretKind("secret.aws-secret-key", "AWS secret access key, by name");
const BEDROCK = secretKind("secret.aws-bedrock", "Amazon Bedrock API key");
const GOOGLE = secretKind("secret.google-api-key", "Google API key");
const GOOGLE_OAUTH = secretKind("secret.google-oauth", "Google OAuth client secret or token");
const AZURE = secretKind("secret.azure-client-secret", "Azure Entra client secret");
const AZURE_STORAGE = secretKind("secret.azure-storage", "Azure storage key or SAS signature");
const GITHUB = secretKind("secret.github", "GitHub token");
const GITLAB = secretKind("secret.gitlab", "GitLab token");
const SLACK = secretKind("secret.slack", "Slack token or webhook");
const STRIPE = secretKind("secret.stripe", "Stripe key");
const OPENAI = secretKind("secret.openai", "OpenAI API key");
const ANTHROPIC = secretKind("secret.anthropic", "Anthropic API key");
const HUGGING_FACE = secretKind("secret.hugging-face", "Hugging Face token");
const NPM = secretKind("secret.npm", "npm token");
const PYPI = secretKind("secret.pypi", "PyPI token");
const SENDGRID = secretKind("secret.sendgrid", "SendGrid API key");
const VENDOR = secretKind(
  "secret.vendor",
  "Key of another service (Perplexity, Groq, xAI, DigitalOcean, Shopify, Vault, Databricks, Twilio, age)",
);
const JWT = secretKind("secret.jwt", "JSON web token");
const PRIVATE_KEY = secretKind("secret.private-key", "Private key (PEM, OpenSSH, PGP, PuTTY)");
const CONNECTION = secretKind("secret.connection-string", "URL with a password");
const BASIC = secretKind("secret.http-basic", "HTTP Basic credentials");
const GENERIC = secretKind("secret.generic", "High-entropy value after a name such as password, token or api_key");

export const SECRET_KINDS: readonly Kind[] = [
  ...[OWN, AWS, AWS_SECRET, BEDROCK, GOOGLE, GOOGLE_OAUTH, AZURE, AZURE_STORAGE, GITHUB, GITLAB, SLACK, STRIPE, OPENAI],
  ...[ANTHROPIC, HUGGING_FACE, NPM, PYPI, SENDGRID, VENDOR, JWT, PRIVATE_KEY, CONNECTION, BASIC, GENERIC],
];

const token = (prefix: string, kind: Kind, rest: RegExp, entropyMin = 3): Token => ({ prefix, kind, rest, entropyMin });
const each = (prefixes: string, kind: Kind, rest: RegExp, entropyMin = 3) =>
  prefixes.split(" ").map((prefix) => token(prefix, kind, rest, entropyMin));

/** Sticky, without nested repetition; the alphabets are disjoint from what may follow. */
const TOKENS: readonly Token[] = [
  ...each("sk_svc_user_live_ sk_svc_user_test_ sk_svc_live_ sk_svc_test_ mt_svc_", OWN, /[A-Za-z0-9_-]{16,200}/y),
  ...each("AKIA ASIA ABIA ACCA", AWS, /[A-Z2-7]{16}/y, 2.5),
  token("ABSK", BEDROCK, /[A-Za-z0-9+/]{109,269}={0,2}/y),
  token("bedrock-api-key-", BEDROCK, /[A-Za-z0-9+/]{40,4000}={0,2}/y),
  token("AIza", GOOGLE, /[A-Za-z0-9_-]{35}/y),
  token("GOCSPX-", GOOGLE_OAUTH, /[A-Za-z0-9_-]{28}/y),
  token("ya29.", GOOGLE_OAUTH, /[A-Za-z0-9_-]{30,2000}/y),
  ...each("ghp_ gho_ ghu_ ghs_ ghr_", GITHUB, /[A-Za-z0-9]{36,255}/y),
  token("github_pat_", GITHUB, /[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/y),
  ...each("glpat- gldt- glrt- glft- glsoat- glffct-", GITLAB, /[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{9})?/y),
  ...each("glptt- glimt- glagent- gloas- glcbt-", GITLAB, /[A-Za-z0-9_-]{20,100}/y),
  ...each("xoxb- xoxp- xoxe- xoxa- xoxr- xoxs- xapp-", SLACK, /[A-Za-z0-9-]{24,200}/y),
  ...each("sk_live_ rk_live_ sk_test_ rk_test_", STRIPE, /[A-Za-z0-9]{16,99}/y),
  token("whsec_", STRIPE, /[A-Za-z0-9+/]{24,99}={0,2}/y),
  ...each("sk-ant-api03- sk-ant-admin01- sk-ant-oat01- sk-ant-ort01-", ANTHROPIC, /[A-Za-z0-9_-]{40,200}/y),
  ...each("sk-proj- sk-svcacct- sk-admin- sk-", OPENAI, /[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}/y),
  ...each("sk-proj- sk-svcacct- sk-admin-", OPENAI, /[A-Za-z0-9_-]{48,200}/y, 4),
  ...each("hf_ api_org_", HUGGING_FACE, /[A-Za-z]{34}/y, 3.5),
  token("npm_", NPM, /[A-Za-z0-9]{36}/y),
  ...each("pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", PYPI, /[A-Za-z0-9_-]{50,400}/y),
  token("SG.", SENDGRID, /[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/y),
  token("pplx-", VENDOR, /[A-Za-z0-9]{48}/y),
  token("gsk_", VENDOR, /[A-Za-z0-9]{52}/y),
  token("xai-", VENDOR, /[A-Za-z0-9]{80}/y),
  token("dop_v1_", VENDOR, /[a-f0-9]{64}/y),
  token("shpat_", VENDOR, /[a-f0-9]{32}/y),
  token("hvs.", VENDOR, /[A-Za-z0-9_-]{24,200}/y),
  token("dapi", VENDOR, /[a-f0-9]{32}/y),
  token("SK", VENDOR, /[a-f0-9]{32}/y, 3.2),
  token("AGE-SECRET-KEY-1", VENDOR, /[A-Z0-9]{58}/y),
];

const byStart = new Map<string, Token[]>();
for (const one of TOKENS) {
  const start = one.prefix.slice(0, 2);
  byStart.set(start, [...(byStart.get(start) ?? []), one]);
}
/** One look-up by the first two characters decides for almost every word. */
const starts = new Uint8Array(128 * 128);
for (const start of [...byStart.keys(), "ey"]) starts[start.charCodeAt(0) * 128 + start.charCodeAt(1)] = 1;

export function mayBeToken(first: number, second: number): boolean {
  return first < 128 && second < 128 && starts[first * 128 + second] === 1;
}

const isTokenCode = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;

/** A token at the beginning of a word. */
export function matchToken(scan: ScannedText, start: number): void {
  const { text } = scan;
  const before = text.charCodeAt(start - 1);
  if (before === 95 || (before === 45 && kindAt(text, start - 2) !== 0)) return;
  const first = text.slice(start, start + 2);
  if (first === "ey") matchJwt(scan, start);
  for (const { prefix, kind, rest, entropyMin } of byStart.get(first) ?? []) {
    if (!text.startsWith(prefix, start)) continue;
    rest.lastIndex = start + prefix.length;
    const found = rest.exec(text)?.[0];
    if (found === undefined || isTokenCode(text.charCodeAt(rest.lastIndex))) continue;
    if (entropy(found) < entropyMin || isPlaceholder(found)) continue;
    scan.add(kind, start, rest.lastIndex, RANK.secret);
    return;
  }
}

const JWT_FORM =
  /eyJ[A-Za-z0-9_-]{8,4000}\.(?:[A-Za-z0-9_-]{2,16000}\.[A-Za-z0-9_-]{16,1400}|\.[A-Za-z0-9_-]{20,1400})/y;

/** The header is decoded and must name its algorithm. */
function matchJwt(scan: ScannedText, start: number): void {
  JWT_FORM.lastIndex = start;
  const found = JWT_FORM.exec(scan.text)?.[0];
  if (found === undefined) return;
  const header = decoded(found.slice(0, found.indexOf(".")));
  if (/"(?:alg|enc)"\s*:/.test(header)) scan.add(JWT, start, start + found.length, RANK.secret);
}

/** Base64url of ASCII; what is none becomes nonsense and matches nothing. */
function decoded(base64: string): string {
  try {
    return atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

/** Bits for each character, from how often each occurs. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const PLACEHOLDER =
  /example|xxxx|0000|1234567|abcdef|your|changeme|placeholder|redacted|dummy|sample|insert|replace|\.\.\.|\*\*\*|…/i;

function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

const KEY_CHARS_MAX = 16_384;
const KEY_CHARS_MIN = 64;

/** `-----BEGIN … PRIVATE KEY-----` to its end, or as much of it as there is. Returns where the search may go on. */
export function matchPrivateKey(scan: ScannedText, start: number): number {
  const { text } = scan;
  const head = /^-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/.exec(text.slice(start, start + 64));
  if (head === null) return start + 5;
  const body = text.slice(start, start + KEY_CHARS_MAX);
  const close = body.indexOf("-----END ", head[0].length);
  const foot = close < 0 ? null : /^-----END [A-Z0-9 ]{10,40}-----/.exec(body.slice(close, close + 64));
  const end = close < 0 ? start + keyEnd(body, head[0].length) : start + close + (foot?.[0].length ?? 9);
  if (end - start < head[0].length + KEY_CHARS_MIN) return start + head[0].length;
  scan.add(PRIVATE_KEY, start, end, RANK.secret);
  return end;
}

/** Where a key without its last line ends: at the first character that no key has. */
function keyEnd(body: string, from: number): number {
  let at = from;
  while (at < body.length && /[A-Za-z0-9+/=\\\s:,-]/.test(body.charAt(at))) at++;
  return at;
}

const SCHEME_CHARS_MAX = 20;
const DATABASES =
  /^(?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|redis|rediss|amqp|amqps|mssql|sqlserver|clickhouse|ftp|sftp|smtp|smtps|ldap|ldaps|https?)$/;
const CREDENTIALS = /:\/\/([^\s:/@'"<>]{0,128}):([^\s@/'"<>]{1,256})@[A-Za-z0-9[]/y;
const REST_OF_URL = /[^\s'"<>`,)]{1,512}/y;
const WEAK_PASSWORD =
  /^(?:password|passwd|pass|postgres|secret|root|admin|user|test|guest|example|pw|p|\*+|\.+|…|%[sd]|\$.*|\{.*|<.*|x+)$/i;

/** `scheme://user:password@host` at its `://`. */
export function matchConnection(scan: ScannedText, colon: number): void {
  const { text } = scan;
  let start = colon;
  while (
    colon - start < SCHEME_CHARS_MAX &&
    (isTokenCode(text.charCodeAt(start - 1)) || text.charCodeAt(start - 1) === 43)
  )
    start--;
  if (start === colon) return;
  CREDENTIALS.lastIndex = colon;
  const found = CREDENTIALS.exec(text);
  if (found === null || !DATABASES.test(text.slice(start, colon).toLowerCase())) return;
  const [, , password = ""] = found;
  if (WEAK_PASSWORD.test(password) || isPlaceholder(password)) return;
  REST_OF_URL.lastIndex = colon + found[0].length - 1;
  REST_OF_URL.exec(text);
  scan.add(CONNECTION, start, Math.max(REST_OF_URL.lastIndex, colon + found[0].length), RANK.secret);
}

const VALUE = /[A-Za-z0-9+/=_.~!@#$%^&*-]{10,200}/y;
const NAME_CHARS_MAX = 40;
const NAMES = /(?:key|token|secret|password|passwd|pwd|credential|auth|passphrase)s?$/i;
const NOT_NAMES =
  /(?:public|monkey|hotkey|keyboard|foreign|primary|sort|partition|cache|idempotency|max|min|prompt|completion|input|output|total)[_-]?(?:key|token|auth)s?$/i;
const AWS_SECRET_FORM = /^[A-Za-z0-9/+]{40}$/;
const GENERIC_ENTROPY_MIN = 3.5;

/** The last two letters of all these names: they rule out most others. */
const NAME_ENDS = new Uint8Array(1024);
const slotOfEnd = (first: number, last: number) => ((first & 31) << 5) | (last & 31);
for (const word of "key token secret password passwd pwd credential auth passphrase authorization sig".split(" "))
  for (const name of [word, `${word}s`])
    NAME_ENDS[slotOfEnd(name.charCodeAt(name.length - 2), name.charCodeAt(name.length - 1))] = 1;

/** `api_key = "…"`, at the sign between name and value. What is cheap to refuse comes first. */
export function matchAssigned(scan: ScannedText, sign: number): void {
  const { text } = scan;
  let at = sign + 1;
  if (text.charCodeAt(at) === 62) at++;
  while (at - sign < 4 && text.charCodeAt(at) === 32) at++;
  const quote = text.charCodeAt(at);
  const isQuoted = quote === 34 || quote === 39 || quote === 96;
  if (isQuoted) at++;
  if (kindAt(text, at) === 0) return;
  const nameEnd = endOfName(text, sign);
  if (NAME_ENDS[slotOfEnd(text.charCodeAt(nameEnd - 2), text.charCodeAt(nameEnd - 1))] !== 1) return;
  const name = nameBefore(text, nameEnd);
  if (name === "" || !NAMES.test(name)) {
    if (/^authorization$/i.test(name)) matchBasic(scan, at);
    return;
  }
  VALUE.lastIndex = at;
  const value = VALUE.exec(text)?.[0] ?? "";
  const end = at + value.length;
  if (NOT_NAMES.test(name) || !isSecretValue(value, isQuoted && text.charCodeAt(end) === quote)) return;
  if (/account_?key|sharedaccess|sig$/i.test(name)) scan.add(AZURE_STORAGE, at, end, RANK.secret - 1);
  else scan.add(AWS_SECRET_FORM.test(value) && /secret/i.test(name) ? AWS_SECRET : GENERIC, at, end, RANK.secret - 1);
}

function endOfName(text: string, sign: number): number {
  let end = sign;
  while (
    sign - end < 3 &&
    (text.charCodeAt(end - 1) === 32 || text.charCodeAt(end - 1) === 34 || text.charCodeAt(end - 1) === 39)
  )
    end--;
  return end;
}

function nameBefore(text: string, end: number): string {
  let start = end;
  while (end - start < NAME_CHARS_MAX && (isTokenCode(text.charCodeAt(start - 1)) || text.charCodeAt(start - 1) === 45))
    start--;
  return text.slice(start, end);
}

/** Random: digits and letters in no order that words, paths, calls, ids and hashes have. */
function isSecretValue(value: string, isClosed: boolean): boolean {
  if (value.length < 10 || isPlaceholder(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (
    /^[0-9a-f]{8}-[0-9a-f]{4}-|^sha\d{3}|^[a-z]+(?:[._-][a-z0-9]+)+$|^[A-Za-z]+\.[A-Za-z.]+\d?$|\/\/|^process\.|^\$/i.test(
      value,
    )
  )
    return false;
  if (!isClosed && /^[A-Za-z_$][\w$]*[.([]/.test(value)) return false;
  const isHex = /^[0-9a-f]+$/i.test(value);
  return entropy(value) >= (isHex ? 3 : GENERIC_ENTROPY_MIN) && (!isHex || value.length >= 20);
}

const BASIC_FORM = /Basic ([A-Za-z0-9+/]{8,400}={0,2})/y;

function matchBasic(scan: ScannedText, at: number): void {
  BASIC_FORM.lastIndex = at;
  const found = BASIC_FORM.exec(scan.text);
  if (found === null) return;
  const pair = decoded(found[1] ?? "");
  const password = pair.slice(pair.indexOf(":") + 1);
  if (!pair.includes(":") || WEAK_PASSWORD.test(password) || isPlaceholder(password)) return;
  scan.add(BASIC, at, at + found[0].length, RANK.secret);
}

const AZURE_FORM = /[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}/y;

/** Entra client secrets have their mark inside: at the `~` of `8Q~`. */
export function matchAzure(scan: ScannedText, tilde: number): void {
  const { text } = scan;
  if (text.charCodeAt(tilde - 1) !== 81 || kindAt(text, tilde - 2) === 0) return;
  AZURE_FORM.lastIndex = tilde - 5;
  if (tilde < 5 || isTokenCode(text.charCodeAt(tilde - 6))) return;
  const found = AZURE_FORM.exec(text)?.[0];
  if (found !== undefined && !isTokenCode(text.charCodeAt(AZURE_FORM.lastIndex))) {
    scan.add(AZURE, tilde - 5, AZURE_FORM.lastIndex, RANK.secret);
  }
}
