import type { EffectiveSetting, EffectiveSettings } from "../app/manage/operation/effective-settings.ts";
import { type Config, SETTINGS } from "../settings/config.ts";
import type { ConfiguredSetting, Setting } from "../settings/setting-types.ts";

/** The configuration in force, for who runs the gateway. A secret is left out here, before anybody could show it. */
export function inForceOf(config: Config, version: string, startedAtMs: number): EffectiveSettings {
  const own = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) =>
    ownSetting(name, setting, config.configured.get(name), Reflect.get(config, name)),
  );
  const ofProviders = [...config.configured]
    .filter(([name]) => !Object.hasOwn(SETTINGS, name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, given]) => providerSetting(name, given));
  return { settings: [...own, ...ofProviders], warnings: config.warnings, version, startedAtMs };
}

function ownSetting(
  name: string,
  { fallback, secret, description }: Setting<unknown>,
  given: ConfiguredSetting | undefined,
  value: unknown,
): EffectiveSetting {
  const isSecret = secret === true;
  // In force; where that has no form of its own, as somebody wrote it.
  const shown = discreet(textOf(value) ?? given?.text ?? null);
  return {
    name,
    value: isSecret ? null : shown,
    secret: isSecret,
    set: given !== undefined || textOf(fallback) !== null,
    source: given?.source ?? "default",
    default: isSecret ? null : textOf(fallback),
    says: description,
  };
}

function providerSetting(name: string, { source, text }: ConfiguredSetting): EffectiveSetting {
  const isSecret = !name.endsWith("_BASE_URL");
  const says = isSecret
    ? "Credential of the operator at a provider."
    : "Address of a provider in place of the one in the catalogue.";
  return { name, value: isSecret ? null : discreet(text), secret: isSecret, set: true, source, default: null, says };
}

/** An address may have a password in it. */
function discreet(text: string | null): string | null {
  return text === null ? null : text.replace(/\/\/[^/@\s]*@/g, "//…@");
}

/** Null: there is nothing to show, or it has no form that a person wrote. */
function textOf(value: unknown): string | null {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return Array.isArray(value) && value.length > 0 ? value.join(", ") : null;
}
