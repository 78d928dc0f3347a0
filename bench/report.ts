import { DETECTOR_MICROS_MAX } from "./detector-cost.ts";
import { added, type Figure, figure, median } from "./maths.ts";
import { MESSAGE_EVENTS, STREAM_FRAMES } from "./payload.ts";
import type { BenchResult, CandidateResult, LoadRun, Spread } from "./results.ts";
import { candidate, cpuOf, cpuRatio, fleetCeiling, type Load, redisMicros, targetsOf } from "./targets.ts";

type Row = readonly string[];

const NONE = "–";
/** Above this share of foreign load the results are unreliable. */
const FOREIGN_SHARE_MAX = 0.05;

/** Only the tables, for the terminal. */
export function renderTables(result: BenchResult): string {
  return [
    loadTable(result),
    latencyTable(result),
    frontierTable(result),
    footprintTable(result),
    ratioTable(result),
    ...redisTable(result),
    ...detectorTable(result),
    targetTable(result),
    ...notes(result),
  ].join("\n\n");
}

/** The page docs/benchmarks.md. */
export function renderPage(result: BenchResult): string {
  const { machine } = result;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  const candidates = result.candidates.map(({ title, version }) => `- ${title}: ${version}`);
  return `# Benchmarks

Written by \`npm run bench\`; do not edit. To reproduce: \`npm run bench\` (about a quarter of an hour; as root it installs nginx, wrk and redis-server when they are missing), or \`npm run bench -- --quick\` for a rough result in a few minutes. \`--peer name=command\` also measures any gateway that speaks OpenAI's format; \`--help\` explains its placeholders. LiteLLM is installed from PyPI into \`bench/.work\`, and left out with a reason without Python or network. \`npm run bench -- --profile\` shows where the gateway's time goes. \`node bench/plan.ts\` measures planning: 500 endpoints, several policies and routing hints. \`node bench/settlement.ts\` measures the cost of settlement and logging.

## Machine

${machine.processor}, ${machine.cores} cores, ${Math.round(machine.memoryBytes / 2 ** 30)} GiB, ${machine.system}, ${machine.kernel}.
${versions.join(", ")}. Run of ${result.startedAt}, ${result.mode}, ${Math.round(result.tookSeconds)} s.

## Method

All traffic is on loopback. The upstreams are nginx with a static chat completion of about 600 bytes, and a small source of ${STREAM_FRAMES} frames with usage and end marker, one write per frame, without pauses or 5 ms apart. ${machine.pinned ? "Each candidate is pinned to one core; load (wrk) and upstream share the other." : "This machine has one core, so nothing is pinned."} The candidates take turns within every repetition, in a different order each time (${result.repetitions} repetitions); values are medians, ratios are medians of the ratios per repetition.

- CPU is user and system time of the whole process tree from /proc, divided by completed responses. It is read after the candidate is idle again, so that deferred work (journal, log) counts. It is the measure with the least noise.
- Non-streaming responses are measured at full load over 32 connections, streams without pauses over 4 (an overloaded candidate reads many frames at once, which would favour it). Paced streams run at the same load for all, 40 at a time; a stream that is still open at the end counts by its frames.
- A translated stream is a chat request to a provider of the messages format: ${MESSAGE_EVENTS} events without pauses, over 4 connections. It is compared with the passthrough streams of the others.
- The frontier is measured with non-streaming responses over 1, 2, 4 … 128 connections: the highest throughput of all steps whose p99 latency is within the limit.
- Latency is measured at a low rate: one client for non-streaming responses and eight for paced streams, with pauses between calls. Values are differences to the direct call.
- Responses of a candidate are checked before it is measured. After the run, the benchmark verifies that the gateway logged and charged all requests.

${candidates.join("\n")}

## Results

${renderTables(result)}
`;
}

function loadTable(result: BenchResult): string {
  const rows = result.candidates.map((one) => [
    one.title,
    cpu(one, "json"),
    perSecond(one.json),
    cpu(one, "burst"),
    perSecond(one.burst),
    cpu(one, "paced"),
    cpu(one, "translated"),
  ]);
  const streams = ["stream without pauses: CPU µs", "streams/s", "stream 5 ms apart: CPU µs", "translated: CPU µs"];
  return table(["", "JSON: CPU µs", "requests/s", ...streams], rows);
}

