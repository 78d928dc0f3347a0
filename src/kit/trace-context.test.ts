import { expect, test } from "vitest";
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("OPS-03 a trace context is read in its form, later versions included, and nothing else is", () => {
  const read = { traceId: TRACE, spanId: SPAN, isSampled: true };
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual(read);
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes-later`)).toEqual(read);
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...read, isSampled: false });
  for (const wrong of [
    "",
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-0`,
    `cc-${TRACE}-${SPAN}-01x`,
  ])
    expect(parseTraceparent(wrong), wrong).toBeUndefined();
  expect(formatTraceparent(read)).toBe(`00-${TRACE}-${SPAN}-01`);
});

test("OPS-03 a request without a trace has one by its own id, and every attempt a span of its own", () => {
  const id = `chatcmpl-${TRACE}`;
  expect(traceIdOf(id)).toBe(TRACE);
  const spans = [0, 1, 2, 3, 255].map((attempt) => spanIdOf(id, attempt));
  expect(spans[0]).toBe("a3ce929d0e0e4736");
  expect(new Set(spans).size).toBe(5);
  for (const span of spans) expect(span).toMatch(/^[0-9a-f]{16}$/);
});
