import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { scanText } from "../src/domain/data-classes/scan.ts";
import { BUILT_IN_CLASSES } from "../src/domain/data-classes/scheme.ts";
import { EVALUATION, evaluate, figureRows, generatedCases } from "../tests/support/data-class-cases.ts";

/**
 * Evaluates the detectors of data classes and measures their cost: `node bench/data-classes.ts [--write]`. With `--write` the
 * table of docs/data-classes.md is replaced.
 */
const ROOT = path.resolve(import.meta.dirname, "..");
const PAGE = path.join(ROOT, "docs/data-classes.md");
const TABLE = /(<!-- figures -->\n)[\s\S]*(<!-- end of figures -->)/;
const KILOBYTES = 16;
const ROUNDS = 20;
const SCANS = 50;

const TEXTS = {
  "source code": "src/app/pipeline/run.ts",
  prose: "docs/glossary.md",
  "a specification": "docs/requirements.md",
  "a lock file": "package-lock.json",
};
const classes = new Set<string>(BUILT_IN_CLASSES);
for (const [name, file] of Object.entries(TEXTS)) {
  const source = readFileSync(path.join(ROOT, file), "utf8")
    .repeat(10)
    .slice(0, KILOBYTES * 1024);
  // A text of its own, as a request body is, not a view into another one.
  const text = Buffer.from(source).toString();
  const costs = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let scan = 0; scan < SCANS; scan++) scanText(text, { classes });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / SCANS / KILOBYTES;
  });
  const sorted = costs.toSorted((a, b) => a - b);
  console.log(`${name}: ${sorted[Math.floor(ROUNDS / 2)]?.toFixed(1)} µs per kB (CPU time, median of ${ROUNDS})`);
}

const rows = figureRows(evaluate(generatedCases(EVALUATION.seed, EVALUATION.perKind)));
const table = ["| detector | finds | cases | precision | recall |", "|---|---|---|---|---|", ...rows].join("\n");
if (process.argv.includes("--write")) {
  writeFileSync(PAGE, readFileSync(PAGE, "utf8").replace(TABLE, `$1${table}\n$2`));
} else console.log(table);
