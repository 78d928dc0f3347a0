import { describe, expect, test } from "vitest";
import { CANDIDATES } from "../bench/candidate.ts";
import { added, figure, median, percentile, ratio } from "../bench/maths.ts";
import { readOptions } from "../bench/options.ts";
import {
  JSON_ANSWER,
  MESSAGE_EVENTS,
  messageFrames,
  paceOf,
  requestBody,
  STREAM_FRAMES,
  streamFrames,
} from "../bench/payload.ts";
import { measurePlans } from "../bench/plan.ts";
import { foreignShares, parseStat, parseTicks, readTree, sumTree, treeOf } from "../bench/proc.ts";
import { summarise } from "../bench/profile.ts";
import { renderPage } from "../bench/report.ts";
import { type BenchResult, type CandidateResult, emptyResult } from "../bench/results.ts";
import { targetsOf } from "../bench/targets.ts";

const statLine = (pid: number, name: string, parentPid: number, ticks: readonly number[], rssPages: number) =>
  `${pid} (${name}) S ${parentPid} ${pid} ${pid} 0 -1 4194304 900 0 0 0 ${ticks.join(" ")} 20 0 7 0 12345 700000000 ${rssPages} 18446744073709551615 1 1\n`;

describe("/proc", () => {
  test("a stat line gives parent, CPU time including ended children, and resident pages", () => {
    expect(parseStat(statLine(42, "node", 7, [100, 20, 3, 4], 25_000))).toEqual({
      pid: 42,
      parentPid: 7,
      cpuTicks: 127,
      rssPages: 25_000,
    });
  });

  test("a process name with spaces and brackets does not shift the fields", () => {
    expect(parseStat(statLine(42, "tmux: a) (b", 7, [1, 2, 0, 0], 9))?.cpuTicks).toBe(3);
  });

  test("a truncated line is ignored", () => {
    expect(parseStat("42 (node) S 7 1 1")).toBeUndefined();
    expect(parseStat("")).toBeUndefined();
  });

  test("a tree is the process and its descendants, and nothing else", () => {
    const all = [
      { pid: 1, parentPid: 0, cpuTicks: 1000, rssPages: 1000 },
      { pid: 10, parentPid: 1, cpuTicks: 5, rssPages: 10 },
      { pid: 12, parentPid: 11, cpuTicks: 30, rssPages: 40 },
      { pid: 11, parentPid: 10, cpuTicks: 10, rssPages: 20 },
      { pid: 20, parentPid: 1, cpuTicks: 700, rssPages: 700 },
    ];
    expect(treeOf(10, all).map((stat) => stat.pid)).toEqual([10, 11, 12]);
    expect(sumTree(treeOf(10, all), { ticksPerSecond: 100, pageBytes: 4096 })).toEqual({
      cpuMicros: 450_000,
      rssBytes: 70 * 4096,
      processes: 3,
    });
  });

  test("foreign load is the machine's busy time without the benchmark's own", () => {
    expect(parseTicks("cpu  100 0 50 9999 7 3 2 88 0 0\ncpu0 1 1 1\n")).toEqual({ busy: 155, stolen: 88 });
    expect(parseTicks("intr 1")).toBeUndefined();
    const from = { atMs: 0, busyTicks: 155, stolenTicks: 88, ownTicks: 10 };
    const to = { atMs: 10_000, busyTicks: 155 + 900, stolenTicks: 88 + 200, ownTicks: 10 + 400 };
    const shares = foreignShares(from, to, 2, { ticksPerSecond: 100, pageBytes: 4096 });
    expect(shares).toEqual({ foreignShare: 0.25, stolenShare: 0.1 });
  });

  test.skipIf(process.platform !== "linux")("the running machine can be read", () => {
    expect(readTree(process.pid)[0]).toMatchObject({ pid: process.pid, parentPid: process.ppid });
  });
});

