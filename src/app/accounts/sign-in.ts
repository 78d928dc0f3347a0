import { z } from "zod";
import { Fault, fault, unknownField } from "../../contract/faults.ts";
import type { SessionWithPerson } from "../../domain/tenancy/person.ts";
import type { RequiredCredential } from "../../io/store/sql/auth-adapter.ts";
import { isJsonObject, tryParseJson } from "../../kit/json.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { requireFreshSession } from "../manage/fresh-sign-in.ts";
import { parseJson } from "../request-input.ts";
import type { AccountsContext } from "./accounts-context.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import { ADDRESS_HEADER, AUTH_ENDPOINTS, AUTH_PATH, type AuthEndpoint } from "./auth-endpoints.ts";
import { faultOfResponse, SIGN_IN_AGAIN } from "./auth-errors.ts";
import type { AuthCall } from "./in-flight-calls.ts";
import type { LoginAttempt } from "./login-throttle.ts";
import { requireSameOrigin } from "./origin-check.ts";
import { passwordFault } from "./password-policy.ts";
import { resetPassword } from "./password-reset.ts";
import { beginAttempt, isEmailOf, recordFailedSignIn } from "./sign-in-attempt.ts";
import { textField } from "./text-field.ts";

/** Longer than the library accepts a TOTP code: its period of 30 s, and one before and after. */
const CODE_MS = 150_000;

/** Forces the SSO provider to authenticate a signed-in person again instead of using its own session. */
const REAUTHENTICATE = { additionalParams: { prompt: "login" } };

const deviceTokenSchema = z.object({ access_token: z.string() });

/** Passes sign-in requests to the auth library, with the gateway's checks before and its audit after. */
export function signInHandlers(context: AccountsContext): Record<string, Handler> {
  const handler = buffered(async (exchange) => {
    const path = exchange.params["rest"] ?? "";
    const endpoint = Object.hasOwn(AUTH_ENDPOINTS, path) ? AUTH_ENDPOINTS[path] : undefined;
    if (endpoint === undefined || endpoint.method !== exchange.route.method || isSwitchedOff(context, path))
      throw noSuchEndpoint(path);
    if (endpoint.method === "POST") requireSameOrigin(exchange.headers, context.publicUrl);
    // The epoch is read before any credential, so that a credential change during the call is detected.
    const call: AuthCall = { epoch: await context.store.people.epoch(), isStale: false };
    return callLibrary(context, exchange, { path, endpoint, call });
  });
  return { peopleAuthRead: handler, peopleAuthChange: handler };
}

type RoutedCall = { readonly path: string; readonly endpoint: AuthEndpoint; readonly call: AuthCall };

async function callLibrary(context: AccountsContext, exchange: Exchange, routed: RoutedCall): Promise<HttpResponse> {
  const { path, endpoint, call } = routed;
  const fields = endpoint.method === "POST" ? await readFields(exchange, endpoint) : undefined;
  // The cookie alone counts, because the library reads nothing else: a bearer token could be fresh for another session.
  const ownCookie = await context.sessions.withSingleSession(exchange.headers.cookie);
  const found = (await context.sessions.find({ cookie: ownCookie }))?.signedIn;
  // With a session cookie the library would not start a new session, so a second step goes without it.
  const isNewSignIn = endpoint.isSecondStep === true && found?.person.twoFactor === true;
  const before = isNewSignIn ? undefined : found;
  const isSignInStep = endpoint.isSecondStep === true && before === undefined;
  const challenge = isSignInStep ? await context.sessions.findChallenge(ownCookie) : undefined;
  // Without a pending challenge the code would be consumed for nothing.
  if (isNewSignIn && challenge === undefined) throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
  const cookie = isSignInStep ? await context.sessions.withSingleChallenge(ownCookie, challenge) : ownCookie;
  if (endpoint.needsFreshSignIn === true) requireFresh(context, before);
  call.requires = requirementOf(endpoint, fields, before);
  const attempt = await beginAttempt(context, endpoint, exchange, fields, { signedIn: before, challenge });
  rejectWeakPassword(endpoint, fields, before?.person.email);
  if (path === "reset-password") return resetByLink(context, exchange, fields, attempt);
  const library = endpoint.usesSso === true ? await context.authLibrary.withSso() : await context.authLibrary.open();
  const isReauthentication = path === "sign-in/social" && before !== undefined && library.supportsReauthentication;
  const input = { fields: isReauthentication ? { ...fields, ...REAUTHENTICATE } : fields, cookie };
  const request = toLibraryRequest(exchange, `${AUTH_PATH}/${path}`, new URL(publicBaseUrl(context)).origin, input);
  const reply = await toReply(await library.handle(request, call));
  // Whatever the library made of the stale write. An SSO callback is redirected to the sign-in page instead.
  if (call.isStale && endpoint.usesSso !== true) {
    // Reaching a write proves the password, but not a code: the library also writes for a wrong one.
    if (endpoint.isSecondStep !== true && endpoint.countsSuccess !== true) attempt?.succeed();
    throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
  }
  const started = endpoint.signInMethod === undefined ? undefined : await startedSession(context, reply, before);
  if (reply.status >= 400) {
    if (reply.status === 401 && endpoint.signInMethod !== undefined)
      await recordFailedSignIn(context, exchange, endpoint.signInMethod, {
        email: challenge?.person?.email ?? textField(fields, "email"),
        hadPassword: challenge !== undefined,
      });
    if (reply.status >= 500) attempt?.succeed();
    if (endpoint.isDeviceFlow === true) return reply;
    const passwordField = path === "change-password" ? "currentPassword" : undefined;
    throw faultOfResponse(context, reply.status, reply.bytes, passwordField);
  }
  if (endpoint.hasSingleUseCode === true) await rejectReusedCode(context, started, textField(fields, "code"));
  if (endpoint.countsSuccess !== true) attempt?.succeed();
  await writeAudit(context, endpoint, exchange, started, before);
  if (endpoint.isDeviceFlow === true) return reply;
  const isSamePerson = isEmailOf(before, textField(fields, "email"));
  const sent = await rememberDevice(context, exchange, started, withoutToken(reply));
  return isSamePerson ? keepSessionDuringChallenge(context, sent) : sent;
}

