import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Person } from "../../domain/tenancy/actor.ts";
import {
  type NewSession,
  type PersonRecord,
  personFromSession,
  type SessionWithPerson,
} from "../../domain/tenancy/person.ts";
import { parseBearerToken } from "../../kit/bearer-token.ts";
import { secretsEqual, sha256Hex } from "../../kit/secret.ts";
import { DAY_MS } from "../../kit/time.ts";
import type { Exchange } from "../exchange.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { cookiePairs, cookiePrefix, isSecure } from "./cookies.ts";

/** A session expires this long after its last use. */
export const SESSION_MS = 7 * DAY_MS;
/** Expiry and "last seen" are written at most this often. */
const EXTEND_AFTER_MS = 5 * 60_000;

const USER_AGENT_CHARS_MAX = 300;
const TOKEN_FORM = /^[A-Za-z0-9_-]{20,128}$/;

type PresentedToken = { readonly token: string; readonly via: Person["via"] };

/** A session found by the token that a request presents. */
export type PresentedSession = PresentedToken & { readonly signedIn: SessionWithPerson };

/** A sign-in that waits for its second factor; without a person it has ended. */
export type PendingChallenge = { readonly id: string; readonly person: PersonRecord | undefined };

type SessionDeps = Pick<AccountsDeps, "store" | "clock" | "ids" | "makeToken" | "secret" | "publicUrl">;

