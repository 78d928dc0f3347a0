import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import type { KeyPatch } from "../../../contract/schemas/manage-tenancy.ts";
import type { ApiKey, Scope } from "../../../domain/tenancy/key.ts";
import { OPEN_POLICY, type Policy } from "../../../domain/tenancy/policy.ts";
import { isCidr } from "../../../kit/cidr.ts";
import { parseIsoTimeMs } from "../../../kit/time.ts";
import { printable } from "../../printable.ts";
import type { KnownNames } from "../known-names.ts";
import { parsePolicyChange } from "./policies.ts";

/** The settings of a key that can be changed. */
export type KeySettings = Pick<ApiKey, "scopes" | "ipAllowlist" | "expiresAtMs" | "rpm" | "policy">;

export const UNRESTRICTED_SETTINGS: KeySettings = {
  scopes: null,
  ipAllowlist: null,
  expiresAtMs: null,
  rpm: null,
  policy: null,
};

type KeySettingsPatch = Omit<z.infer<typeof KeyPatch>, "name">;

/** Only the given fields; null and the empty list lift a restriction. The policy is a patch. */
export function parseKeySettings(input: KeySettingsPatch, names: KnownNames): Partial<KeySettings> {
  return {
    ...(input.scopes === undefined ? {} : { scopes: normalizeScopes(input.scopes) }),
    ...(input.ip_allowlist === undefined ? {} : { ipAllowlist: parseAllowlist(input.ip_allowlist) }),
    ...(input.expires_at === undefined ? {} : { expiresAtMs: parseTime("expires_at", input.expires_at) }),
    ...(input.rpm === undefined ? {} : { rpm: input.rpm }),
    ...(input.policy === undefined
      ? {}
      : { policy: input.policy === null ? null : parsePolicyChange(input.policy, names, "policy.") }),
  };
}

/** Applies a policy patch: null lifts the whole policy, and rules without effect are removed. */
export function keyPolicyAfter(before: Partial<Policy> | null, change: Partial<Policy> | null): Partial<Policy> | null {
  if (change === null) return null;
  const {
    floor,
    countries,
    zeroDataRetention,
    noTraining,
    blockedProviders,
    allowedModels,
    parameters,
    dataClasses = {},
    cache = {},
  } = {
    ...OPEN_POLICY,
    ...before,
    ...change,
  };
  const demands: Partial<Policy> = {
    ...(floor === null ? {} : { floor }),
    ...(countries === null ? {} : { countries }),
    ...(zeroDataRetention ? { zeroDataRetention } : {}),
    ...(noTraining ? { noTraining } : {}),
    ...(blockedProviders.length === 0 ? {} : { blockedProviders }),
    ...(allowedModels === null ? {} : { allowedModels }),
    ...(parameters === null ? {} : { parameters }),
    ...(Object.keys(dataClasses).length === 0 ? {} : { dataClasses }),
    ...(Object.keys(cache).length === 0 ? {} : { cache }),
  };
  return Object.keys(demands).length === 0 ? null : demands;
}

function normalizeScopes(scopes: readonly Scope[] | null): readonly Scope[] | null {
  return scopes === null || scopes.length === 0 ? null : [...new Set(scopes)];
}

export function parseAllowlist(entries: readonly string[] | null): readonly string[] | null {
  if (entries === null || entries.length === 0) return null;
  const list = entries.map((entry) => entry.trim().toLowerCase());
  for (const entry of list) {
    if (!isCidr(entry))
      throw invalidValue("ip_allowlist", `must be IP addresses or CIDR blocks: "${printable(entry)}" is neither`);
  }
  return [...new Set(list)];
}

export function parseTime(param: string, text: string | null): number | null {
  if (text === null) return null;
  const ms = parseIsoTimeMs(text);
  if (ms === undefined) throw invalidValue(param, `must be a valid time: "${printable(text)}" does not exist`);
  return ms;
}
