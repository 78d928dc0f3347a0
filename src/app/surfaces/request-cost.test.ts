import { expect, test } from "vitest";
import { principalWith } from "../../../tests/support/catalogue-handlers.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { Fault } from "../../contract/faults.ts";
import { REQUEST_ROUTES } from "../../contract/routes/requests.ts";
import { type Handler, rejectUpload } from "../exchange.ts";
import { requestHandlers } from "./request-cost.ts";

/** Asks while the log does not get any further. */
async function lookups(handlers: Record<string, Handler>, id: string): Promise<string> {
  const route = REQUEST_ROUTES.find((one) => one.id === "getRequest");
  const handler = handlers["getRequest"];
  if (route === undefined || handler?.kind !== "buffered") throw new Error("no such handler");
  try {
    await handler.handle({
      requestId: "req_test",
      route,
      params: { id },
      query: new URLSearchParams(),
      headers: {},
      clientAddress: "127.0.0.1",
      receivedAtMs: 0,
      startedMs: 0,
      principal: principalWith(),
      baseHeaders: {},
      body: async () => Buffer.alloc(0),
      upload: rejectUpload,
    });
    return "found";
  } catch (error) {
    return error instanceof Fault ? error.code : String(error);
  }
}

test("BILL-10 while ingest lags, a foreign request is indistinguishable from an unknown one", async () => {
  const mine = finishedRecord("mine", { workspaceId: principalWith().workspace.id });
  const theirs = finishedRecord("theirs", { workspaceId: "ws_of_others" });
  const handlers = requestHandlers({
    log: { find: async (id) => [mine, theirs].find((record) => record.id === id) },
    timers: { after: (_ms, then) => setTimeout(then, 1) },
    waitForIngest: () => new Promise(() => undefined),
  });
  expect(await lookups(handlers, "mine")).toBe("found");
  expect(await lookups(handlers, "theirs")).toBe(await lookups(handlers, "never was"));
});
