import { z } from "zod";
import { type Fault, fault } from "../../contract/faults.ts";
import { isJsonObject } from "../../kit/json.ts";
import { parseJson } from "../body.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { baseOf } from "./deps.ts";
import { AUTH_PATH, OIDC_PROVIDER } from "./library.ts";
import { refuseForeign } from "./origin.ts";
import { passwordFault } from "./passwords.ts";
import { faultOf } from "./refusals.ts";
import type { PeopleRoom } from "./room.ts";
import type { Try } from "./tries.ts";
import { replyOf, requestOf } from "./web.ts";

/** What of the library is open to callers; the rest of it is not there. */
type Door = {
  readonly method: "GET" | "POST";
  /** Fields of the body; another one is refused by its name. */
  readonly takes?: readonly string[];
  /** Fields that are always sent so. */
  readonly sets?: Readonly<Record<string, unknown>>;
  /** A try at something that could be guessed; `account` is the field that says whose. */
  readonly tried?: { readonly account?: string };
  /** It counts as a try although it succeeds: it makes something. */
  readonly makes?: true;
  /** Needs a sign-in that is not long ago. */
  readonly fresh?: true;
  /** The field of a password that is new. */
  readonly newPassword?: string;
  /** How somebody signs in by it, for the audit log. */
  readonly signsIn?: string;
  /** What it changes, for the audit log. */
  readonly changes?: string;
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
    newPassword: "newPassword",
    changes: "person.password_change",
  },
  "request-password-reset": { method: "POST", takes: ["email"], tried: { account: "email" }, makes: true },
  "reset-password": { method: "POST", takes: ["newPassword", "token"], tried: {}, newPassword: "newPassword" },
  "sign-in/social": { method: "POST", takes: ["provider", "callbackURL", "errorCallbackURL"], single: true },
  [`callback/${OIDC_PROVIDER}`]: { method: "GET", single: true, signsIn: "single sign-on" },
};

const FACTOR_DOORS: Readonly<Record<string, Door>> = {
  "two-factor/enable": { method: "POST", takes: ["password"], tried: {} },
  "two-factor/disable": {
    method: "POST",
    takes: ["password"],
    tried: {},
    fresh: true,
    changes: "person.second_factor_off",
  },
  "two-factor/generate-backup-codes": {
    method: "POST",
    takes: ["password"],
    tried: {},
    fresh: true,
    changes: "person.backup_codes",
  },
  "two-factor/verify-totp": {
    method: "POST",
    takes: ["code", "trustDevice"],
    tried: {},
    signsIn: "password and code",
  },
  "two-factor/verify-backup-code": {
    method: "POST",
    takes: ["code", "trustDevice"],
    tried: {},
    signsIn: "password and backup code",
  },
  "passkey/generate-authenticate-options": { method: "GET" },
  "passkey/verify-authentication": { method: "POST", takes: ["response"], tried: {}, signsIn: "passkey" },
  "passkey/generate-register-options": { method: "GET", fresh: true },
  "passkey/verify-registration": {
    method: "POST",
    takes: ["response", "name"],
    fresh: true,
    changes: "person.passkey_add",
  },
  "passkey/update-passkey": { method: "POST", takes: ["id", "name"] },
  "passkey/delete-passkey": { method: "POST", takes: ["id"], fresh: true, changes: "person.passkey_remove" },
};

const DEVICE_DOORS: Readonly<Record<string, Door>> = {
  device: { method: "GET", tried: {} },
  "device/approve": { method: "POST", takes: ["userCode"], tried: {}, changes: "person.device_approve" },
  "device/deny": { method: "POST", takes: ["userCode"], tried: {} },
  "device/code": { method: "POST", takes: ["client_id", "scope"], tried: {}, makes: true, plain: true },
  "device/token": { method: "POST", takes: ["grant_type", "device_code", "client_id"], signsIn: "device", plain: true },
};

