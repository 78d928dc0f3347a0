import { hmacSha256Hex, secretsEqual } from "../../kit/secret.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { cookiePairs, cookiePrefix, isSecure } from "./cookies.ts";

/** Accounts that one browser is known for; the one that signed in longest ago is forgotten first. */
const ACCOUNTS_MAX = 4;
const ENTRY_FORM = /^([A-Za-z0-9_-]{20,64})\.(\d{13})\.[0-9a-f]{64}$/;

type KnownDevicesDeps = Pick<AccountsDeps, "clock" | "makeToken" | "secret" | "publicUrl" | "knownDeviceMs">;

/**
 * Browsers that have signed in to an account before. A signed cookie proves it, without the address in it. Failed attempts
 * from such a browser are counted on their own, so that failures of others cannot keep it out.
 */
export class KnownDevices {
  readonly #deps: KnownDevicesDeps;
  readonly #cookieName: string;

  constructor(deps: KnownDevicesDeps) {
    this.#deps = deps;
    this.#cookieName = `${cookiePrefix(deps.publicUrl)}.known_device`;
  }

  /** The device id, if this browser has signed in to the account. */
  async find(cookie: string | undefined, email: string): Promise<string | undefined> {
    for (const entry of this.#entries(cookie)) {
      const [, deviceId = "", expiresAt = ""] = ENTRY_FORM.exec(entry) ?? [];
      const isValid = secretsEqual(entry, await this.#signedEntry(email, deviceId, expiresAt));
      if (isValid && Number(expiresAt) > this.#deps.clock.nowMs()) return deviceId;
    }
    return undefined;
  }

  /** The cookie to set after a sign-in; the accounts that this browser is known for stay in it. */
  async remember(cookie: string | undefined, email: string): Promise<string> {
    const { clock, makeToken, knownDeviceMs, publicUrl } = this.#deps;
    const known = await this.find(cookie, email);
    const others = this.#entries(cookie).filter((entry) => known === undefined || !entry.startsWith(`${known}.`));
    const expiresAt = String(clock.nowMs() + knownDeviceMs);
    const entry = await this.#signedEntry(email, known ?? makeToken(), expiresAt);
    const value = [entry, ...others].slice(0, ACCOUNTS_MAX).join("~");
    const secure = isSecure(publicUrl) ? "; Secure" : "";
    const lifetime = `Max-Age=${Math.floor(knownDeviceMs / 1000)}`;
    return `${this.#cookieName}=${value}; ${lifetime}; Path=/; HttpOnly${secure}; SameSite=Lax`;
  }

  #entries(cookie = ""): string[] {
    const pair = cookiePairs(cookie).find((one) => one.startsWith(`${this.#cookieName}=`));
    const entries = pair?.slice(this.#cookieName.length + 1).split("~") ?? [];
    return entries.filter((entry) => ENTRY_FORM.test(entry)).slice(0, ACCOUNTS_MAX);
  }

  async #signedEntry(email: string, deviceId: string, expiresAt: string): Promise<string> {
    const signed = `known-device\n${email.trim().toLowerCase()}\n${deviceId}\n${expiresAt}`;
    return `${deviceId}.${expiresAt}.${hmacSha256Hex(await this.#deps.secret(), signed)}`;
  }
}
