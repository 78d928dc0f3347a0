import { buffered, type Handler } from "../../exchange.ts";
import { isoTime } from "../views.ts";

/** A setting as it is in force; a secret has no value here, so that none can leave. */
export type EffectiveSetting = {
  readonly name: string;
  readonly value: string | null;
  readonly secret: boolean;
  readonly set: boolean;
  readonly source: "default" | "environment" | "file";
  readonly default: string | null;
  readonly says: string;
};

/** What the process was started with. */
export type EffectiveSettings = {
  readonly settings: readonly EffectiveSetting[];
  readonly warnings: readonly string[];
  readonly version: string;
  readonly startedAtMs: number;
};

export function settingHandlers({
  effectiveSettings,
}: {
  readonly effectiveSettings: EffectiveSettings;
}): Record<string, Handler> {
  return {
    manageListSettings: buffered(async () => ({
      status: 200,
      json: {
        data: effectiveSettings.settings,
        next: null,
        warnings: effectiveSettings.warnings,
        version: effectiveSettings.version,
        started_at: isoTime(effectiveSettings.startedAtMs),
      },
    })),
  };
}