/** Requests without rules of data classes are not read at all: the other tables measure those. */
function detectorTable({ detectors = [] }: BenchResult): string[] {
  if (detectors.length === 0) return [];
  const rows = detectors.map(({ text, microsPerKilobyte: micros }) => [
    text,
    micros.toFixed(1),
    micros <= DETECTOR_MICROS_MAX ? "met" : "**not met**",
  ]);
  return [table(["data classes, all built-in detectors", "CPU µs per kB", `at most ${DETECTOR_MICROS_MAX}`], rows)];
}

function latencyTable(result: BenchResult): string {
  const direct = candidate(result, "direct");
  const rows = result.candidates.map((one) => {
    const isDirect = one.name === "direct";
    const show = (of: (result: CandidateResult) => readonly Spread[], share: "p50" | "p99") => {
      const own = of(one).map((spread) => spread[share]);
      if (isDirect) return microsAsMs(median(own.filter((value) => value !== undefined)), "");
      if (direct === undefined) return NONE;
      return microsAsMs(
        added(
          own,
          of(direct).map((spread) => spread[share]),
        )?.median,
        "+",
      );
    };
    return [
      one.title,
      show((of) => of.latency, "p50"),
      show((of) => of.latency, "p99"),
      show((of) => of.firstByte, "p50"),
      show((of) => of.firstByte, "p99"),
      isDirect ? NONE : cancel(one.cancelMs),
    ];
  });
  return table(
    [
      "at a low rate",
      "JSON p50",
      "JSON p99",
      "first byte p50",
      "first byte p99",
      "disconnect reaches upstream (slowest)",
    ],
    rows,
  );
}

const FRONTIER_MS = [5, 10, 50];

/** The highest throughput at which p99 latency is within its limit and no request fails. */
function frontierTable(result: BenchResult): string {
  const rows = result.candidates.map((one) => [
    one.title,
    ...FRONTIER_MS.map((ms) => {
      const kept = one.ladder.filter(({ p99Micros, bad }) => bad === 0 && p99Micros < ms * 1000);
      const best = kept.toSorted((a, b) => b.perSecond - a.perSecond)[0];
      return best === undefined ? NONE : `${thousands(best.perSecond)} over ${best.connections}`;
    }),
  ]);
  return table(["requests/s with no failure", ...FRONTIER_MS.map((ms) => `p99 under ${ms} ms`)], rows);
}

function footprintTable(result: BenchResult): string {
  const rows = result.candidates
    .filter((one) => one.name !== "direct")
    .map((one) => [
      one.title,
      one.startsMs.length === 0 ? NONE : `${((median(one.startsMs) ?? 0) / 1000).toFixed(2)} s`,
      megabytes(one.idleBytes),
      openStreams(one),
      perStream(one),
      megabytes(one.afterBytes),
    ]);
  return table(
    ["", "start to first served", "memory idle", "with open streams", "per open stream", "after the load"],
    rows,
  );
}

function ratioTable(result: BenchResult): string {
  const loads: readonly (readonly [Load, string])[] = [
    ["json", "JSON"],
    ["burst", "stream without pauses"],
    ["paced", "stream 5 ms apart"],
    ["translated", "stream, chat to messages"],
  ];
  const others = result.candidates.filter(({ name }) => !["direct", "gateway", "shared"].includes(name));
  const rows = loads.map(([load, title]) => [title, ...others.map(({ name }) => times(cpuRatio(result, load, name)))]);
  return table(["CPU of the gateway", ...others.map(({ title }) => `to ${title}`)], rows);
}

