import { z } from "zod";
import { Fault, fault, unknownField } from "../../contract/faults.ts";
import type { SessionWithPerson } from "../../domain/tenancy/person.ts";
import type { Needed } from "../../io/store/sql/auth-adapter.ts";
import { isJsonObject, tryParseJson } from "../../kit/json.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { requireFreshSession } from "../manage/fresh-sign-in.ts";
import { parseJson } from "../request-input.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import { faultOf, SIGN_IN_AGAIN } from "./auth-errors.ts";
import { AUTH_PATH, OIDC_PROVIDER } from "./auth-library.ts";
import type { LoginAttempt } from "./login-throttle.ts";
import { beginRead, refuseForeign } from "./origin-check.ts";
import { passwordFault } from "./password-policy.ts";
import { resetPassword } from "./password-reset.ts";
import type { PeopleRoom } from "./room.ts";
import { type Call, underWay } from "./under-way.ts";
import { replyOf, requestOf } from "./web.ts";

/** What of the library is open to callers; the rest of it is not there. */
type Door = {
  readonly method: "GET" | "POST";
  /** Fields of the body; another one is refused by its name, and so is every field of a query beside it. */
  readonly takes?: readonly string[];
  /** Fields that are always sent so. */
  readonly sets?: Readonly<Record<string, unknown>>;
  /**
   * A try at something that could be guessed; `account` is the field that says whose. What can be looked up as well is
   * counted together with that.
   */
  readonly tried?: { readonly account?: string; readonly lookedUp?: true };
  /** It counts as a try although it succeeds: it makes something. */
  readonly makes?: true;
  /** Needs a sign-in that is not long ago. */
  readonly fresh?: true;
  /** The field of a password that is new. */
  readonly newPassword?: string;
  /** How somebody signs in by it, for the audit log. */
  readonly signsIn?: string;
  /** It gives the code that has to follow a password. */
  readonly follows?: true;
  /** Its code signs in once. */
  readonly once?: true;
  /** What it changes, for the audit log. */
  readonly changes?: string;
  /** It goes by this, which is taken away without an epoch, and makes that. */
  readonly needs?: Pick<Needed, "model" | "makes">;
  /** Through the instance that knows the provider of single sign-on. */
  readonly single?: true;
  /** In the words of RFC 8628, which the command line reads. */
  readonly plain?: true;
};

const PASSWORD_DOORS: Readonly<Record<string, Door>> = {
  "sign-in/email": {
    method: "POST",
    takes: ["email", "password"],
    tried: { account: "email" },
    signsIn: "password",
  },
  "sign-out": { method: "POST", changes: "person.sign_out" },
  "change-password": {
    method: "POST",
    takes: ["currentPassword", "newPassword"],
    sets: { revokeOtherSessions: true },
    tried: {},
    fresh: true,
    newPassword: "newPassword",
  },
  "request-password-reset": { method: "POST", takes: ["email"], tried: { account: "email" }, makes: true },
  "reset-password": { method: "POST", takes: ["newPassword", "token"], tried: {}, newPassword: "newPassword" },
  "sign-in/social": { method: "POST", takes: ["provider", "callbackURL", "errorCallbackURL"], single: true },
  [`callback/${OIDC_PROVIDER}`]: { method: "GET", single: true, signsIn: "single sign-on" },
};

