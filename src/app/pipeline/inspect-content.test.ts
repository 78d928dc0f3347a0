import { expect, test } from "vitest";
import { OPEN_POLICY } from "../../domain/tenancy/policy.ts";
import { ContentInspection } from "./inspect-content.ts";

const EMAIL = "jane.doe@mail.example.eu";

test("CLASS-02 a long request is inspected in turns, between which other work runs", async () => {
  const inspection = new ContentInspection({ messages: [{ content: `${"word ".repeat(100_000)}${EMAIL}` }] });
  let others = 0;
  let isFinished = false;
  const work = () => {
    others++;
    if (!isFinished) setImmediate(work);
  };
  setImmediate(work);
  await inspection.finish();
  isFinished = true;
  expect(others).toBeGreaterThanOrEqual(7);
  expect(inspection.counts).toEqual({ personal: 1 });
});

test("CLASS-02 what was not inspected before is inspected when a rule asks for it", () => {
  const inspection = new ContentInspection({ a: ["x", { b: `to ${EMAIL}` }] });
  expect(inspection.apply(OPEN_POLICY, { personal: { floor: "L2" } }).floor).toBe("L2");
  expect(() => inspection.apply(OPEN_POLICY, { personal: { action: "block" } })).toThrow("at a[1].b, offset 3");
  expect(inspection.apply(OPEN_POLICY, { secret: { action: "block" } })).toBe(OPEN_POLICY);
});
