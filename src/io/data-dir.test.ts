import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { ensureDataDir } from "./data-dir.ts";

function folderForTest(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-data-dir-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const STARTS = 4;
const ROUNDS = 60;

/** In each round all threads meet at a barrier and then create the same folders. */
const START = `
const { parentPort, workerData } = require("node:worker_threads");
const { module, folder, here, starts, rounds, own } = workerData;
import(module).then(({ ensureDataDir }) => {
  const arrived = new Int32Array(here);
  const problems = [];
  for (let round = 0; round < rounds; round += 1) {
    Atomics.add(arrived, round, 1);
    while (Atomics.load(arrived, round) < starts);
    const problem = ensureDataDir([folder, round, "data", own].join("/"));
    if (problem !== undefined) problems.push(problem);
  }
  parentPort.postMessage(problems);
});`;

test("SCALE-02 concurrent first starts create the missing folders without failing on each other", async () => {
  const shared = {
    module: new URL("./data-dir.ts", import.meta.url).href,
    folder: folderForTest(),
    here: new SharedArrayBuffer(4 * ROUNDS),
    ...{ starts: STARTS, rounds: ROUNDS },
  };
  const started = Array.from({ length: STARTS }, (_, at) => {
    const workerData = { ...shared, own: `own-${at % 2}` };
    const worker = new Worker(START, { eval: true, workerData, execArgv: [] });
    return new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  });
  expect(await Promise.all(started)).toEqual(Array.from({ length: STARTS }, () => []));
});

test("OPS-05 a file in place of the folder is reported by its error code", () => {
  const file = path.join(folderForTest(), "file");
  writeFileSync(file, "");
  expect([ensureDataDir(file), ensureDataDir(path.join(file, "data"))]).toEqual(["EEXIST", "EEXIST"]);
});
