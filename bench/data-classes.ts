import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { EVALUATION, evaluate, figureRows, generatedCases } from "../tests/support/data-class-cases.ts";
import { measureDetectors } from "./detector-cost.ts";

/**
 * Evaluates the detectors of data classes and measures their cost: `node bench/data-classes.ts [--write]`. With `--write` the
 * table of docs/data-classes.md is replaced.
 */
const ROOT = path.resolve(import.meta.dirname, "..");
const PAGE = path.join(ROOT, "docs/data-classes.md");
const TABLE = /(<!-- figures -->\n)[\s\S]*(<!-- end of figures -->)/;

for (const { text, microsPerKilobyte } of measureDetectors())
  console.log(`${text}: ${microsPerKilobyte.toFixed(1)} µs per kB (CPU time)`);

const rows = figureRows(evaluate(generatedCases(EVALUATION.seed, EVALUATION.perKind)));
const table = ["| detector | finds | cases | precision | recall |", "|---|---|---|---|---|", ...rows].join("\n");
if (process.argv.includes("--write")) {
  writeFileSync(PAGE, readFileSync(PAGE, "utf8").replace(TABLE, `$1${table}\n$2`));
} else console.log(table);
