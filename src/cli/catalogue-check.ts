import path from "node:path";
import { checkCatalogue } from "../domain/catalogue/load.ts";
import { formatProblem } from "../domain/catalogue/problems.ts";
import { catalogueFiles } from "../io/catalogue-files.ts";
import { systemClock } from "../kit/clock.ts";
import { pluralize } from "../kit/pluralize.ts";
import type { Invocation } from "./command.ts";

const SHIPPED = path.resolve(import.meta.dirname, "../../catalogue");

/** Needs no running gateway: it reads the files themselves. */
export async function runCatalogueCheck({ args, options, format, shell }: Invocation): Promise<number> {
  const [folderArgument] = args;
  const folder = typeof folderArgument === "string" ? folderArgument : shell.env["GATEWAY_CATALOGUE_DIR"] || SHIPPED;
  const found = await checkCatalogue([path.resolve(folder)], systemClock.nowMs(), catalogueFiles);
  if (format === "json") shell.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  else {
    const shown = options["warnings"] === true ? [...found.problems, ...found.warnings] : found.problems;
    const counts = Object.entries(found.counts).map(([what, count]) => {
      const many = what.replaceAll("_", " ");
      return pluralize(count, many.replace(/ies$/, "y").replace(/s$/, ""), many);
    });
    const hint = found.warnings.length === 0 || options["warnings"] === true ? "" : " (use --warnings to list them)";
    const lines = [
      ...shown.map(formatProblem),
      counts.join(", "),
      `${pluralize(found.problems.length, "problem")}, ${pluralize(found.warnings.length, "warning")}${hint}`,
    ];
    shell.stdout.write(`${lines.join("\n")}\n`);
  }
  return found.ok ? 0 : 1;
}
