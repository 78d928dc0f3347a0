import { expect, test } from "vitest";
import { CircuitBreakers } from "./circuit-breakers.ts";

function ward() {
  let ms = 1000;
  const breakers = new CircuitBreakers({ nowMs: () => ms, monotonicMs: () => ms });
  return {
    breakers,
    pass: (more: number) => {
      ms += more;
    },
    fail: (times: number) => {
      for (let at = 0; at < times; at += 1) breakers.recordFailure("a", undefined);
    },
  };
}

test("ROUTE-05 five failures in a row set an endpoint aside, and a served request in between starts the count anew", () => {
  const { breakers, fail } = ward();
  fail(4);
  expect(breakers.circuitStateOf("a")).toBe("in");
  breakers.recordSuccess("a");
  fail(4);
  expect(breakers.circuitStateOf("a")).toBe("in");
  fail(1);
  expect(breakers.circuitStateOf("a")).toBe("aside");
  expect(breakers.circuitStateOf("b")).toBe("in");
  expect(breakers.openCircuits).toEqual(["a"]);
});

test("ROUTE-05 when its time is over one request probes it, and the others stay away until that is decided", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(29_999);
  expect(breakers.circuitStateOf("a")).toBe("aside");
  pass(1);
  expect(breakers.circuitStateOf("a")).toBe("probe");
  breakers.recordStart("a");
  expect(breakers.circuitStateOf("a")).toBe("aside");
  breakers.recordSuccess("a");
  expect(breakers.circuitStateOf("a")).toBe("in");
});

test("ROUTE-05 a failed probe sets it aside for longer each time, up to a limit, and a service forgets it all", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  const waits: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    let waited = 0;
    while (breakers.circuitStateOf("a") === "aside") {
      pass(1000);
      waited += 1000;
    }
    waits.push(waited);
    breakers.recordStart("a");
    fail(1);
  }
  expect(waits.slice(0, 4)).toEqual([30_000, 60_000, 90_000, 120_000]);
  expect(waits.at(-1)).toBe(300_000);
  breakers.recordSuccess("a");
  fail(5);
  pass(30_000);
  expect(breakers.circuitStateOf("a")).toBe("probe");
});

test("ROUTE-05 a probe whose caller left decides nothing: the next request probes", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(30_000);
  breakers.recordStart("a");
  breakers.recordInconclusive("a");
  expect(breakers.circuitStateOf("a")).toBe("probe");
});

test("ROUTE-05 a provider that says when to come back is left alone until then, within reason", () => {
  const { breakers, pass } = ward();
  breakers.recordFailure("a", 7000);
  expect(breakers.circuitStateOf("a")).toBe("aside");
  pass(7000);
  expect(breakers.circuitStateOf("a")).toBe("probe");
  breakers.recordFailure("a", 1e12);
  pass(300_000);
  expect(breakers.circuitStateOf("a")).toBe("probe");
});

test("failures of those who are tried last while set aside do not make it longer", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  fail(50);
  pass(30_000);
  expect(breakers.circuitStateOf("a")).toBe("probe");
});

test("ROUTE-05 switched off, nobody is set aside, whatever happens", () => {
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const breakers = new CircuitBreakers(clock, { consecutiveFailures: 0, openMs: 30_000, openMsMax: 300_000 });
  for (let at = 0; at < 20; at += 1) breakers.recordFailure("a", at);
  expect(breakers.circuitStateOf("a")).toBe("in");
});

test("PORTAL-10 what an operator sees of an endpoint: what it served and failed, how often and how long it is aside", () => {
  const { breakers, fail, pass } = ward();
  expect(breakers.statusOf("a")).toEqual({
    standing: "in",
    served: 0,
    failed: 0,
    failuresInARow: 0,
    timesAside: 0,
    asideForMs: null,
    lastFailedAtMs: null,
  });
  breakers.recordSuccess("a");
  fail(4);
  expect(breakers.statusOf("a")).toMatchObject({ standing: "in", failuresInARow: 4, timesAside: 0, asideForMs: null });
  pass(5);
  fail(1);
  expect(breakers.statusOf("a")).toMatchObject({
    standing: "aside",
    served: 1,
    failed: 5,
    timesAside: 1,
    asideForMs: 30_000,
    lastFailedAtMs: 1005,
  });
  pass(30_000);
  expect(breakers.statusOf("a")).toMatchObject({ standing: "probe", asideForMs: null });
  breakers.recordSuccess("a");
  breakers.recordFailure("a", 2000);
  expect(breakers.statusOf("a")).toMatchObject({ standing: "aside", served: 2, timesAside: 2, asideForMs: 2000 });
});

