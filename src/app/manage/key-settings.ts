import type { z } from "zod";
import type { KeyPatch } from "../../contract/schemas/manage-tenancy.ts";
import type { ApiKey, Scope } from "../../domain/tenancy/key.ts";
import { isCidr } from "../../kit/cidr.ts";
import { parseTimeMs } from "../../kit/time.ts";
import { invalidValue } from "../body.ts";
import { short } from "./deps.ts";

/** The settings of a key that its admins may choose and change. */
export type KeySettings = Pick<ApiKey, "scopes" | "ipAllowlist" | "expiresAtMs" | "rpm" | "policy">;

export const OPEN_SETTINGS: KeySettings = {
  scopes: null,
  ipAllowlist: null,
  expiresAtMs: null,
  rpm: null,
  policy: null,
};

type SaidSettings = Omit<z.infer<typeof KeyPatch>, "name">;

/** Only what was named; null and the empty list both lift a restriction. */
export function settingsOf(said: SaidSettings): Partial<KeySettings> {
  return {
    ...(said.scopes === undefined ? {} : { scopes: scopesOf(said.scopes) }),
    ...(said.ip_allowlist === undefined ? {} : { ipAllowlist: allowlistOf(said.ip_allowlist) }),
    ...(said.expires_at === undefined ? {} : { expiresAtMs: timeOf("expires_at", said.expires_at) }),
    ...(said.rpm === undefined ? {} : { rpm: said.rpm }),
  };
}

function scopesOf(scopes: readonly Scope[] | null): readonly Scope[] | null {
  return scopes === null || scopes.length === 0 ? null : [...new Set(scopes)];
}

function allowlistOf(entries: readonly string[] | null): readonly string[] | null {
  if (entries === null || entries.length === 0) return null;
  const list = entries.map((entry) => entry.trim().toLowerCase());
  for (const entry of list) {
    // Callers are compared in their IPv4 form and without a zone, so these would match nobody.
    if (!isCidr(entry) || entry.includes("%") || entry.startsWith("::ffff:"))
      throw invalidValue("ip_allowlist", `"${short(entry)}" is not an IPv4 or IPv6 address or CIDR block`);
  }
  return [...new Set(list)];
}

export function timeOf(param: string, text: string | null): number | null {
  if (text === null) return null;
  const ms = parseTimeMs(text);
  if (ms === undefined) throw invalidValue(param, `"${short(text)}" is not a time that exists`);
  return ms;
}
