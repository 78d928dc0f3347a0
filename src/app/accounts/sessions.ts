import { createHmac } from "node:crypto";
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

/** A session ends this long after it was last used. */
export const SESSION_MS = 7 * DAY_MS;
/** It is prolonged when it was not for so long; "last seen" is at most this old while somebody is there. */
const PROLONG_AFTER_MS = 5 * 60_000;

const USER_AGENT_CHARS_MAX = 300;
const TOKEN_FORM = /^[A-Za-z0-9_-]{20,128}$/;

/** What the names of all cookies begin with: under https a page of another host can not plant one. */
export function cookiePrefix(publicUrl: string | null): string {
  return isSecure(publicUrl) ? "__Host-gateway" : "gateway";
}

export function isSecure(publicUrl: string | null): boolean {
  return publicUrl?.startsWith("https://") ?? false;
}

/** A session as it came in: from the cookie, which says so, or as a bearer. */
type Presented = { readonly token: string; readonly via: Person["via"] };

export class Sessions {
  readonly #deps: Pick<AccountsDeps, "store" | "clock" | "ids" | "makeToken" | "secret" | "publicUrl">;
  readonly #cookieName: string;
  readonly #challengeName: string;

  constructor(deps: Pick<AccountsDeps, "store" | "clock" | "ids" | "makeToken" | "secret" | "publicUrl">) {
    this.#deps = deps;
    this.#cookieName = `${cookiePrefix(deps.publicUrl)}.session_token`;
    this.#challengeName = `${cookiePrefix(deps.publicUrl)}.two_factor`;
  }

  async personOf(headers: IncomingHttpHeaders): Promise<Person | undefined> {
    const found = await this.find(headers);
    return found === undefined ? undefined : personFromSession(found.held, found.via);
  }

  /** The session of a call, if it has one that holds. A bearer's is prolonged by its use; a cookie's only by `renewed`. */
  async find(
    headers: IncomingHttpHeaders,
  ): Promise<{ held: SessionWithPerson; via: Person["via"]; token: string } | undefined> {
    const presented = await this.#presented(headers);
    if (presented === undefined) return undefined;
    const { store, clock } = this.#deps;
    const held = await store.people.findSession(sha256Hex(presented.token));
    if (held === undefined || held.person.disabled || held.session.expiresAtMs <= clock.nowMs()) return undefined;
    if (presented.via === "bearer") await this.#prolong(held);
    return { held, ...presented };
  }

  heldBy(token: string): Promise<SessionWithPerson | undefined> {
    return this.#deps.store.people.findSession(sha256Hex(token));
  }

  /** The cookie once more, when the session was prolonged: the browser keeps it as long as we do. */
  async renewed({
    held,
    via,
    token,
  }: {
    held: SessionWithPerson;
    via: Person["via"];
    token: string;
  }): Promise<string[]> {
    return via === "cookie" && (await this.#prolong(held)) ? [await this.cookie(token)] : [];
  }

  async #prolong({ session }: SessionWithPerson): Promise<boolean> {
    const now = this.#deps.clock.nowMs();
    if (now - session.lastSeenAtMs < PROLONG_AFTER_MS) return false;
    await this.#deps.store.people.extendSession(session.id, now, now + SESSION_MS);
    return true;
  }

  /** A session that begins now, and the token it is known by. */
  begin(
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

  /** In the form that the library of sign-in writes and reads. */
  async cookie(token: string): Promise<string> {
    const value = await this.#signed(token);
    const secure = isSecure(this.#deps.publicUrl) ? "; Secure" : "";
    return `${this.#cookieName}=${value}; Max-Age=${SESSION_MS / 1000}; Path=/; HttpOnly${secure}; SameSite=Lax`;
  }

  /** The token that an answer sets, if it begins a session. */
  tokenSet(cookies: readonly string[]): Promise<string | undefined> {
    return this.#first(cookies.map((cookie) => cookie.split(";")[0] ?? ""));
  }

  /** The cookies of a call with one session among them, so that everybody who reads them finds the same. */
  async unambiguous(cookie = ""): Promise<string> {
    const pairs = pairsOf(cookie);
    const token = await this.#first(pairs);
    const own = token === undefined ? [] : [`${this.#cookieName}=${await this.#signed(token)}`];
    return [...this.others(pairs), ...own].join("; ");
  }

  /** Those that are not the session's, of a call or of an answer. */
  others(cookies: readonly string[]): string[] {
    return cookies.filter((one) => !one.startsWith(`${this.#cookieName}=`));
  }

  /** The cookies of a call after a password that a code has to follow, with no session; undefined: none has to. */
  challenged(cookie: string): string | undefined {
    const others = this.others(pairsOf(cookie));
    return others.some((pair) => pair.startsWith(`${this.#challengeName}=`)) ? others.join("; ") : undefined;
  }

  async #presented({ authorization, cookie = "" }: IncomingHttpHeaders): Promise<Presented | undefined> {
    const bearer = parseBearerToken(authorization);
    if (bearer !== undefined) return TOKEN_FORM.test(bearer) ? { token: bearer, via: "bearer" } : undefined;
    const token = await this.#first(pairsOf(cookie));
    return token === undefined ? undefined : { token, via: "cookie" };
  }

  /** The token of the first cookie that is ours and was signed here. */
  async #first(pairs: readonly string[]): Promise<string | undefined> {
    for (const pair of pairs.filter((one) => one.startsWith(`${this.#cookieName}=`))) {
      const [token = "", signature = ""] = decoded(pair.slice(this.#cookieName.length + 1)).split(".");
      if (TOKEN_FORM.test(token) && secretsEqual(signature, await this.#signature(token))) return token;
    }
    return undefined;
  }

  /** As it stands in a cookie. */
  async #signed(token: string): Promise<string> {
    return encodeURIComponent(`${token}.${await this.#signature(token)}`);
  }

  async #signature(token: string): Promise<string> {
    return createHmac("sha256", await this.#deps.secret())
      .update(token)
      .digest("base64");
  }
}

function pairsOf(cookie: string): string[] {
  return cookie.split(";").map((pair) => pair.trim());
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
