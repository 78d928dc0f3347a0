import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import type { Json } from "./gateway.ts";

/** The shipped catalogue, with prices for what some providers bill apart: for GATEWAY_CATALOGUE_DIR. */
export function catalogueWithExtras(byProvider: Readonly<Record<string, Json>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-extras-"));
  cpSync(path.join(PROJECT_ROOT, "catalogue"), folder, { recursive: true });
  for (const [provider, extras] of Object.entries(byProvider)) {
    const file = path.join(folder, "providers", `${provider}.json`);
    const facts: Json = JSON.parse(readFileSync(file, "utf8"));
    for (const endpoint of facts.endpoints) for (const row of endpoint.prices ?? []) row.extras = extras;
    writeFileSync(file, JSON.stringify(facts));
  }
  return folder;
}

export const perUse = (price: string, usesMax = 4) => ({ per_use: price, uses_max: usesMax, source: "a test" });
export const times = (factor: string) => ({ times: factor, source: "a test" });
