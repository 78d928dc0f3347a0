import type { EffectiveSetting, EffectiveSettings } from "../app/manage/operation/effective-settings.ts";
import { type Config, SETTINGS } from "../settings/config.ts";
import type { ConfiguredSetting, Setting } from "../settings/setting-types.ts";

/** The effective configuration for operators. Secrets are removed here, before the management API can return them. */
export function effectiveSettings(config: Config, version: string, startedAtMs: number): EffectiveSettings {
  const builtIn = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) =>
    builtInSetting(name, setting, config.configured.get(name), Reflect.get(config, name)),
  );
  const providers = [...config.configured]
    .filter(([name]) => !Object.hasOwn(SETTINGS, name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, configured]) => providerSetting(name, configured));
  return { settings: [...builtIn, ...providers], warnings: config.warnings, version, startedAtMs };
}

function builtInSetting(
  name: string,
  { fallback, secret, description }: Setting<unknown>,
  configured: ConfiguredSetting | undefined,
  value: unknown,
): EffectiveSetting {
  const isSecret = secret === true;
  // A value without a text form is shown as it was written.
  const shown = withoutPassword(textOf(value) ?? configured?.text ?? null);
  return {
    name,
    value: isSecret ? null : shown,
    secret: isSecret,
    set: configured !== undefined || textOf(fallback) !== null,
    source: configured?.source ?? "default",
    default: isSecret ? null : textOf(fallback),
    says: description,
  };
}

function providerSetting(name: string, { source, text }: ConfiguredSetting): EffectiveSetting {
  const isSecret = !name.endsWith("_BASE_URL");
  const says = isSecret
    ? "Credential of the operator for a provider."
    : "Base URL of a provider, instead of the one in the catalogue.";
  return {
    name,
    value: isSecret ? null : withoutPassword(text),
    secret: isSecret,
    set: true,
    source,
    default: null,
    says,
  };
}

/** Removes the password of a URL. */
function withoutPassword(text: string | null): string | null {
  return text === null ? null : text.replace(/\/\/[^/@\s]*@/g, "//…@");
}

/** Null for an empty value, or one without a text form. */
function textOf(value: unknown): string | null {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return Array.isArray(value) && value.length > 0 ? value.join(", ") : null;
}
