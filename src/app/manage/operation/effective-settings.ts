import { buffered, type Handler } from "../../exchange.ts";
import { isoTime } from "../views.ts";

/** An effective setting; secrets have no value here, so that they cannot leak. */
export type EffectiveSetting = {
  readonly name: string;
  readonly value: string | null;
  readonly secret: boolean;
  readonly set: boolean;
  readonly source: "default" | "environment" | "file";
  readonly default: string | null;
  readonly says: string;
};

/** The settings of this process. */
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
