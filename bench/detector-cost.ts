import { readFileSync } from "node:fs";
import path from "node:path";
import { scanText } from "../src/domain/data-classes/scan.ts";
import { BUILT_IN_CLASSES } from "../src/domain/data-classes/scheme.ts";
import { median } from "./maths.ts";

/** What the built-in detectors take for a text, in CPU time per kilobyte. */
export type DetectorCost = { readonly text: string; readonly microsPerKilobyte: number };

export const DETECTOR_MICROS_MAX = 40;
const ROOT = path.resolve(import.meta.dirname, "..");
const KILOBYTES = 16;
const ROUNDS = 20;
const SCANS = 50;

const TEXTS = {
  "source code": "src/app/pipeline/run.ts",
  prose: "docs/glossary.md",
  "a specification": "docs/requirements.md",
  "a lock file": "package-lock.json",
};

/** All built-in classes on; the median of the rounds. */
export function measureDetectors(): DetectorCost[] {
  const classes = new Set<string>(BUILT_IN_CLASSES);
  return Object.entries(TEXTS).map(([name, file]) => {
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
    return { text: name, microsPerKilobyte: median(costs) ?? 0 };
  });
}
