import { expect, test } from "vitest";
import { EndpointBreakers } from "./breakers.ts";

function ward() {
  let ms = 1000;
  const breakers = new EndpointBreakers({ nowMs: () => ms, elapsedMs: () => ms });
  return {
    breakers,
    pass: (more: number) => {
      ms += more;
    },
    fail: (times: number) => {
      for (let at = 0; at < times; at += 1) breakers.failed("a", undefined);
    },
  };
}

test("ROUTE-05 five failures in a row set an endpoint aside, and a served request in between starts the count anew", () => {
  const { breakers, fail } = ward();
  fail(4);
  expect(breakers.standingOf("a")).toBe("in");
  breakers.served("a");
  fail(4);
  expect(breakers.standingOf("a")).toBe("in");
  fail(1);
  expect(breakers.standingOf("a")).toBe("aside");
  expect(breakers.standingOf("b")).toBe("in");
  expect(breakers.aside).toEqual(["a"]);
});

test("ROUTE-05 when its time is over one request probes it, and the others stay away until that is decided", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(29_999);
  expect(breakers.standingOf("a")).toBe("aside");
  pass(1);
  expect(breakers.standingOf("a")).toBe("probe");
  breakers.began("a");
  expect(breakers.standingOf("a")).toBe("aside");
  breakers.served("a");
  expect(breakers.standingOf("a")).toBe("in");
});

test("ROUTE-05 a failed probe sets it aside for longer each time, up to a limit, and a service forgets it all", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  const waits: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    let waited = 0;
    while (breakers.standingOf("a") === "aside") {
      pass(1000);
      waited += 1000;
    }
    waits.push(waited);
    breakers.began("a");
    fail(1);
  }
  expect(waits.slice(0, 4)).toEqual([30_000, 60_000, 90_000, 120_000]);
  expect(waits.at(-1)).toBe(300_000);
  breakers.served("a");
  fail(5);
  pass(30_000);
  expect(breakers.standingOf("a")).toBe("probe");
});

test("ROUTE-05 a probe whose caller left decides nothing: the next request probes", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  pass(30_000);
  breakers.began("a");
  breakers.unknown("a");
  expect(breakers.standingOf("a")).toBe("probe");
});

test("ROUTE-05 a provider that says when to come back is left alone until then, within reason", () => {
  const { breakers, pass } = ward();
  breakers.failed("a", 7000);
  expect(breakers.standingOf("a")).toBe("aside");
  pass(7000);
  expect(breakers.standingOf("a")).toBe("probe");
  breakers.failed("a", 1e12);
  pass(300_000);
  expect(breakers.standingOf("a")).toBe("probe");
});

test("failures of those who are tried last while set aside do not make it longer", () => {
  const { breakers, fail, pass } = ward();
  fail(5);
  fail(50);
  pass(30_000);
  expect(breakers.standingOf("a")).toBe("probe");
});

test("ROUTE-05 switched off, nobody is set aside, whatever happens", () => {
  const clock = { nowMs: () => 0, elapsedMs: () => 0 };
  const breakers = new EndpointBreakers(clock, { failuresInARow: 0, asideMs: 30_000, asideMsMax: 300_000 });
  for (let at = 0; at < 20; at += 1) breakers.failed("a", at);
  expect(breakers.standingOf("a")).toBe("in");
});

test("PORTAL-10 what an operator sees of an endpoint: what it served and failed, how often and how long it is aside", () => {
  const { breakers, fail, pass } = ward();
  expect(breakers.stateOf("a")).toEqual({
    standing: "in",
    served: 0,
    failed: 0,
    failuresInARow: 0,
    timesAside: 0,
    asideForMs: null,
    lastFailedAtMs: null,
  });
  breakers.served("a");
  fail(4);
  expect(breakers.stateOf("a")).toMatchObject({ standing: "in", failuresInARow: 4, timesAside: 0, asideForMs: null });
  pass(5);
  fail(1);
  expect(breakers.stateOf("a")).toMatchObject({
    standing: "aside",
    served: 1,
    failed: 5,
    timesAside: 1,
    asideForMs: 30_000,
    lastFailedAtMs: 1005,
  });
  pass(30_000);
  expect(breakers.stateOf("a")).toMatchObject({ standing: "probe", asideForMs: null });
  breakers.served("a");
  breakers.failed("a", 2000);
  expect(breakers.stateOf("a")).toMatchObject({ standing: "aside", served: 2, timesAside: 2, asideForMs: 2000 });
});
