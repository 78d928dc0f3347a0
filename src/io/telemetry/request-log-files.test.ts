import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HOUR_MS } from "../../kit/time.ts";
import { RequestLogFiles } from "./request-log-files.ts";

test("OPS-03 files rotate by size and age, expired ones are deleted, foreign files stay", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-log-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let nowMs = Date.UTC(2026, 10, 15, 9);
  const files = new RequestLogFiles({
    folder,
    writer: "abc123",
    fileMaxBytes: 10,
    fileMaxAgeMs: HOUR_MS,
    retentionMs: 24 * HOUR_MS,
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
  });
  onTestFinished(() => files.close());
  const contents = () =>
    readdirSync(folder)
      .toSorted()
      .map((name) => readFileSync(path.join(folder, name), "utf8"));
  writeFileSync(path.join(folder, "notes.txt"), "mine");
  await files.append("1234\n");
  await files.append("5678\n");
  expect(contents()).toEqual(["mine", "1234\n5678\n"]);
  nowMs += 1;
  await files.append("a line that is longer than a file may be\n");
  nowMs += 1;
  await files.append("9\n");
  expect(contents()).toEqual(["mine", "1234\n5678\n", "a line that is longer than a file may be\n", "9\n"]);
  nowMs += HOUR_MS;
  await files.append("later\n");
  expect(readdirSync(folder).toSorted().at(-1)).toBe("requests-20261115T100000002Z-abc123.jsonl");
  expect(contents()).toHaveLength(5);
  nowMs += 24 * HOUR_MS - 1;
  await files.append("next day\n");
  expect(contents()).toEqual(["mine", "later\n", "next day\n"]);
});

test("OPS-03 lines go to a new file when the open one was deleted, moved or replaced", async () => {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), "gateway-log-files-")), "log");
  onTestFinished(() => rmSync(path.dirname(folder), { recursive: true, force: true }));
  let nowMs = Date.UTC(2026, 10, 15, 9);
  const limits = { fileMaxBytes: 1e6, fileMaxAgeMs: HOUR_MS, retentionMs: null };
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const files = new RequestLogFiles({ folder, writer: "abc123", ...limits, clock });
  onTestFinished(() => files.close());
  const only = () => {
    const names = readdirSync(folder);
    expect(names).toHaveLength(1);
    return path.join(folder, names[0] ?? "");
  };
  await files.append("one\n");
  rmSync(folder, { recursive: true });
  await files.append("two\n");
  expect(readFileSync(only(), "utf8")).toBe("two\n");
  nowMs += 1;
  renameSync(only(), path.join(path.dirname(folder), "shipped.jsonl"));
  await files.append("three\n");
  expect(readFileSync(only(), "utf8")).toBe("three\n");
  const open = only();
  nowMs += 1;
  rmSync(open);
  writeFileSync(open, "");
  await files.append("four\n");
  expect(readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"))).toEqual(["", "four\n"]);
});
