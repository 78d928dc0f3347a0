import { expect, test } from "vitest";
import { CircuitBreakers } from "./endpoint-health.ts";

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

test("ROUTE-05 five consecutive failures open a circuit, and a success in between resets the count", () => {
  const { breakers, fail } = ward();
  fail(4);
  expect(breakers.circuitStateOf("a")).toBe("closed");
  breakers.recordSuccess("a");
  fail(4);
  expect(breakers.circuitStateOf("a")).toBe("closed");
  fail(1);
  expect(breakers.circuitStateOf("a")).toBe("open");
  expect(breakers.circuitStateOf("b")).toBe("closed");
  expect(breakers.openCircuits).toEqual(["a"]);
});

test("ROUTE-05 after the open period one request probes, and the circuit stays open for others until it ends", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(29_999);
  expect(breakers.circuitStateOf("a")).toBe("open");
  pass(1);
  expect(breakers.circuitStateOf("a")).toBe("half_open");
  breakers.recordStart("a");
  expect(breakers.circuitStateOf("a")).toBe("open");
  breakers.recordSuccess("a");
  expect(breakers.circuitStateOf("a")).toBe("closed");
});

test("ROUTE-05 a failed probe extends the open period up to a limit, and a success resets it", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  const waits: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    let waited = 0;
    while (breakers.circuitStateOf("a") === "open") {
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
  expect(breakers.circuitStateOf("a")).toBe("half_open");
});

test("ROUTE-05 a probe whose client disconnected is inconclusive, and the next request probes", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(30_000);
  breakers.recordStart("a");
  breakers.recordInconclusive("a");
  expect(breakers.circuitStateOf("a")).toBe("half_open");
});

test("ROUTE-05 Retry-After opens the circuit for that time, up to the maximum", () => {
  const { breakers, pass } = ward();
  breakers.recordFailure("a", 7000);
  expect(breakers.circuitStateOf("a")).toBe("open");
  pass(7000);
  expect(breakers.circuitStateOf("a")).toBe("half_open");
  breakers.recordFailure("a", 1e12);
  pass(300_000);
  expect(breakers.circuitStateOf("a")).toBe("half_open");
});

test("failures while the circuit is open do not extend the open period", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  fail(50);
  pass(30_000);
  expect(breakers.circuitStateOf("a")).toBe("half_open");
});

test("ROUTE-05 with circuit breaking disabled no circuit opens", () => {
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const breakers = new CircuitBreakers(clock, { consecutiveFailures: 0, openMs: 30_000, openMsMax: 300_000 });
  for (let at = 0; at < 20; at += 1) breakers.recordFailure("a", at);
  expect(breakers.circuitStateOf("a")).toBe("closed");
});

test("PORTAL-10 the status of an endpoint shows successes, failures, openings and the remaining open time", () => {
  const { breakers, fail, pass } = ward();
  expect(breakers.statusOf("a")).toEqual({
    circuitState: "closed",
    served: 0,
    failed: 0,
    consecutiveFailures: 0,
    timesOpened: 0,
    openForMs: null,
    lastFailedAtMs: null,
  });
  breakers.recordSuccess("a");
  fail(4);
  expect(breakers.statusOf("a")).toMatchObject({
    circuitState: "closed",
    consecutiveFailures: 4,
    timesOpened: 0,
    openForMs: null,
  });
  pass(5);
  fail(1);
  expect(breakers.statusOf("a")).toMatchObject({
    circuitState: "open",
    served: 1,
    failed: 5,
    timesOpened: 1,
    openForMs: 30_000,
    lastFailedAtMs: 1005,
  });
  pass(30_000);
  expect(breakers.statusOf("a")).toMatchObject({ circuitState: "half_open", openForMs: null });
  breakers.recordSuccess("a");
  breakers.recordFailure("a", 2000);
  expect(breakers.statusOf("a")).toMatchObject({ circuitState: "open", served: 2, timesOpened: 2, openForMs: 2000 });
});