test("others are to know at once of what is new, not of every word of a provider that sends everybody away", () => {
  const { breakers, pass } = ward();
  let told = 0;
  breakers.onChange(() => {
    told += 1;
  });
  for (let at = 0; at < 100; at += 1) {
    breakers.recordFailure("a", 1000);
    pass(1);
  }
  expect(told).toBe(1);
  pass(1000);
  breakers.recordStart("a");
  breakers.recordSuccess("a");
  breakers.recordSuccess("a");
  expect(told).toBe(3);
});

/** Several instances, which hear what all others say whenever they meet. */
function wards(count: number) {
  let ms = 1000;
  // What is the same for all is the time of day; each has been running for another while.
  const all = Array.from(
    { length: count },
    (_, at) => new CircuitBreakers({ nowMs: () => 1e12 + ms, monotonicMs: () => ms + at * 77 }),
  );
  return {
    all,
    standings: () => all.map((one) => one.circuitStateOf("a")),
    pass: (more: number) => {
      ms += more;
    },
    meet: () => {
      const said = all.map((one) => one.report());
      for (const [index, one] of all.entries())
        one.applyReports(
          said.filter((_, at) => at !== index),
          { index, count: count },
        );
    },
    fail: (one: CircuitBreakers | undefined, times: number) => {
      for (let at = 0; at < times; at += 1) one?.recordFailure("a", undefined);
    },
  };
}

const [IN, ASIDE, PROBE] = ["in", "aside", "probe"] as const;

test("SCALE-02 ROUTE-05 what one instance sets aside is aside on all, as long, and is in again on all when it serves", () => {
  const { all, standings, meet, fail, pass } = wards(3);
  fail(all[0], 5);
  expect(standings()).toEqual([ASIDE, IN, IN]);
  meet();
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  expect(all[2]?.openCircuits).toEqual(["a"]);
  pass(10_000);
  meet();
  expect(all[1]?.statusOf("a")).toMatchObject({ standing: ASIDE, asideForMs: 20_000, failed: 0, timesAside: 0 });
  all[0]?.recordSuccess("a");
  meet();
  expect(standings()).toEqual([IN, IN, IN]);
  all[1]?.recordFailure("a", 7000);
  meet();
  expect(all.map((one) => one.statusOf("a").openForMs)).toEqual([7000, 7000, 7000]);
});

test("SCALE-02 ROUTE-05 one instance probes at a time, another one each time, and one without requests is not waited for", () => {
  const { all, standings, meet, fail, pass } = wards(3);
  fail(all[0], 5);
  meet();
  fail(all[2], 1);
  pass(30_000);
  expect(standings()).toEqual([ASIDE, PROBE, ASIDE]);
  pass(1000);
  expect(standings()).toEqual([ASIDE, PROBE, PROBE]);
  all[2]?.recordStart("a");
  meet();
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  // For as long as it takes, also when the turn of others has come long since.
  for (let at = 0; at < 20; at += 1) {
    pass(4000);
    meet();
    expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  }
  fail(all[2], 1);
  meet();
  expect(all.map((one) => one.statusOf("a").openForMs)).toEqual([60_000, 60_000, 60_000]);
  pass(60_000);
  expect(standings()).toEqual([ASIDE, ASIDE, PROBE]);
  all[2]?.recordStart("a");
  meet();
  pass(4000);
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  all[2]?.recordSuccess("a");
  meet();
  // Those who have seen it fail themselves look for themselves.
  pass(5000);
  expect(standings()).toEqual([PROBE, IN, IN]);
  all[0]?.recordStart("a");
  all[0]?.recordInconclusive("a");
  expect(standings()).toEqual([PROBE, IN, IN]);
});

