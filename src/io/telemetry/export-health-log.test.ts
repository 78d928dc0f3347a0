import { expect, test } from "vitest";
import { exportHealthLog } from "./export-health-log.ts";

test("OPS-03 a receiver that is away is named once, without what is secret in its address, and once when it is back", () => {
  const said: string[] = [];
  const note = (level: string) => (detail: object, message?: string) => {
    said.push(`${level} ${JSON.stringify(detail)} ${message}`);
  };
  const heard = exportHealthLog("http://user:pass@collector:4318/in?token=abc", "traces", {
    warn: note("warn"),
    info: note("info"),
  });
  for (const result of ["sent", "later", "refused", "later", "sent", "sent", "later"] as const) heard(result);
  expect(said.map((line) => line.split(" ")[0])).toEqual(["warn", "info", "warn"]);
  expect(said[0]).toContain("http://collector:4318");
  expect(said[0]).toContain("OTEL_EXPORTER_OTLP_ENDPOINT");
  expect(said.join()).not.toMatch(/pass|abc/);
});
