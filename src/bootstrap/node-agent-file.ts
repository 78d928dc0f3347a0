import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { PROJECT_ROOT } from "../settings/config.ts";

const NAME = "agent.mjs";

/** Set-up's bundler: loaded by its path, because the product does not import scripts. */
type Bundler = { bundle(): Promise<string | undefined> };

/** The agent is in the folder of the bundle; a gateway that runs from its sources uses the bundle of the same sources. */
export async function findNodeAgent(): Promise<string | undefined> {
  const beside = path.join(import.meta.dirname, NAME);
  if (existsSync(beside)) return beside;
  const bundler = pathToFileURL(path.join(PROJECT_ROOT, "scripts/bundle.mjs")).href;
  const { bundle }: Bundler = await import(bundler);
  const folder = await bundle();
  return folder === undefined ? undefined : path.join(folder, NAME);
}
