import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CANDIDATES } from "../bench/candidate.ts";
import { Children } from "../bench/children.ts";
import { hostileSectionOf, renderHostileSection } from "../bench/hostile-section.ts";
import { installLiteLlm } from "../bench/litellm.ts";
import { added, figure, median, percentile, ratio } from "../bench/maths.ts";
import { readOptions, USAGE } from "../bench/options.ts";
import {
  isStreamed,
  JSON_ANSWER,
  MESSAGE_EVENTS,
  messageFrames,
  paceOf,
  requestBody,
  STREAM_FRAMES,
  streamFrames,
} from "../bench/payload.ts";
import { commandFor, parsePeer, preparePeer, upstreamUrls } from "../bench/peer.ts";
import { measurePlans } from "../bench/plan.ts";
import { foreignShares, parseStat, parseTicks, readTree, sumTree, treeOf } from "../bench/proc.ts";
import { summarise } from "../bench/profile.ts";
import { measureReading } from "../bench/reading-cost.ts";
import { cpuMicrosIn, readRedisCpu } from "../bench/redis-cpu.ts";
import { renderPage } from "../bench/report.ts";
import { type BenchResult, type CandidateResult, emptyResult } from "../bench/results.ts";
import { targetsOf } from "../bench/targets.ts";
import { PROJECT_ROOT } from "../src/settings/config.ts";

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

  test("the source streams for bodies with `stream` alone, however a peer formats them", () => {
    expect(isStreamed(requestBody("m", { paceMs: 0 }))).toBe(true);
    expect(isStreamed('{"messages": [], "stream": true}')).toBe(true);
    expect(isStreamed(requestBody("m", undefined))).toBe(false);
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
    const targets = targetsOf(resultOf([measured("bare", 50), measured("gateway", 67)]));
    const found = targets.map(({ met }) => met);
    const [first, second] = [
      [true, undefined, false, false, undefined, true],
      [undefined, undefined, true],
    ];
    expect(found).toEqual([...first, ...second, undefined, true, true]);
    expect(targets[0]?.found).toBe("1.34 × (1.34 to 1.34)");
    expect(targets[5]?.found).toBe("0.17 ms");
  });

  test("a translated stream is compared with the bare proxy's plain one", () => {
    const gateway = { ...measured("gateway", 90), translated: [{ perSecond: 9, cpuMicros: 260, bad: 0 }] };
    const target = targetsOf(resultOf([measured("bare", 50), gateway]))[4];
    expect([target?.found, target?.met]).toEqual(["2.60 × (2.60 to 2.60)", false]);
  });

  test("memory with many streams counts only if all were open", () => {
    const met = (streams: number, rssBytes: number) =>
      targetsOf(resultOf([{ ...measured("gateway", 90), manyStreams: [{ rssBytes, streams }] }]))[7]?.met;
    expect([met(2000, 199e6), met(2000, 200e6), met(1999, 100e6)]).toEqual([true, false, false]);
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
    expect([met(139), met(140)]).toEqual([true, false]);
  });

  test("the CPU of a shared Redis has its own limit, and shows how much a fleet can serve", () => {
    const found = (redisMicros: number) => {
      const shared = { ...measured("shared", 90), json: [{ perSecond: 9, cpuMicros: 90, bad: 0, redisMicros }] };
      const target = targetsOf(resultOf([shared])).find(({ what }) => what.includes("Redis CPU"));
      return [target?.found, target?.met];
    };
    expect(found(16)).toEqual(["16.0 µs, 62,500 requests/s of a fleet", true]);
    expect(found(20)[1]).toBe(false);
    const shared = { ...measured("shared", 90), burst: [{ perSecond: 9, cpuMicros: 90, bad: 0, redisMicros: 25 }] };
    expect(renderPage(resultOf([shared]))).toMatch(/\| stream without pauses +\| 25\.0 +\| 40,000 +\|/);
  });

  test("an upstream that never notices a disconnect does not meet its target", () => {
    const gateway = { ...measured("gateway", 90), cancelMs: [3, undefined] };
    expect(targetsOf(resultOf([gateway])).at(-1)?.met).toBe(false);
  });

  test("the page shows results, memory per stream, and what was omitted", () => {
    const page = renderPage(resultOf([measured("bare", 50), measured("gateway", 90)]));
    expect(page).toContain("90.0 (90.0–90.0)");
    expect(page).toContain("145 MB at 500");
    const detectors = [
      { text: "prose", microsPerKilobyte: 25.5 },
      { text: "a lock file", microsPerKilobyte: 51 },
    ];
    const withDetectors = renderPage({ ...resultOf([measured("gateway", 90)]), detectors });
    expect(withDetectors).toMatch(/\| prose +\| 25\.5 +\| met/);
    expect(withDetectors).toMatch(/\| a lock file +\| 51\.0 +\| \*\*not met\*\*/);
    expect(page).toContain("50 kB");
    const others =
      "**Other work took 1 % of the machine during the run, and the machine's host 30 % of it for others: ";
    expect(page).toContain(others);
    expect(page).toContain("Not measured: portkey (it is not installed).");
  });

  test("the gateway is compared with every peer of the run, in its own column", () => {
    const peer = { ...measured("peer:other", 360), title: "other", version: "as started by `other {port}`" };
    const page = renderPage(resultOf([measured("direct", 1), measured("bare", 50), measured("gateway", 90), peer]));
    expect(page).toMatch(/\| CPU of the gateway +\| to bare +\| to other +\|/);
    expect(page).toMatch(/\| JSON +\| 1\.80 × \(1\.80–1\.80\) +\| 0\.25 × \(0\.25–0\.25\) +\|/);
    expect(page).toContain("- other: as started by `other {port}`");
  });

  test("docs/benchmarks.md has the texts that the benchmarks write", () => {
    const page = readFileSync(path.join(PROJECT_ROOT, "docs/benchmarks.md"), "utf8");
    const result = resultOf([measured("gateway", 90)]);
    const repetitions = Number(/ \((\d) repetitions\)/.exec(page)?.[1]);
    const rendered = renderPage({ ...result, repetitions });
    const [intro = "", , method = ""] = rendered.split(/\n\n(?=## (?:Machine|Method))|\n\n- gateway/);
    expect(page.startsWith(`${intro}\n\n## Machine`)).toBe(true);
    expect(page).toContain(method);
    const section = hostileSectionOf(page);
    const hostile = renderHostileSection([], { heapMb: 512, machine: "P", load: 1, ordinary: measureReading(10) });
    expect(section).toContain(hostile.slice(0, hostile.indexOf("\n\nP;")));
    const lastLine = (text: string | undefined) =>
      text
        ?.trimEnd()
        .split("\n")
        .at(-1)
        ?.replaceAll(/[\d.]+ /g, "# ");
    expect(lastLine(section)).toBe(lastLine(hostile));
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

  test("peers are measured besides the named candidates, and the help explains the placeholders", () => {
    const { only, peers } = readOptions([
      "--only",
      "bare",
      "--peer",
      "a=x {port} {json}",
      "--peer",
      "b=y {port} {stream}",
    ]);
    expect(only).toEqual(["bare", "peer:a", "peer:b"]);
    expect(peers[1]).toEqual({ name: "b", command: "y {port} {stream}" });
    expect(() => readOptions(["--peer", "a=x {port} {json}", "--peer", "a=y {port} {json}"])).toThrow('"a" already');
    for (const place of ["{port}", "{json}", "{stream}", "litellm"]) expect(USAGE).toContain(place);
  });
});

describe("peers", () => {
  const folder = () => {
    const made = mkdtempSync(path.join(os.tmpdir(), "gateway-bench-"));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  };
  const program = (file: string, script: string) => {
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  };

  test("the placeholders become the port and the upstreams' base URLs, wherever they stand", () => {
    const peer = parsePeer('one=serve --port={port} -e A={json} "{json}" {stream} $HOME {other}', []);
    const places = { port: 8123, ...upstreamUrls({ json: 1001, stream: 1002 }) };
    const [json, stream] = ["http://127.0.0.1:1001/v1", "http://127.0.0.1:1002/v1"];
    expect(commandFor(peer, places)).toBe(`serve --port=8123 -e A=${json} "${json}" ${stream} $HOME {other}`);
  });

  test.each([
    ["serve {port} {json}", "name=command"],
    ["one=", "name=command"],
    ["a b=serve {port} {json}", "name=command"],
    ["bare=serve {port} {json}", '"bare" already'],
    ["one=serve {json}", "{port}"],
    ["one=serve {port}", "{json} and {stream}"],
  ])("a peer that could not be measured is refused by name: %s", (text, why) => {
    expect(() => parsePeer(text, CANDIDATES)).toThrow(why);
  });

  test("a peer's command gets its settings from the shell, and ends when it is stopped", async () => {
    const own = folder();
    program(path.join(own, "serve"), 'echo "$NOTE $*" >"$0.args"; exec sleep 600');
    const children = new Children(undefined);
    const peer = parsePeer(`one=NOTE='a b' ${own}/serve {port} {stream}`, []);
    const upstream = { json: 1001, stream: 1002 };
    const bench = { children, node: process.execPath, root: own, folder: own, upstream };
    const { launch, target, reframes } = await preparePeer(bench, peer);
    const child = launch?.();
    if (child === undefined) throw new Error("not started");
    const port = new URL(target({ is: "json" }).url).port;
    await expect.poll(() => existsSync(path.join(own, "serve.args"))).toBe(true);
    const { stdout } = spawnSync("cat", [path.join(own, "serve.args")], { encoding: "utf8" });
    expect(stdout).toBe(`a b ${port} http://127.0.0.1:1002/v1\n`);
    await children.stop(child);
    expect([child.signalCode, reframes]).toEqual(["SIGTERM", true]);
    expect(target({ is: "stream", paceMs: 5 }).body).toContain('"model":"bench-stream"');
  });

  test.each([
    ["without Python", undefined, "Python 3 is not installed"],
    ["with an old Python", "exit 3", "Python 3.10 or newer with venv is not installed"],
    ["without venv", '[ "$1" = -c ] && exit 0; echo "no module venv" >&2; exit 1', "no module venv"],
    [
      "without the network",
      '[ "$1" = -c ] && exit 0; mkdir -p "$3/bin"; printf "#!/bin/sh\\necho no network >&2; exit 1\\n" >"$3/bin/pip"; chmod +x "$3/bin/pip"',
      "no network",
    ],
  ])("LiteLLM is left out %s, with the reason", (_, script, why) => {
    const [own, bin] = [folder(), folder()];
    if (script !== undefined) program(path.join(bin, "python3"), script);
    const PATH = script === undefined ? bin : `${bin}:${process.env["PATH"]}`;
    expect(() => installLiteLlm(path.join(own, "litellm"), { PATH })).toThrow(why);
    expect(existsSync(path.join(own, "litellm/installed"))).toBe(false);
  });
});

test("the CPU of a Redis is its system and user time since it started", async () => {
  const info = "# CPU\r\nused_cpu_sys:1.250000\r\nused_cpu_user:2.500000\r\nused_cpu_sys_children:9\r\n";
  expect(cpuMicrosIn(info)).toBe(3_750_000);
  const server = createServer((socket) => {
    socket.once("data", () => socket.end(`$${info.length}\r\n${info}\r\n+OK\r\n`));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  expect(await readRedisCpu(address.port)).toBe(3_750_000);
});

test("planning is measured over several policies and hints, and every case really plans", () => {
  const figures = measurePlans(3);
  expect(figures.length).toBeGreaterThan(2);
  for (const { averageMicros } of figures) expect(averageMicros).toBeGreaterThan(0);
});
