import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import type { Json } from "./gateway.ts";

/** The shipped catalogue with some of its providers changed: for GATEWAY_CATALOGUE_DIR. */
export function changedCatalogue(byProvider: Readonly<Record<string, (facts: Json) => void>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-catalogue-"));
  cpSync(path.join(PROJECT_ROOT, "catalogue"), folder, { recursive: true });
  for (const [provider, change] of Object.entries(byProvider)) {
    const file = path.join(folder, "providers", `${provider}.json`);
    const facts: Json = JSON.parse(readFileSync(file, "utf8"));
    change(facts);
    writeFileSync(file, JSON.stringify(facts));
  }
  return folder;
}