test("other instances are notified of state changes, not of every rejected request", () => {
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
function instances(count: number) {
  let ms = 1000;
  // What is the same for all is the time of day; each has been running for another while.
  const all = Array.from(
    { length: count },
    (_, at) => new CircuitBreakers({ nowMs: () => 1e12 + ms, monotonicMs: () => ms + at * 77 }),
  );
  return {
    all,
    states: () => all.map((one) => one.circuitStateOf("a")),
    pass: (more: number) => {
      ms += more;
    },
    exchangeReports: () => {
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

const [CLOSED, OPEN, HALF_OPEN] = ["closed", "open", "half_open"] as const;

test("SCALE-02 ROUTE-05 a circuit that one instance opens is open on all, and a success closes it on all", () => {
  const { all, states, exchangeReports, fail, pass } = instances(3);
  fail(all[0], 5);
  expect(states()).toEqual([OPEN, CLOSED, CLOSED]);
  exchangeReports();
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
  expect(all[2]?.openCircuits).toEqual(["a"]);
  pass(10_000);
  exchangeReports();
  expect(all[1]?.statusOf("a")).toMatchObject({ circuitState: OPEN, openForMs: 20_000, failed: 0, timesOpened: 0 });
  all[0]?.recordSuccess("a");
  exchangeReports();
  expect(states()).toEqual([CLOSED, CLOSED, CLOSED]);
  all[1]?.recordFailure("a", 7000);
  exchangeReports();
  expect(all.map((one) => one.statusOf("a").openForMs)).toEqual([7000, 7000, 7000]);
});

test("SCALE-02 ROUTE-05 one instance probes at a time in rotating order, and idle instances are not waited for", () => {
  const { all, states, exchangeReports, fail, pass } = instances(3);
  fail(all[0], 5);
  exchangeReports();
  fail(all[2], 1);
  pass(30_000);
  expect(states()).toEqual([OPEN, HALF_OPEN, OPEN]);
  pass(1000);
  expect(states()).toEqual([OPEN, HALF_OPEN, HALF_OPEN]);
  all[2]?.recordStart("a");
  exchangeReports();
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
  // For as long as it takes, also when the turn of others has come long since.
  for (let at = 0; at < 20; at += 1) {
    pass(4000);
    exchangeReports();
    expect(states()).toEqual([OPEN, OPEN, OPEN]);
  }
  fail(all[2], 1);
  exchangeReports();
  expect(all.map((one) => one.statusOf("a").openForMs)).toEqual([60_000, 60_000, 60_000]);
  pass(60_000);
  expect(states()).toEqual([OPEN, OPEN, HALF_OPEN]);
  all[2]?.recordStart("a");
  exchangeReports();
  pass(4000);
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
  all[2]?.recordSuccess("a");
  exchangeReports();
  // Those who have seen it fail themselves look for themselves.
  pass(5000);
  expect(states()).toEqual([HALF_OPEN, CLOSED, CLOSED]);
  all[0]?.recordStart("a");
  all[0]?.recordInconclusive("a");
  expect(states()).toEqual([HALF_OPEN, CLOSED, CLOSED]);
});

test("SCALE-02 ROUTE-05 the circuit stays open elsewhere while the instance that opened it probes", () => {
  const { all, states, exchangeReports, fail, pass } = instances(2);
  fail(all[1], 5);
  exchangeReports();
  pass(30_000);
  expect(states()).toEqual([OPEN, HALF_OPEN]);
  all[1]?.recordStart("a");
  exchangeReports();
  pass(4000);
  expect(states()).toEqual([OPEN, OPEN]);
  all[1]?.recordInconclusive("a");
  exchangeReports();
  expect(states()).toEqual([HALF_OPEN, HALF_OPEN]);
});

test("SCALE-02 ROUTE-05 a circuit opened by a local network fault closes elsewhere after another instance succeeds", () => {
  const { all, states, exchangeReports, fail, pass } = instances(3);
  fail(all[0], 5);
  exchangeReports();
  // An answer that had begun before tells nothing; nor does a failure of one that is tried last.
  all[1]?.recordSuccess("a");
  fail(all[2], 9);
  exchangeReports();
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
  expect(all[2]?.report().openCircuits).toEqual([]);
  all[1]?.recordStart("a");
  all[1]?.recordSuccess("a");
  exchangeReports();
  expect(states()).toEqual([OPEN, CLOSED, CLOSED]);
  exchangeReports();
  expect(all.map((one) => one.report())).toEqual(all.map(() => ({ openCircuits: [], refutations: [] })));
  // It goes on failing there, and there alone.
  pass(32_000);
  all[0]?.recordStart("a");
  fail(all[0], 1);
  exchangeReports();
  expect(states()).toEqual([OPEN, CLOSED, CLOSED]);
  // What the provider itself says is for all again.
  all[0]?.recordFailure("a", 100_000);
  exchangeReports();
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
  // An answer that began after one word and before the next tells nothing of the next.
  all[1]?.recordStart("a");
  pass(10);
  all[0]?.recordFailure("a", 100_000);
  exchangeReports();
  all[1]?.recordSuccess("a");
  exchangeReports();
  expect(states()).toEqual([OPEN, OPEN, OPEN]);
});

test("SCALE-02 ROUTE-05 a successful probe ends, even when reports of others changed meanwhile", () => {
  const { all, states, exchangeReports, fail, pass } = instances(3);
  fail(all[0], 5);
  exchangeReports();
  pass(35_000);
  all[1]?.recordStart("a");
  exchangeReports();
  // A newer word: what the probe shows is older, so the next one shows it.
  all[0]?.recordFailure("a", 2000);
  exchangeReports();
  all[1]?.recordSuccess("a");
  exchangeReports();
  expect(all[1]?.report().openCircuits).toEqual([]);
  pass(7000);
  exchangeReports();
  expect(states()).toEqual([HALF_OPEN, HALF_OPEN, HALF_OPEN]);
  // An older word: the probe began after both.
  all[0]?.recordSuccess("a");
  exchangeReports();
  fail(all[0], 5);
  pass(10);
  fail(all[2], 5);
  exchangeReports();
  pass(35_000);
  all[1]?.recordStart("a");
  exchangeReports();
  all[2]?.recordSuccess("a");
  exchangeReports();
  all[1]?.recordSuccess("a");
  exchangeReports();
  expect(states()).toEqual([HALF_OPEN, CLOSED, CLOSED]);
});

test("SCALE-02 ROUTE-05 a report from an instance whose clock is ahead does not last longer than any other", () => {
  const { all, states, pass } = instances(1);
  const openCircuits = [{ endpoint: "a", openedAtMs: 2e12, openUntilMs: 3e12, openCount: 1 }];
  for (let seconds = 0; seconds < 310; seconds += 1) {
    all[0]?.applyReports([{ openCircuits, refutations: [] }], { index: 0, count: 2 });
    if (seconds === 299) expect(states()).toEqual([OPEN]);
    pass(1000);
  }
  expect(states()).toEqual([HALF_OPEN]);
});

test("SCALE-02 ROUTE-05 with circuit breaking disabled remote reports are ignored", () => {
  const { all, fail } = instances(1);
  fail(all[0], 5);
  const clock = { nowMs: () => 1e12, monotonicMs: () => 1 };
  const off = new CircuitBreakers(clock, { consecutiveFailures: 0, openMs: 30_000, openMsMax: 300_000 });
  off.applyReports(
    all.map((one) => one.report()),
    { index: 0, count: 2 },
  );
  expect(off.circuitStateOf("a")).toBe(CLOSED);
});