const FACTOR_DOORS: Readonly<Record<string, Door>> = {
  "two-factor/enable": {
    method: "POST",
    takes: ["password"],
    tried: {},
    fresh: true,
    needs: { model: "session", makes: "twoFactor" },
  },
  "two-factor/disable": {
    method: "POST",
    takes: ["password"],
    tried: {},
    fresh: true,
    needs: { model: "session", makes: "session" },
  },
  "two-factor/generate-backup-codes": {
    method: "POST",
    takes: ["password"],
    tried: {},
    fresh: true,
    changes: "person.backup_codes",
    needs: { model: "session", makes: "twoFactor" },
  },
  "two-factor/verify-totp": {
    method: "POST",
    takes: ["code", "trustDevice"],
    tried: {},
    follows: true,
    once: true,
    signsIn: "password and code",
    needs: { model: "session", makes: "session" },
  },
  "two-factor/verify-backup-code": {
    method: "POST",
    takes: ["code", "trustDevice"],
    tried: {},
    follows: true,
    signsIn: "password and backup code",
  },
  "passkey/generate-authenticate-options": { method: "GET" },
  "passkey/verify-authentication": {
    method: "POST",
    takes: ["response"],
    tried: {},
    signsIn: "passkey",
    needs: { model: "passkey", makes: "session" },
  },
  "passkey/generate-register-options": { method: "GET", fresh: true },
  "passkey/verify-registration": {
    method: "POST",
    takes: ["response", "name"],
    fresh: true,
    changes: "person.passkey_add",
    needs: { model: "session", makes: "passkey" },
  },
  "passkey/update-passkey": { method: "POST", takes: ["id", "name"] },
  "passkey/delete-passkey": { method: "POST", takes: ["id"], fresh: true, changes: "person.passkey_remove" },
};

const DEVICE_DOORS: Readonly<Record<string, Door>> = {
  device: { method: "GET", tried: {} },
  // The device's session begins anew, and is as good as a sign-in.
  "device/approve": {
    method: "POST",
    takes: ["userCode"],
    tried: { lookedUp: true },
    fresh: true,
    changes: "person.device_approve",
    needs: { model: "session", makes: "deviceCode" },
  },
  "device/deny": { method: "POST", takes: ["userCode"], tried: { lookedUp: true } },
  "device/code": { method: "POST", takes: ["client_id", "scope"], tried: {}, makes: true, plain: true },
  "device/token": { method: "POST", takes: ["grant_type", "device_code", "client_id"], signsIn: "device", plain: true },
};

const DOORS: Readonly<Record<string, Door>> = { ...PASSWORD_DOORS, ...FACTOR_DOORS, ...DEVICE_DOORS };

/** Longer than any code of an app is taken: its half minute, and one before and after. */
const CODE_MS = 150_000;

/** Who is signed in proves that it is still them: the provider's own session is no proof of it. */
const ASKED_AGAIN = { additionalParams: { prompt: "login" } };

const Signing = z.object({ access_token: z.string() });

export function authHandlers(room: PeopleRoom): Record<string, Handler> {
  const handle = whole((exchange) => answer(room, exchange));
  return { peopleAuthRead: handle, peopleAuthChange: handle };
}

async function answer(room: PeopleRoom, exchange: Exchange): Promise<Reply> {
  const path = exchange.params["rest"] ?? "";
  const door = Object.hasOwn(DOORS, path) ? DOORS[path] : undefined;
  if (door === undefined || door.method !== exchange.route.method || isClosed(room, path)) throw noDoor(path);
  if (door.method === "POST") refuseForeign(exchange.headers, room.publicUrl);
  // Before anything is looked at that the call goes by.
  const call = { epoch: await room.store.people.epoch(), isLate: false };
  return underWay(call, () => through(room, exchange, path, door, call));
}