/** Reads and issues sessions in the auth library's cookie format. */
export class AccountSessions {
  readonly #deps: SessionDeps;
  readonly #cookieName: string;
  readonly #challengeCookieName: string;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#cookieName = `${cookiePrefix(deps.publicUrl)}.session_token`;
    this.#challengeCookieName = `${cookiePrefix(deps.publicUrl)}.two_factor`;
  }

  async personOf(headers: IncomingHttpHeaders): Promise<Person | undefined> {
    const found = await this.find(headers);
    return found === undefined ? undefined : personFromSession(found.signedIn, found.via);
  }

  /** The request's valid session. Use extends a bearer session here; a cookie session is extended by `renew`. */
  async find(headers: IncomingHttpHeaders): Promise<PresentedSession | undefined> {
    const presented = await this.#presentedToken(headers);
    if (presented === undefined) return undefined;
    const signedIn = await this.findByToken(presented.token);
    if (signedIn === undefined || signedIn.person.disabled) return undefined;
    if (signedIn.session.expiresAtMs <= this.#deps.clock.nowMs()) return undefined;
    if (presented.via === "bearer") await this.#extend(signedIn);
    return { signedIn, ...presented };
  }

  findByToken(token: string): Promise<SessionWithPerson | undefined> {
    return this.#deps.store.people.findSession(sha256Hex(token));
  }

  /** Extends a cookie session when due; returns the cookie to set, so that browser and store expire together. */
  async renew({ signedIn, via, token }: PresentedSession): Promise<string[]> {
    return via === "cookie" && (await this.#extend(signedIn)) ? [await this.cookie(token)] : [];
  }

  async #extend({ session }: SessionWithPerson): Promise<boolean> {
    const now = this.#deps.clock.nowMs();
    if (now - session.lastSeenAtMs < EXTEND_AFTER_MS) return false;
    await this.#deps.store.people.extendSession(session.id, now, now + SESSION_MS);
    return true;
  }

  /** A session that starts now, and its token; the caller stores it. */
  start(
    person: Pick<PersonRecord, "id">,
    exchange: Exchange,
  ): { readonly session: NewSession; readonly token: string } {
    const { clock, ids, makeToken } = this.#deps;
    const [token, now] = [makeToken(), clock.nowMs()];
    return {
      token,
      session: {
        id: ids.next("ses_"),
        userId: person.id,
        tokenDigest: sha256Hex(token),
        createdAtMs: now,
        lastSeenAtMs: now,
        expiresAtMs: now + SESSION_MS,
        address: exchange.clientAddress,
        userAgent: exchange.headers["user-agent"]?.slice(0, USER_AGENT_CHARS_MAX) ?? null,
      },
    };
  }

  async cookie(token: string): Promise<string> {
    const value = await this.#signedValue(token);
    const secure = isSecure(this.#deps.publicUrl) ? "; Secure" : "";
    return `${this.#cookieName}=${value}; Max-Age=${SESSION_MS / 1000}; Path=/; HttpOnly${secure}; SameSite=Lax`;
  }

  /** The session token that a response sets. */
  tokenFromSetCookie(cookies: readonly string[]): Promise<string | undefined> {
    return this.#firstValidToken(cookies.map((cookie) => cookie.split(";")[0] ?? ""));
  }

  /** The request's cookies with a single session cookie, so that gateway and library read the same session. */
  async withSingleSession(cookie = ""): Promise<string> {
    const pairs = cookiePairs(cookie);
    const token = await this.#firstValidToken(pairs);
    return this.#withSingle(this.#cookieName, token, pairs);
  }

  /** Cookies of a request or response other than the session cookie. */
  withoutSession(cookies: readonly string[]): string[] {
    return withoutCookie(cookies, this.#cookieName);
  }

  /** The request's cookies without the session and with a single challenge, the one that its attempt counts against. */
  async withSingleChallenge(cookie: string, challenge: PendingChallenge | undefined): Promise<string> {
    return this.#withSingle(this.#challengeCookieName, challenge?.id, this.withoutSession(cookiePairs(cookie)));
  }

  /** The pending second-factor challenge; undefined without one, or when its signature is invalid. */
  async findChallenge(cookie = ""): Promise<PendingChallenge | undefined> {
    const id = await this.#firstValidToken(cookiePairs(cookie), this.#challengeCookieName);
    if (id === undefined) return undefined;
    const { people } = this.#deps.store;
    const personId = await people.findPendingUser(storedChallengeIdentifier(id), this.#deps.clock.nowMs());
    return { id, person: personId === undefined ? undefined : await people.person(personId) };
  }

  /** The cookie comes first, where the library finds it before any other spelling of its name. */
  async #withSingle(name: string, token: string | undefined, pairs: readonly string[]): Promise<string> {
    const own = token === undefined ? [] : [`${name}=${await this.#signedValue(token)}`];
    return [...own, ...withoutCookie(pairs, name)].join("; ");
  }

  async #presentedToken({ authorization, cookie = "" }: IncomingHttpHeaders): Promise<PresentedToken | undefined> {
    const bearer = parseBearerToken(authorization);
    if (bearer !== undefined) return TOKEN_FORM.test(bearer) ? { token: bearer, via: "bearer" } : undefined;
    const token = await this.#firstValidToken(cookiePairs(cookie));
    return token === undefined ? undefined : { token, via: "cookie" };
  }

  async #firstValidToken(pairs: readonly string[], name = this.#cookieName): Promise<string | undefined> {
    for (const pair of pairs.filter((one) => one.startsWith(`${name}=`))) {
      const [token = "", signature = ""] = decodeValue(pair.slice(name.length + 1)).split(".");
      if (TOKEN_FORM.test(token) && secretsEqual(signature, await this.#signature(token))) return token;
    }
    return undefined;
  }

  async #signedValue(token: string): Promise<string> {
    return encodeURIComponent(`${token}.${await this.#signature(token)}`);
  }

  async #signature(token: string): Promise<string> {
    return createHmac("sha256", await this.#deps.secret())
      .update(token)
      .digest("base64");
  }
}

/** The library ignores spaces around a name. */
function withoutCookie(cookies: readonly string[], name: string): string[] {
  return cookies.filter((cookie) => cookie.split("=")[0]?.trim() !== name);
}

/** As the library stores the identifier of a challenge. */
function storedChallengeIdentifier(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

function decodeValue(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
