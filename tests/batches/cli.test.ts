import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatLine, jsonLines } from "../support/batches.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let folder: string;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
  folder = await mkdtemp(path.join(os.tmpdir(), "batch-cli-"));
  await writeFile(path.join(folder, "key"), tenant.key);
  await writeFile(path.join(folder, "in.jsonl"), jsonLines([chatLine("a"), chatLine("b", "hi", "no/such-model")]));
});
afterAll(async () => {
  await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

const batch = (...words: string[]) => gateway.cli("batch", ...words, "--key-file", path.join(folder, "key"));

test("BATCH-03 the command line runs a file, shows its progress, and prints results and errors", async () => {
  const created = await batch("create", path.join(folder, "in.jsonl"), "--follow", "--json");
  expect([created.code, created.stderr]).toEqual([0, expect.stringContaining("2/2 completed, 1 failed")]);
  const { id, status }: Json = created.json;
  expect(status).toBe("completed");
  expect((await batch("list")).stdout).toMatch(new RegExp(`${id} +completed +/v1/chat/completions +2 +2 +1 `));
  const shown: Json = (await batch("show", id, "--json")).json;
  expect(shown.svc.requests).toEqual({ total: 2, ended: 2 });
  const [good, bad] = [await batch("results", id), await batch("results", id, "--errors")];
  expect([JSON.parse(good.stdout).custom_id, JSON.parse(bad.stdout).custom_id]).toEqual(["a", "b"]);
  const cancelled = await batch("cancel", id);
  expect([cancelled.code, cancelled.stderr]).toEqual([1, expect.stringContaining("is completed")]);
});

test("BATCH-03 a file that does not exist is named before anything is sent", async () => {
  const missing = await batch("create", path.join(folder, "none.jsonl"));
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("none.jsonl")]);
});
