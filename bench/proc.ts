import { readdirSync, readFileSync } from "node:fs";

/** The fields of /proc/<pid>/stat that the benchmark uses. */
export type ProcStat = {
  readonly pid: number;
  readonly parentPid: number;
  /** User and system time of all threads and of reaped children. */
  readonly cpuTicks: number;
  readonly rssPages: number;
};

export type TreeUse = { readonly cpuMicros: number; readonly rssBytes: number; readonly processes: number };

/** Units of /proc, read from the system; usually 100 and 4096. */
export type ProcUnits = { readonly ticksPerSecond: number; readonly pageBytes: number };

/** A process name may contain spaces and brackets, so fields are counted after the last bracket. */
export function parseStat(line: string): ProcStat | undefined {
  const nameStart = line.indexOf("(");
  const nameEnd = line.lastIndexOf(")");
  if (nameStart < 0 || nameEnd < nameStart) return undefined;
  const fields = line
    .slice(nameEnd + 2)
    .split(" ")
    .map(Number);
  const pid = Number(line.slice(0, nameStart));
  // From the state on: ppid is field 1, utime 11, stime 12, cutime 13, cstime 14, rss 21.
  const [parentPid, user, system, childUser, childSystem, rssPages] = [1, 11, 12, 13, 14, 21].map((at) => fields[at]);
  if (parentPid === undefined || rssPages === undefined) return undefined;
  const cpuTicks =
    (user ?? Number.NaN) + (system ?? Number.NaN) + (childUser ?? Number.NaN) + (childSystem ?? Number.NaN);
  if (![pid, parentPid, cpuTicks, rssPages].every(Number.isFinite)) return undefined;
  return { pid, parentPid, cpuTicks, rssPages };
}

/** A process and its descendants. */
export function treeOf(rootPid: number, all: readonly ProcStat[]): readonly ProcStat[] {
  const childrenOf = Map.groupBy(all, (stat) => stat.parentPid);
  const found = all.filter((stat) => stat.pid === rootPid);
  for (let next = 0; next < found.length; next++) {
    const parent = found[next];
    if (parent !== undefined) found.push(...(childrenOf.get(parent.pid) ?? []));
  }
  return found;
}

export function sumTree(tree: readonly ProcStat[], units: ProcUnits): TreeUse {
  const ticks = tree.reduce((sum, stat) => sum + stat.cpuTicks, 0);
  const pages = tree.reduce((sum, stat) => sum + stat.rssPages, 0);
  return {
    cpuMicros: (ticks * 1_000_000) / units.ticksPerSecond,
    rssBytes: pages * units.pageBytes,
    processes: tree.length,
  };
}

/**
 * Ticks of the machine, from the first line of /proc/stat. Busy is everything except idle and iowait; steal is time that the
 * hypervisor gave to other virtual machines.
 */
export function parseTicks(text: string): { readonly busy: number; readonly stolen: number } | undefined {
  const fields = /^cpu +(.*)$/m.exec(text)?.[1]?.split(" ").map(Number);
  const [user, nice, system, , , interrupt, softInterrupt, stolen = 0] = fields ?? [];
  const busy = [user, nice, system, interrupt, softInterrupt].reduce<number>(
    (sum, ticks) => sum + (ticks ?? Number.NaN),
    0,
  );
  return Number.isFinite(busy) ? { busy, stolen } : undefined;
}

export type Moment = {
  readonly atMs: number;
  readonly busyTicks: number;
  readonly stolenTicks: number;
  readonly ownTicks: number;
};

/** CPU use of the machine, and the part of this process tree. */
export function readMoment(atMs: number): Moment {
  const ticks = parseTicks(readFileSync("/proc/stat", "latin1"));
  return {
    atMs,
    busyTicks: ticks?.busy ?? 0,
    stolenTicks: ticks?.stolen ?? 0,
    ownTicks: readTree(process.pid).reduce((sum, stat) => sum + stat.cpuTicks, 0),
  };
}

/** Shares of CPU used by other processes and by other virtual machines: a high value makes a run unreliable. */
export function foreignShares(from: Moment, to: Moment, cores: number, units: ProcUnits) {
  const available = ((to.atMs - from.atMs) / 1000) * units.ticksPerSecond * cores;
  const shareOf = (ticks: number) => (available <= 0 ? 0 : Math.max(0, ticks / available));
  return {
    foreignShare: shareOf(to.busyTicks - from.busyTicks - (to.ownTicks - from.ownTicks)),
    stolenShare: shareOf(to.stolenTicks - from.stolenTicks),
  };
}

export function readTree(rootPid: number): readonly ProcStat[] {
  return treeOf(rootPid, readAll());
}

function readAll(): readonly ProcStat[] {
  const stats: ProcStat[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readOne(name);
    if (stat !== undefined) stats.push(stat);
  }
  return stats;
}

/** A process may exit between listing and reading. */
function readOne(pid: string): ProcStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}
