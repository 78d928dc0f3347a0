import { expect, test } from "vitest";
import { exportHealthLog } from "./export-health-log.ts";

test("OPS-03 a failing receiver is logged once without secrets of its address, and once when it recovers", () => {
  const lines: string[] = [];
  const record = (level: string) => (detail: object, message?: string) => {
    lines.push(`${level} ${JSON.stringify(detail)} ${message}`);
  };
  const onExport = exportHealthLog("http://user:pass@collector:4318/in?token=abc", "traces", {
    warn: record("warn"),
    info: record("info"),
  });
  for (const result of ["sent", "later", "refused", "later", "sent", "sent", "later"] as const) onExport(result);
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["warn", "info", "warn"]);
  expect(lines[0]).toContain("http://collector:4318");
  expect(lines[0]).toContain("OTEL_EXPORTER_OTLP_ENDPOINT");
  expect(lines.join()).not.toMatch(/pass|abc/);
});
