import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startUpstream } from "../../../tests/support/upstream.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import { createHttpClient } from "../../http1/client/http-client.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import { catalogueFiles } from "../catalogue-files.ts";
import { probeCredential } from "./probe-credential.ts";

const CATALOGUE = path.resolve(import.meta.dirname, "../../../catalogue");
const LIMITS = { connections: 1, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

test.each([
  ["good-key", { result: "accepted", status: 200 }],
  ["bad\nkey", { result: "unclear", status: null, detail: "mistral is unreachable" }],
])("BILL-08 the probe of key %j ends, also if no header can carry it", async (token, found) => {
  const loaded = await loadCatalogue([CATALOGUE], Date.UTC(2026, 10, 15), catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const upstream = await startUpstream({ json: { data: [] } });
  const transport = createHttpClient(LIMITS);
  onTestFinished(() => Promise.all([upstream.close(), transport.close()]).then(() => undefined));
  const parts = {
    ...{ transport, clock: systemClock, timers: systemTimers, snapshot: loaded.snapshot, owner: undefined },
    baseUrl: () => upstream.url,
  };
  expect(await probeCredential("mistral", { kind: "bearer", token }, parts)).toMatchObject(found);
});
