import type { HostileKind } from "./hostile-responses.ts";
import type { ReadingCost } from "./reading-cost.ts";

/** What other tenants noticed while one kind of hostile response arrived. */
export type HostileRun = {
  readonly commit: string;
  readonly kind: HostileKind | "none";
  /** Latency of calls of another workspace. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The slowest answer of /healthz. */
  readonly stallMs: number;
  /** Peak resident memory; undefined: the process died. */
  readonly rssMb: number | undefined;
  readonly statuses: string;
};

const HEADING = "## Hostile responses";
const PORTAL = "\n## Portal\n";

type Measured = {
  readonly heapMb: number;
  readonly machine: string;
  readonly load: number;
  readonly ordinary: ReadingCost;
};

export function renderHostileSection(
  runs: readonly HostileRun[],
  { heapMb, machine, load, ordinary }: Measured,
): string {
  const rows = runs.map(({ commit, kind, p50Ms, p99Ms, stallMs, rssMb, statuses }) => {
    const memory = rssMb === undefined ? "**died**" : `${rssMb} MB`;
    return `| ${commit} | ${kind} | ${p50Ms.toFixed(1)} ms | ${p99Ms.toFixed(1)} ms | ${stallMs.toFixed(0)} ms | ${memory} | ${statuses} |`;
  });
  return `${HEADING}

Written by \`npm run bench -- --hostile\` (with \`--against <folder>\` also for another checkout). A provider sends one workspace 15 MB responses of one kind, two at a time and without pause; another workspace calls an ordinary provider. The gateway has a heap of ${heapMb} MB; upstreams and clients share its cores. The longest stall is the slowest answer of \`/healthz\`, asked every few milliseconds; it includes garbage collection and the wait for a core.

${machine}; the load average was ${load.toFixed(1)} before the run.

| commit | responses | other tenants: p50 | p99 | longest stall | peak memory | hostile calls |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join("\n")}

An ordinary response of ${ordinary.bytes} bytes is read in ${ordinary.readMicros.toFixed(1)} µs of CPU time, with its limits and the offsets of its members. \`JSON.parse\` alone takes ${ordinary.parseMicros.toFixed(1)} µs, the check of its limits alone ${ordinary.limitsMicros.toFixed(1)} µs.
`;
}

/** The page with the section, before that of the portal. */
export function withHostileSection(page: string, section: string | undefined): string {
  const own = hostileSectionOf(page);
  const rest = own === undefined ? page : page.replace(`${own.trimEnd()}\n`, "");
  if (section === undefined) return rest;
  const [results = "", ...portal] = rest.split(PORTAL);
  const kept = portal.map((text) => `${PORTAL}${text}`).join("");
  return `${results.trimEnd()}\n\n${section}${kept}`;
}

/** Undefined: the page has none. */
export function hostileSectionOf(page: string): string | undefined {
  const at = page.indexOf(`\n${HEADING}\n`);
  if (at < 0) return undefined;
  const [section = ""] = page.slice(at + 1).split(PORTAL);
  return section;
}
