import path from "node:path";
import type { CatalogueSnapshot } from "../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../domain/catalogue/load.ts";
import { catalogueFiles } from "../io/catalogue-files.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { unknownProviderSettings, uselessKeySettings } from "../io/upstream/connections.ts";
import { systemClock } from "../kit/clock.ts";
import { type Config, ConfigError, PROJECT_ROOT } from "../settings/config.ts";

export async function openCatalogue(config: Config): Promise<CatalogueSnapshot> {
  const folders = [config.GATEWAY_CATALOGUE_DIR ?? path.join(PROJECT_ROOT, "catalogue")];
  if (config.sandbox) folders.push(path.join(PROJECT_ROOT, "src/sandbox/catalogue"));
  const loaded = await loadCatalogue(folders, systemClock.nowMs(), catalogueFiles);
  if ("snapshot" in loaded) {
    const useless = uselessKeySettings(config.providers, loaded.snapshot);
    if (useless.length > 0) throw new ConfigError(useless);
    return loaded.snapshot;
  }
  const lines = loaded.problems
    .slice(0, 20)
    .map(({ file, field, message }) => `${file}${field === "" ? "" : ` ${field}`}: ${message}`);
  throw new ConfigError([
    `the catalogue has ${loaded.problems.length === 1 ? "a problem" : `${loaded.problems.length} problems`}`,
    ...lines,
    "`gateway catalogue check` shows them all",
  ]);
}

export function warnOfUnknown(config: Config, snapshot: CatalogueSnapshot, log: Logger): void {
  const unknown = unknownProviderSettings(config.providers, snapshot);
  if (unknown.length > 0) log.warn({ providers: unknown }, "settings name providers that the catalogue does not have");
}