/** What a fleet costs the Redis that it shares; absent without the gateway in shared mode. */
function redisTable(result: BenchResult): readonly string[] {
  const loads: readonly (readonly [Load, string])[] = [
    ["json", "JSON"],
    ["burst", "stream without pauses"],
    ["paced", "stream 5 ms apart"],
    ["translated", "stream, chat to messages"],
  ];
  const rows = loads.flatMap(([load, title]) => {
    const micros = redisMicros(result, load);
    return micros === undefined ? [] : [[title, micros.toFixed(1), fleetCeiling(micros)]];
  });
  const head = ["shared mode", "Redis CPU µs per request", "requests/s of all instances on one Redis, at this load"];
  return rows.length === 0 ? [] : [table(head, rows)];
}

function targetTable(result: BenchResult): string {
  const rows = targetsOf(result).map(({ what, limit, found, met }) => [
    what,
    limit,
    found ?? NONE,
    met === undefined ? "not measured" : met ? "met" : "**not met**",
  ]);
  return table(["target", "limit", "measured", ""], rows);
}

function notes(result: BenchResult): readonly string[] {
  const skipped = result.skipped.map(({ name, why }) => `Not measured: ${name} (${why}).`);
  const failures = result.candidates.flatMap((one) => {
    const bad = [...one.json, ...one.burst, ...one.paced, ...one.translated].reduce((sum, run) => sum + run.bad, 0);
    return [
      ...(bad === 0 ? [] : [`${one.title}: ${bad} calls failed under load.`]),
      ...(one.invalid === undefined ? [] : [`The results of ${one.title} are invalid: ${one.invalid}.`]),
    ];
  });
  return [foreignWork(result), ...skipped, ...failures];
}

function foreignWork({ foreignShare, stolenShare }: BenchResult): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const host = stolenShare === 0 ? "" : `, and the machine's host ${percent(stolenShare)} of it for others`;
  if (foreignShare + stolenShare < FOREIGN_SHARE_MAX)
    return `Other work took ${percent(foreignShare)} of the machine during the run${host}.`;
  return `**Other work took ${percent(foreignShare)} of the machine during the run${host}: repeat it on an idle machine.**`;
}

function cpu(one: CandidateResult, load: Load): string {
  const found = figure(cpuOf(one, load).filter((value) => value !== undefined));
  return found === undefined ? NONE : `${round(found.median)} (${round(found.least)}–${round(found.most)})`;
}

function perSecond(runs: readonly LoadRun[]): string {
  const found = median(runs.map((run) => run.perSecond));
  return found === undefined ? NONE : thousands(found);
}

function microsAsMs(micros: number | undefined, sign: "+" | ""): string {
  if (micros === undefined) return NONE;
  return `${micros >= 0 ? sign : ""}${(micros / 1000).toFixed(2)} ms`;
}

function cancel(samples: CandidateResult["cancelMs"]): string {
  if (samples.length === 0) return NONE;
  const seen = samples.filter((ms) => ms !== undefined);
  if (seen.length < samples.length) return `${samples.length - seen.length} of ${samples.length} not within 1 s`;
  return `${Math.max(...seen).toFixed(1)} ms`;
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? NONE : `${Math.round(bytes / 1e6)} MB`;
}

function openStreams(one: CandidateResult): string {
  const all = one.openStreams === undefined ? [] : [one.openStreams, ...one.manyStreams];
  const shown = all.map(({ rssBytes, streams }) => `${megabytes(rssBytes)} at ${thousands(streams)}`);
  return shown.length === 0 ? NONE : shown.join(", ");
}

function perStream(one: CandidateResult): string {
  if (one.openStreams === undefined || one.idleBytes === undefined || one.openStreams.streams === 0) return NONE;
  return `${Math.round((one.openStreams.rssBytes - one.idleBytes) / one.openStreams.streams / 1000)} kB`;
}

function times(found: Figure | undefined): string {
  return found === undefined
    ? NONE
    : `${found.median.toFixed(2)} × (${found.least.toFixed(2)}–${found.most.toFixed(2)})`;
}

function round(value: number): string {
  return value < 100 ? value.toFixed(1) : thousands(value);
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Pads columns, so that the Markdown source is readable too. */
function table(head: Row, rows: readonly Row[]): string {
  const widths = head.map((title, at) => Math.max(3, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: Row) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)].join("\n");
}
