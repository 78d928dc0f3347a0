/**
 * What `npm run soak -- --of fleet` runs: a fleet under load with faults for some minutes, repeated with the next seed
 * until the time is over or a check fails. The report goes to a file as JSON, and to stdout as text.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { cleanUp } from "../edge/child.ts";
import { runChaos } from "./chaos/chaos.ts";

const ROUND_MS_MAX = 10 * 60_000;

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, minutes: { type: "string" }, report: { type: "string" } },
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => cleanUp().finally(() => process.exit(1)));

const forMs = Number(values.minutes ?? "10") * 60_000;
const endMs = performance.now() + forMs;
const reports = [];
let seed = Number(values.seed);
do {
  process.stdout.write(`seed ${seed}\n`);
  const report = await runChaos({
    seed,
    instances: 3,
    forMs: Math.min(ROUND_MS_MAX, Math.max(endMs - performance.now(), 1000)),
    betweenMs: [500, 5000],
    pauseMs: 60,
    log: (line) => process.stdout.write(`  ${line}\n`),
  });
  reports.push(report);
  seed += 1;
  const { requests, seconds, outcomes, wholeMs, peakMegabytes, wrong } = report;
  process.stdout.write(
    `${requests} requests in ${seconds} s, whole ones in ${wholeMs.p50} ms (p99 ${wholeMs.p99} ms), `,
  );
  process.stdout.write(`at most ${peakMegabytes} MB in an instance\n`);
  for (const [name, count] of Object.entries(outcomes)) process.stdout.write(`  ${name}: ${count}\n`);
  process.stdout.write(
    wrong.length === 0 ? "money and limits exact\n" : `WRONG\n${wrong.map((line) => `  ${line}\n`).join("")}`,
  );
  if (values.report !== undefined) writeFileSync(values.report, `${JSON.stringify(reports, null, 2)}\n`);
} while (performance.now() < endMs && reports.every(({ wrong }) => wrong.length === 0));
await cleanUp();
process.exit(reports.every(({ wrong }) => wrong.length === 0) ? 0 : 1);