describe("maths", () => {
  test("median and percentile do not depend on the order", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect([median([]), percentile([], 0.5), figure([])]).toEqual([undefined, undefined, undefined]);
  });

  test("a ratio is computed within each repetition, so a machine that slows down does not change it", () => {
    expect(ratio([20, 40, 80], [10, 20, 40])).toEqual({ median: 2, least: 2, most: 2 });
    expect(ratio([20, undefined, 90], [10, 20, 30])).toEqual({ median: 2.5, least: 2, most: 3 });
    expect(ratio([20], [0])).toBeUndefined();
  });

  test("a candidate's overhead is the difference to the direct call of the same repetition", () => {
    expect(added([15, 110, 30], [10, 100, undefined])).toEqual({ median: 7.5, least: 5, most: 10 });
  });
});

describe("payload", () => {
  test("a stream is fifty frames and the end marker, and its last frame has the usage", () => {
    const frames = streamFrames();
    expect(frames).toHaveLength(STREAM_FRAMES + 1);
    expect(frames.at(-1)).toBe("data: [DONE]\n\n");
    expect(frames.at(-2)).toContain('"total_tokens":');
  });

  test("a stream of the messages format is fifty named events, from its start to its end", () => {
    const frames = messageFrames();
    expect(frames).toHaveLength(MESSAGE_EVENTS);
    expect(frames[0]).toMatch(/^event: message_start\ndata: {"type":"message_start"/);
    expect(frames.at(-1)).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });

  test("the whole reply fits in nginx's configuration", () => {
    expect(JSON_ANSWER).not.toMatch(/['$]/);
    expect(JSON_ANSWER.length).toBeGreaterThan(500);
  });

  test("the source reads the requested pace", () => {
    expect(paceOf(requestBody("m", { paceMs: 5 }))).toBe(5);
    expect(paceOf(requestBody("m", undefined))).toBe(0);
  });
});

describe("report", () => {
  const measured = (name: CandidateResult["name"], cpuMicros: number): CandidateResult => ({
    ...emptyResult(name, name, ""),
    startsMs: [700, 900],
    idleBytes: 120e6,
    openStreams: { rssBytes: 145e6, streams: 500 },
    json: [{ perSecond: 1000, cpuMicros, bad: 0 }],
    burst: [{ perSecond: 100, cpuMicros: cpuMicros * 2, bad: 0 }],
    paced: [{ perSecond: 100, cpuMicros: cpuMicros * 10, bad: 0 }],
    firstByte: [{ p50: cpuMicros * 10, p99: undefined, samples: 9 }],
    cancelMs: [3, 4],
  });
  const resultOf = (candidates: readonly CandidateResult[]): BenchResult => ({
    mode: "full",
    startedAt: "2026-11-15 04:00 UTC",
    tookSeconds: 500,
    machine: { processor: "P", cores: 2, memoryBytes: 2 ** 33, system: "S", kernel: "K", pinned: true, versions: {} },
    repetitions: 1,
    foreignShare: 0.01,
    stolenShare: 0.3,
    candidates,
    skipped: [{ name: "portkey", why: "it is not installed" }],
  });

  test("a target is met, not met or not measured", () => {
    const targets = targetsOf(resultOf([measured("bare", 50), measured("gateway", 75)]));
    const found = targets.map(({ met }) => met);
    const [first, second] = [
      [true, undefined, false, false, undefined, true],
      [undefined, undefined, true],
    ];
    expect(found).toEqual([...first, ...second, undefined, true, true]);
    expect(targets[0]?.found).toBe("1.50 × (1.50 to 1.50)");
    expect(targets[5]?.found).toBe("0.25 ms");
  });

  test("a translated stream is compared with the bare proxy's plain one", () => {
    const gateway = { ...measured("gateway", 90), translated: [{ perSecond: 9, cpuMicros: 260, bad: 0 }] };
    const target = targetsOf(resultOf([measured("bare", 50), gateway]))[4];
    expect([target?.found, target?.met]).toEqual(["2.60 × (2.60 to 2.60)", false]);
  });

  test("memory with many streams counts only if all were open", () => {
    const met = (streams: number, rssBytes: number) =>
      targetsOf(resultOf([{ ...measured("gateway", 90), manyStreams: [{ rssBytes, streams }] }]))[7]?.met;
    expect([met(2000, 299e6), met(2000, 300e6), met(1999, 200e6)]).toEqual([true, false, false]);
  });

  test("the frontier is the best step with its p99 in time and no failure", () => {
    const step = (connections: number, perSecond: number, p99Micros: number, bad = 0) => ({
      ...{ connections, perSecond, p99Micros, bad },
    });
    const ladder = [step(1, 900, 2_000), step(8, 3_000, 6_000), step(16, 3_500, 9_000, 1), step(32, 3_200, 60_000)];
    const page = renderPage(resultOf([{ ...measured("gateway", 90), ladder }]));
    expect(page).toMatch(/\| gateway +\| 900 over 1 +\| 3,000 over 8 +\| 3,000 over 8 +\|/);
  });

  test("the overhead of PostgreSQL and Redis has its own limit", () => {
    const met = (cpuMicros: number) =>
      targetsOf(resultOf([measured("gateway", 90), measured("shared", cpuMicros)]))[6]?.met;
    expect([met(209), met(210)]).toEqual([true, false]);
  });

  test("the CPU of a shared Redis has its own limit, and shows how much a fleet can serve", () => {
    const found = (redisMicros: number) => {
      const shared = { ...measured("shared", 90), json: [{ perSecond: 9, cpuMicros: 90, bad: 0, redisMicros }] };
      const target = targetsOf(resultOf([shared])).find(({ what }) => what.includes("Redis CPU"));
      return [target?.found, target?.met];
    };
    expect(found(16)).toEqual(["16.0 µs, 62,500 requests/s of a fleet", true]);
    expect(found(20)[1]).toBe(false);
  });

  test("an upstream that never notices a disconnect does not meet its target", () => {
    const gateway = { ...measured("gateway", 90), cancelMs: [3, undefined] };
    expect(targetsOf(resultOf([gateway])).at(-1)?.met).toBe(false);
  });

  test("the page shows results, memory per stream, and what was omitted", () => {
    const page = renderPage(resultOf([measured("bare", 50), measured("gateway", 90)]));
    expect(page).toContain("90.0 (90.0–90.0)");
    expect(page).toContain("145 MB at 500");
    expect(page).toContain("50 kB");
    const others =
      "**Other work took 1 % of the machine during the run, and the machine's host 30 % of it for others: ";
    expect(page).toContain(others);
    expect(page).toContain("Not measured: portkey (it is not installed).");
  });

  test("a profile is read as shares of its busy time", () => {
    const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 4 });
    const profile = {
      nodes: [
        { id: 1, callFrame: frame("f", "file:///r/src/kit/a.ts"), children: [3, 4] },
        { id: 2, callFrame: { functionName: "(idle)", url: "", lineNumber: -1 } },
        { id: 3, callFrame: frame("g", "file:///r/src/app/b.ts") },
        { id: 4, callFrame: frame("h", "file:///r/node_modules/zod/c.js") },
      ],
      samples: [3, 1, 2, 3, 4],
      timeDeltas: [9999, 10, 1000, 30, 60],
    };
    const summary = summarise(profile, "/r", 1100);
    expect(summary.self).toEqual([
      { where: "h node_modules/zod/c.js:5", share: 0.6 },
      { where: "g src/app/b.ts:5", share: 0.3 },
      { where: "f src/kit/a.ts:5", share: 0.1 },
    ]);
    expect(summary.below).toEqual([
      { where: "f src/kit/a.ts:5", share: 1 },
      { where: "g src/app/b.ts:5", share: 0.3 },
    ]);
    expect(summary.by.map(({ where }) => where)).toEqual(["node_modules/zod", "src/app/b.ts", "src/kit/a.ts"]);
  });
});

describe("options", () => {
  test("all candidates unless some are named, and an unknown one is refused by name", () => {
    expect(readOptions([]).only).toEqual(CANDIDATES);
    expect(readOptions(["--quick", "--only", "gateway,bare"])).toMatchObject({
      mode: "quick",
      only: ["bare", "gateway"],
    });
    expect(() => readOptions(["--only", "caddy"])).toThrow('"caddy"');
  });
});

test("planning is measured over several policies and hints, and every case really plans", () => {
  const figures = measurePlans(3);
  expect(figures.length).toBeGreaterThan(2);
  for (const { averageMicros } of figures) expect(averageMicros).toBeGreaterThan(0);
});