/** Whatever the sign-in method was. */
async function rememberDevice(
  { knownDevices }: AccountsContext,
  { headers }: Exchange,
  started: SessionWithPerson | undefined,
  reply: HttpResponse,
): Promise<HttpResponse> {
  if (started === undefined) return reply;
  const cookie = await knownDevices.remember(headers.cookie, started.person.email);
  return { ...reply, cookies: [...(reply.cookies ?? []), cookie] };
}

/** Only an invalid link counts as a failed attempt. */
async function resetByLink(
  context: AccountsContext,
  exchange: Exchange,
  fields: unknown,
  attempt: LoginAttempt | undefined,
): Promise<HttpResponse> {
  try {
    const reply = await resetPassword(context, exchange, textField(fields, "token"), textField(fields, "newPassword"));
    attempt?.succeed();
    return reply;
  } catch (error) {
    if (!(error instanceof Fault && error.code === "invalid_value")) attempt?.succeed();
    throw error;
  }
}

/** A signed-in person who enters the password again stays signed in until the code; the library would end the session. */
function keepSessionDuringChallenge({ sessions }: AccountsContext, reply: HttpResponse): HttpResponse {
  const body = tryParseJson(reply.bytes ?? "");
  const isChallenge = isJsonObject(body) && body["twoFactorRedirect"] === true;
  return isChallenge ? { ...reply, cookies: sessions.withoutSession(reply.cookies ?? []) } : reply;
}

/** The library reads some fields from the query if the body lacks them, so the query must be empty. */
async function readFields(
  exchange: Exchange,
  { fields: allowed = [], fixedFields }: AuthEndpoint,
): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await exchange.body();
  const fields = bytes.length === 0 ? {} : parseJson(bytes).value;
  const unknown = [...exchange.query.keys(), ...Object.keys(fields).filter((name) => !allowed.includes(name))][0];
  if (unknown !== undefined) throw unknownField(unknown.slice(0, 100));
  return { ...fields, ...fixedFields };
}

/** Password resets need a mail server, and the SSO endpoints a provider. */
function isSwitchedOff({ mail, oidc }: AccountsContext, path: string): boolean {
  if (path === "request-password-reset") return mail === null;
  return oidc === null && (path === "sign-in/social" || path.startsWith("callback/"));
}

/** The row that must exist when the library writes: the session of the caller, or the passkey that signs in. */
function requirementOf(
  { requires }: AuthEndpoint,
  fields: unknown,
  signedIn: SessionWithPerson | undefined,
): RequiredCredential | undefined {
  if (requires?.model === "session") return signedIn && { ...requires, field: "id", value: signedIn.session.id };
  const response = isJsonObject(fields) ? fields["response"] : undefined;
  return requires && { ...requires, field: "credentialID", value: textField(response, "id") };
}