async function through(room: PeopleRoom, exchange: Exchange, path: string, door: Door, call: Call): Promise<Reply> {
  const fields = door.method === "POST" ? await fieldsOf(exchange, door) : undefined;
  // By the cookie alone, for that is all the library goes by: a bearer beside it would be fresh for another's session.
  const own = await room.sessions.unambiguous(exchange.headers.cookie);
  const found = await room.sessions.find({ cookie: own });
  // A code that follows a password signs in, also who is signed in already: with a session the library would begin none.
  const isAnew = door.follows === true && found?.held.person.twoFactor === true;
  const [cookie, before] = isAnew ? [challengedOf(room, own), undefined] : [own, found];
  if (door.fresh === true) demandFreshSession(room, before?.held);
  call.needs = neededBy(door, fields, before?.held);
  const trying = begin(room, door, exchange, fields, before?.held);
  refuseWeak(door, fields, before?.held.person.email);
  if (path === "reset-password") return reset(room, exchange, fields, trying);
  const library = door.single === true ? await room.library.single() : await room.library.plain();
  const isAsked = path === "sign-in/social" && before !== undefined && library.asksAgain;
  const sent = { fields: isAsked ? { ...fields, ...ASKED_AGAIN } : fields, cookie };
  const request = requestOf(exchange, `${AUTH_PATH}/${path}`, new URL(publicBaseUrl(room)).origin, sent);
  const reply = await replyOf(await library.handle(request));
  // Whatever the library made of it. Who comes back from the provider is sent to the page of signing in.
  if (call.isLate && door.single !== true) {
    // A password had to be right to come that far; of a code that is wrong something is written, too.
    if (door.follows !== true && door.makes !== true) trying?.succeed();
    throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
  }
  const begun = door.signsIn === undefined ? undefined : await begunIn(room, reply, before?.held);
  if (reply.status >= 400) {
    if (reply.status === 401 && door.signsIn !== undefined)
      await room.audit.failed(textOf(fields, "email"), exchange.clientAddress, door.signsIn);
    if (reply.status >= 500) trying?.succeed();
    if (door.plain === true) return reply;
    throw faultOf(room, reply.status, reply.bytes, path === "change-password" ? "currentPassword" : undefined);
  }
  if (door.once === true) await refuseUsed(room, begun, textOf(fields, "code"));
  if (door.makes !== true) trying?.succeed();
  await writeDown(room, door, exchange, begun, before?.held);
  if (door.plain === true) return reply;
  const isSame = isAddressOf(before?.held, textOf(fields, "email"));
  return isSame ? stillIn(room, withoutToken(reply)) : withoutToken(reply);
}

/** Only a link that is not good counts as a wrong try. */
async function reset(
  room: PeopleRoom,
  exchange: Exchange,
  fields: unknown,
  trying: LoginAttempt | undefined,
): Promise<Reply> {
  try {
    const reply = await resetPassword(room, exchange, textOf(fields, "token"), textOf(fields, "newPassword"));
    trying?.succeed();
    return reply;
  } catch (error) {
    if (!(error instanceof Fault && error.code === "invalid_value")) trying?.succeed();
    throw error;
  }
}

/** A code that comes too late after the password would be used up, and prove nothing. */
function challengedOf({ sessions }: PeopleRoom, cookie: string): string {
  const challenged = sessions.challenged(cookie);
  if (challenged === undefined) throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
  return challenged;
}

/** Who is signed in and gives the password again stays so until the code follows: the library would sign them out. */
function stillIn({ sessions }: PeopleRoom, reply: Reply): Reply {
  const said = tryParseJson(reply.bytes ?? "");
  const isHalf = isJsonObject(said) && said["twoFactorRedirect"] === true;
  return isHalf ? { ...reply, cookies: sessions.others(reply.cookies ?? []) } : reply;
}

/** The library takes some from the query where the body has none: what is looked at here has to be all that it reads. */
async function fieldsOf(exchange: Exchange, { takes = [], sets }: Door): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await exchange.body();
  const fields = bytes.length === 0 ? {} : parseJson(bytes).value;
  const unknown = [...exchange.query.keys(), ...Object.keys(fields).filter((name) => !takes.includes(name))][0];
  if (unknown !== undefined) throw unknownField(unknown.slice(0, 100));
  return { ...fields, ...sets };
}

/** Where no mail leaves, nobody can ask for a new password by it; where there is no single sign-on, there is no way back. */
function isClosed({ mail, oidc }: PeopleRoom, path: string): boolean {
  if (path === "request-password-reset") return mail === null;
  return oidc === null && (path === "sign-in/social" || path.startsWith("callback/"));
}

/**
 * Who is signed in is counted by their session, which strangers cannot use up; mails to an address by the address, whoever
 * asks for them.
 */
function begin(
  room: PeopleRoom,
  { method, tried, makes }: Door,
  exchange: Exchange,
  fields: unknown,
  held: SessionWithPerson | undefined,
): LoginAttempt | undefined {
  if (tried === undefined) return undefined;
  if (method === "GET") return beginRead(room, exchange, held);
  const [{ loginThrottle }, { clientAddress }] = [room, exchange];
  const account = tried.account === undefined ? undefined : textOf(fields, tried.account);
  const isOwn = account === undefined || (makes !== true && isAddressOf(held, account));
  if (held !== undefined && tried.lookedUp === true)
    return loginThrottle.beginRead(clientAddress, true, held.person.id, held.session.id);
  if (held !== undefined && isOwn) return loginThrottle.begin(clientAddress, held.person.id, held.session.id);
  return loginThrottle.begin(clientAddress, account === "" ? undefined : account);
}

