import { expect, test } from "vitest";
import { Metrics } from "./metrics.ts";
import { type OperatorEvent, OperatorEvents } from "./operator-events.ts";

const refused = (endpoint: string): OperatorEvent => ({
  is: "credential_rejected",
  endpoint,
  provider: "acme",
  status: 401,
});

test("ERR-06 a rejected credential is counted each time and logged once a minute for each endpoint", async () => {
  let ms = 1000;
  const lines: unknown[] = [];
  const metrics = new Metrics();
  const log = { warn: (fields: unknown) => void lines.push(fields) };
  const events = new OperatorEvents((notice) => metrics.recordEvent(notice), log, {
    nowMs: () => ms,
    monotonicMs: () => ms,
  });
  for (const endpoint of ["acme:a", "acme:a", "acme:b"]) events.record(refused(endpoint));
  ms += 59_999;
  events.record(refused("acme:a"));
  expect(lines).toEqual([
    { endpoint: "acme:a", provider: "acme", upstreamStatus: 401 },
    { endpoint: "acme:b", provider: "acme", upstreamStatus: 401 },
  ]);
  ms += 1;
  events.record(refused("acme:a"));
  expect(lines).toHaveLength(3);
  expect(events.recentRejections).toEqual([{ endpoint: "acme:a", provider: "acme", status: 401, atMs: 61_000 }]);
  ms += 3_600_000;
  expect(events.recentRejections).toEqual([]);
  const { body } = await metrics.render();
  expect(body).toContain('gateway_credential_refusals_total{provider="acme",status="401"} 5');
});

test("BILL-02 replaced usage is counted each time and logged once a minute by endpoint and reason", async () => {
  let ms = 1000;
  const lines: unknown[] = [];
  const metrics = new Metrics();
  const log = { warn: (fields: unknown, text?: string) => void lines.push([fields, text]) };
  const events = new OperatorEvents((notice) => metrics.recordEvent(notice), log, {
    nowMs: () => ms,
    monotonicMs: () => ms,
  });
  const replaced = (why: "impossible" | "none", requestId: string): void =>
    events.record({ is: "usage_replaced", endpoint: "acme:a", provider: "acme", why, requestId });
  replaced("impossible", "first");
  replaced("impossible", "second");
  replaced("none", "third");
  events.record(refused("acme:a"));
  expect(lines).toEqual([
    [{ endpoint: "acme:a", provider: "acme", requestId: "first" }, expect.stringContaining("implausible usage")],
    [{ endpoint: "acme:a", provider: "acme", requestId: "third" }, expect.stringContaining("usage missing")],
    [{ endpoint: "acme:a", provider: "acme", upstreamStatus: 401 }, expect.stringContaining("credential")],
  ]);
  ms += 60_000;
  replaced("impossible", "fourth");
  expect(lines).toHaveLength(4);
  const { body } = await metrics.render();
  expect(body).toContain('gateway_figures_replaced_total{provider="acme",why="impossible"} 3');
  expect(body).toContain('gateway_figures_replaced_total{provider="acme",why="none"} 1');
});

test("AUTH-07 an untrusted peer that forwards addresses is logged once, and a few are remembered", () => {
  const lines: unknown[] = [];
  const log = { warn: (fields: unknown) => void lines.push(fields) };
  const events = new OperatorEvents(() => undefined, log, { nowMs: () => 0, monotonicMs: () => 0 });
  expect(events.untrustedForwarders).toEqual([]);
  for (let peer = 1; peer <= 30; peer += 1)
    for (const address of [`10.0.0.${peer}`, "10.0.0.1"]) events.recordUntrustedForward(address);
  expect(lines).toEqual([{ peer: "10.0.0.1" }]);
  expect(events.untrustedForwarders).toHaveLength(20);
  expect(events.untrustedForwarders.slice(0, 2)).toEqual(["10.0.0.1", "10.0.0.2"]);
});
