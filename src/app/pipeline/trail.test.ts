import { expect, test } from "vitest";
import { exchangeOf, principalWith } from "../../../tests/support/handled.ts";
import { fault } from "../../contract/faults.ts";
import { ROUTES } from "../../contract/routes.ts";
import { systemClock } from "../../kit/clock.ts";
import { Trail } from "./trail.ts";

test("LOG-03 what a caller or a provider names as it likes is cut in the record, whatever let it through", () => {
  const [route] = ROUTES;
  if (route === undefined) throw new Error("there is no route");
  const long = "x".repeat(5000);
  const headers = { "x-title": long, "x-client-request-id": long };
  const trail = new Trail(exchangeOf(route, { headers }), principalWith(), "embeddings", systemClock);
  trail.modelRequested = long;
  trail.upstreamId = long;
  const record = trail.refuse(fault("model_not_found", { message: long }));
  expect(record).toMatchObject({
    app: "x".repeat(128),
    clientRequestId: "x".repeat(128),
    modelRequested: "x".repeat(256),
    upstreamId: "x".repeat(256),
  });
  expect(JSON.stringify(record).length).toBeLessThan(2000);
});