test("SCALE-02 ROUTE-05 the others stay away while the one that set it aside probes it itself", () => {
  const { all, standings, meet, fail, pass } = wards(2);
  fail(all[1], 5);
  meet();
  pass(30_000);
  expect(standings()).toEqual([ASIDE, PROBE]);
  all[1]?.recordStart("a");
  meet();
  pass(4000);
  expect(standings()).toEqual([ASIDE, ASIDE]);
  all[1]?.recordInconclusive("a");
  meet();
  expect(standings()).toEqual([PROBE, PROBE]);
});

test("SCALE-02 ROUTE-05 an instance that cannot reach an endpoint by its own fault keeps it from the others only until one was served", () => {
  const { all, standings, meet, fail, pass } = wards(3);
  fail(all[0], 5);
  meet();
  // An answer that had begun before tells nothing; nor does a failure of one that is tried last.
  all[1]?.recordSuccess("a");
  fail(all[2], 9);
  meet();
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  expect(all[2]?.report().openCircuits).toEqual([]);
  all[1]?.recordStart("a");
  all[1]?.recordSuccess("a");
  meet();
  expect(standings()).toEqual([ASIDE, IN, IN]);
  meet();
  expect(all.map((one) => one.report())).toEqual(all.map(() => ({ aside: [], served: [] })));
  // It goes on failing there, and there alone.
  pass(32_000);
  all[0]?.recordStart("a");
  fail(all[0], 1);
  meet();
  expect(standings()).toEqual([ASIDE, IN, IN]);
  // What the provider itself says is for all again.
  all[0]?.recordFailure("a", 100_000);
  meet();
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
  // An answer that began after one word and before the next tells nothing of the next.
  all[1]?.recordStart("a");
  pass(10);
  all[0]?.recordFailure("a", 100_000);
  meet();
  all[1]?.recordSuccess("a");
  meet();
  expect(standings()).toEqual([ASIDE, ASIDE, ASIDE]);
});

test("SCALE-02 ROUTE-05 a probe that was served is over, also when others have spoken or fallen silent meanwhile", () => {
  const { all, standings, meet, fail, pass } = wards(3);
  fail(all[0], 5);
  meet();
  pass(35_000);
  all[1]?.recordStart("a");
  meet();
  // A newer word: what the probe shows is older, so the next one shows it.
  all[0]?.recordFailure("a", 2000);
  meet();
  all[1]?.recordSuccess("a");
  meet();
  expect(all[1]?.report().openCircuits).toEqual([]);
  pass(7000);
  meet();
  expect(standings()).toEqual([PROBE, PROBE, PROBE]);
  // An older word: the probe began after both.
  all[0]?.recordSuccess("a");
  meet();
  fail(all[0], 5);
  pass(10);
  fail(all[2], 5);
  meet();
  pass(35_000);
  all[1]?.recordStart("a");
  meet();
  all[2]?.recordSuccess("a");
  meet();
  all[1]?.recordSuccess("a");
  meet();
  expect(standings()).toEqual([PROBE, IN, IN]);
});

test("SCALE-02 ROUTE-05 the word of one whose clock is far ahead counts no longer than any other", () => {
  const { all, standings, pass } = wards(1);
  const openCircuits = [{ endpoint: "a", sinceMs: 2e12, untilMs: 3e12, times: 1 }];
  for (let seconds = 0; seconds < 310; seconds += 1) {
    all[0]?.applyReports([{ openCircuits, refutations: [] }], { index: 0, count: 2 });
    if (seconds === 299) expect(standings()).toEqual([ASIDE]);
    pass(1000);
  }
  expect(standings()).toEqual([PROBE]);
});

test("SCALE-02 ROUTE-05 switched off, nobody is set aside by the word of others either", () => {
  const { all, fail } = wards(1);
  fail(all[0], 5);
  const clock = { nowMs: () => 1e12, monotonicMs: () => 1 };
  const off = new CircuitBreakers(clock, { consecutiveFailures: 0, openMs: 30_000, openMsMax: 300_000 });
  off.applyReports(
    all.map((one) => one.report()),
    { index: 0, count: 2 },
  );
  expect(off.circuitStateOf("a")).toBe(IN);
});