const DOORS: Readonly<Record<string, Door>> = { ...PASSWORD_DOORS, ...FACTOR_DOORS, ...DEVICE_DOORS };

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
  const fields = door.method === "POST" ? await fieldsOf(exchange, door) : undefined;
  const before = await room.sessions.find(exchange.headers);
  if (door.fresh === true) refuseStale(room, before);
  const trying = begin(room, door, exchange, fields, before?.held.person.id);
  refuseWeak(door, fields, before?.held.person.email);
  const library = door.single === true ? await room.library.single() : await room.library.plain();
  const request = requestOf(exchange, `${AUTH_PATH}/${path}`, new URL(baseOf(room)).origin, fields);
  const reply = await replyOf(await library.handle(request));
  if (reply.status >= 400) {
    if (reply.status === 401 && door.signsIn !== undefined)
      await room.audit.failed(textOf(fields, "email"), exchange.clientAddress, door.signsIn);
    if (reply.status >= 500) trying?.right();
    if (door.plain === true) return reply;
    throw faultOf(reply.status, reply.bytes);
  }
  if (door.makes !== true) trying?.right();
  await writeDown(room, door, exchange, reply, before?.held.person);
  return reply;
}

async function fieldsOf(exchange: Exchange, { takes = [], sets }: Door): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await exchange.body();
  const fields = bytes.length === 0 ? {} : parseJson(bytes).value;
  const unknown = Object.keys(fields).find((name) => !takes.includes(name));
  if (unknown !== undefined) {
    const param = unknown.slice(0, 100);
    throw fault("unsupported_parameter", { message: `Field "${param}" is not known here: remove it.`, param });
  }
  return { ...fields, ...sets };
}

/** Where no mail leaves, nobody can ask for a new password by it; where there is no single sign-on, there is no way back. */
function isClosed({ mail, oidc }: PeopleRoom, path: string): boolean {
  if (path === "request-password-reset") return mail === null;
  return oidc === null && (path === "sign-in/social" || path.startsWith("callback/"));
}

function begin(
  { tries }: PeopleRoom,
  { tried }: Door,
  { clientAddress }: Exchange,
  fields: unknown,
  personId: string | undefined,
): Try | undefined {
  if (tried === undefined) return undefined;
  const account = tried.account === undefined ? personId : textOf(fields, tried.account);
  return tries.begin(clientAddress, account === undefined || account === "" ? undefined : account);
}

function refuseStale(room: PeopleRoom, found: Awaited<ReturnType<PeopleRoom["sessions"]["find"]>>): void {
  if (found === undefined)
    throw fault("not_signed_in", { message: "The session is over, or there was none. Sign in again." });
  if (!room.sessions.isFresh(found.held.session))
    throw fault("fresh_sign_in_needed", { message: "Sign in again first, then repeat this." });
}

function refuseWeak({ newPassword }: Door, fields: unknown, email: string | undefined): void {
  if (newPassword === undefined) return;
  const weak = passwordFault(textOf(fields, newPassword), newPassword, email === undefined ? [] : [email]);
  if (weak !== undefined) throw weak;
}

/** Who signed in, and by what; what somebody changed about how they sign in. */
async function writeDown(
  room: PeopleRoom,
  door: Door,
  { clientAddress: address }: Exchange,
  reply: Reply,
  before: { readonly id: string; readonly email: string } | undefined,
): Promise<void> {
  if (door.signsIn !== undefined && (before === undefined || door.signsIn === "device")) {
    const token = (await room.sessions.tokenSet(reply.cookies ?? [])) ?? deviceToken(reply);
    const held = token === undefined ? undefined : await room.sessions.heldBy(token);
    if (held !== undefined)
      await room.audit.write({
        actor: held.person.email,
        action: "person.sign_in",
        target: held.person.id,
        address,
        detail: { how: door.signsIn },
      });
    return;
  }
  const action = door.signsIn === "password and code" ? "person.second_factor_on" : door.changes;
  if (action === undefined) return;
  await room.audit.write({ actor: before?.email ?? "anyone", action, target: before?.id ?? null, address });
}

function deviceToken({ bytes }: Reply): string | undefined {
  try {
    return Signing.parse(JSON.parse(String(bytes))).access_token;
  } catch {
    return undefined;
  }
}

function textOf(fields: unknown, name: string): string {
  const value = isJsonObject(fields) ? fields[name] : undefined;
  return typeof value === "string" ? value : "";
}

function noDoor(path: string): Fault {
  return fault("not_found", { message: `There is nothing at ${AUTH_PATH}/${path.slice(0, 100)}.` });
}