function isAddressOf(held: SessionWithPerson | undefined, said: string): boolean {
  return held?.person.email === said.toLowerCase();
}

/** A passkey signs in while it is there; a session adds one or a second factor, allows a device or begins anew while it is. */
function neededBy({ needs }: Door, fields: unknown, held: SessionWithPerson | undefined): Needed | undefined {
  if (needs?.model === "session") return held && { ...needs, field: "id", value: held.session.id };
  const response = isJsonObject(fields) ? fields["response"] : undefined;
  return needs && { ...needs, field: "credentialID", value: textOf(response, "id") };
}

function demandFreshSession(room: PeopleRoom, held: SessionWithPerson | undefined): void {
  if (held === undefined)
    throw fault("not_signed_in", { message: "The session is over, or there was none. Sign in again." });
  requireFreshSession(room, held.session.createdAtMs);
}

function refuseWeak({ newPassword }: Door, fields: unknown, email: string | undefined): void {
  if (newPassword === undefined) return;
  const weak = passwordFault(textOf(fields, newPassword), newPassword, email === undefined ? [] : [email]);
  if (weak !== undefined) throw weak;
}

/** The session that an answer begins, if it is another than the one that asked. */
async function begunIn(
  { sessions }: PeopleRoom,
  reply: Reply,
  before: SessionWithPerson | undefined,
): Promise<SessionWithPerson | undefined> {
  const token = (await sessions.tokenSet(reply.cookies ?? [])) ?? deviceToken(reply);
  const held = token === undefined ? undefined : await sessions.heldBy(token);
  return held?.session.id === before?.session.id ? undefined : held;
}

/** A code that has signed somebody in does not do so again: whoever saw it being typed must not come after them. */
async function refuseUsed(
  { store, clock }: PeopleRoom,
  begun: SessionWithPerson | undefined,
  code: string,
): Promise<void> {
  if (begun === undefined) return;
  const { person, session } = begun;
  const now = clock.nowMs();
  if (await store.people.consumeCode(person.id, code, now, now + CODE_MS)) return;
  await store.change(async ({ people }) => ({ answer: await people.endSession(person.id, session.id), audit: null }));
  throw fault("invalid_sign_in", { message: "This code was used already. Wait for the next one." });
}

/** Who signed in, and by what; what somebody changed about how they sign in. */
async function writeDown(
  { audit }: PeopleRoom,
  { signsIn, follows, changes }: Door,
  { clientAddress: address }: Exchange,
  begun: SessionWithPerson | undefined,
  before: SessionWithPerson | undefined,
): Promise<void> {
  const who = begun?.person ?? before?.person;
  if (who === undefined) return;
  const write = (action: string, detail = {}) =>
    audit.write({ actor: who.email, action, target: who.id, address, detail });
  // The first code of a factor begins the session anew, and follows no password.
  const isSwitch = follows === true && before !== undefined;
  if (begun !== undefined && !isSwitch) await write("person.sign_in", { how: signsIn });
  else if (signsIn === undefined && changes !== undefined) await write(changes);
}

/** A page need not know what its session is known by: the cookie, which it cannot read, says it. */
function withoutToken(reply: Reply): Reply {
  const said = tryParseJson(reply.bytes ?? "");
  if (!isJsonObject(said)) return reply;
  const { token: _, session, ...rest } = said;
  const kept = isJsonObject(session) ? { ...rest, session: { ...session, token: undefined } } : rest;
  return { ...reply, bytes: Buffer.from(JSON.stringify(kept)) };
}

function deviceToken(reply: Reply): string | undefined {
  return Signing.safeParse(tryParseJson(reply.bytes ?? "")).data?.access_token;
}

function textOf(fields: unknown, name: string): string {
  const value = isJsonObject(fields) ? fields[name] : undefined;
  return typeof value === "string" ? value : "";
}

function noDoor(path: string): Fault {
  return fault("not_found", { message: `There is nothing at ${AUTH_PATH}/${path.slice(0, 100)}.` });
}