function requireFresh(context: AccountsContext, signedIn: SessionWithPerson | undefined): void {
  if (signedIn === undefined) throw fault("not_signed_in", { message: "The session has expired. Sign in again." });
  requireFreshSession(context, signedIn.session.createdAtMs);
}

function rejectWeakPassword({ newPasswordField }: AuthEndpoint, fields: unknown, email: string | undefined): void {
  if (newPasswordField === undefined) return;
  const personal = email === undefined ? [] : [email];
  const weak = passwordFault(textField(fields, newPasswordField), newPasswordField, personal);
  if (weak !== undefined) throw weak;
}

/** The session that a response starts, unless it is the one that the request came with. */
async function startedSession(
  { sessions }: AccountsContext,
  reply: HttpResponse,
  before: SessionWithPerson | undefined,
): Promise<SessionWithPerson | undefined> {
  const token = (await sessions.tokenFromSetCookie(reply.cookies ?? [])) ?? deviceToken(reply);
  const started = token === undefined ? undefined : await sessions.findByToken(token);
  return started?.session.id === before?.session.id ? undefined : started;
}

/** A TOTP code signs in once, so that an observer of the code cannot sign in after its owner. */
async function rejectReusedCode(
  { store, clock }: AccountsContext,
  started: SessionWithPerson | undefined,
  code: string,
): Promise<void> {
  if (started === undefined) return;
  const { person, session } = started;
  const now = clock.nowMs();
  if (await store.people.consumeCode(person.id, code, now, now + CODE_MS)) return;
  await store.change(async ({ people }) => ({ result: await people.endSession(person.id, session.id), audit: null }));
  throw fault("invalid_sign_in", { message: "This code was already used. Wait for the next one." });
}

async function writeAudit(
  { audit }: AccountsContext,
  { signInMethod, isSecondStep, auditAction }: AuthEndpoint,
  { clientAddress: address }: Exchange,
  started: SessionWithPerson | undefined,
  before: SessionWithPerson | undefined,
): Promise<void> {
  const person = started?.person ?? before?.person;
  if (person === undefined) return;
  const write = (action: string, detail = {}) =>
    audit.write({ actor: person.email, action, target: person.id, address, detail });
  // The first code of a new factor restarts the session without a password, so it is no sign-in.
  const isFactorSetup = isSecondStep === true && before !== undefined;
  if (started !== undefined && !isFactorSetup) await write("person.sign_in", { how: signInMethod });
  else if (signInMethod === undefined && auditAction !== undefined) await write(auditAction);
}

/** The session token stays in the HttpOnly cookie, where scripts of the page cannot read it. */
function withoutToken(reply: HttpResponse): HttpResponse {
  const body = tryParseJson(reply.bytes ?? "");
  if (!isJsonObject(body)) return reply;
  const { token: _, session, ...rest } = body;
  const visible = isJsonObject(session) ? { ...rest, session: { ...session, token: undefined } } : rest;
  return { ...reply, bytes: Buffer.from(JSON.stringify(visible)) };
}

function deviceToken(reply: HttpResponse): string | undefined {
  return deviceTokenSchema.safeParse(tryParseJson(reply.bytes ?? "")).data?.access_token;
}

function noSuchEndpoint(path: string): Fault {
  return fault("not_found", { message: `There is nothing at ${AUTH_PATH}/${path.slice(0, 100)}.` });
}

/** The request headers that reach the library. */
const REQUEST_HEADERS = [
  "accept",
  "content-type",
  "host",
  "origin",
  "referer",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "sec-fetch-site",
  "user-agent",
] as const;

type LibraryInput = {
  /** Undefined: the request has no body. */
  readonly fields: object | undefined;
  readonly cookie: string;
};

function toLibraryRequest(exchange: Exchange, path: string, base: string, { fields, cookie }: LibraryInput): Request {
  const headers = new Headers({ [ADDRESS_HEADER]: exchange.clientAddress });
  // With a cookie header the library demands an Origin, which programs do not send.
  if (cookie !== "") headers.set("cookie", cookie);
  for (const name of REQUEST_HEADERS) {
    const value = exchange.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const { method } = exchange.route;
  if (fields === undefined) {
    const query = exchange.query.size === 0 ? "" : `?${exchange.query}`;
    return new Request(`${base}${path}${query}`, { method, headers });
  }
  headers.set("content-type", "application/json");
  return new Request(`${base}${path}`, { method, headers, body: JSON.stringify(fields) });
}

const RESPONSE_HEADERS = ["cache-control", "content-type", "location", "pragma"] as const;

async function toReply(response: Response): Promise<HttpResponse> {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  for (const name of RESPONSE_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers, cookies: response.headers.getSetCookie(), bytes };
}
