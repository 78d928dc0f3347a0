import { afterAll, beforeAll, expect, test } from "vitest";
import { send } from "../../portal/src/api/client.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** In the place of the gateway. */
let server: Upstream;
beforeAll(async () => {
  server = await startUpstream();
});
afterAll(() => server.close());

const fetchOnce = (signal?: AbortSignal) => send("GET", `${server.url}/manage/me`, undefined, signal);
const json = { person: null };

test.each(["before_headers", "after_headers", 5] as const)(
  "PORTAL-01 an answer that breaks off is that of a gateway that cannot be reached: %s",
  async (after) => {
    server.next({ json, end: { is: "cut", after } });
    await expect(fetchOnce()).rejects.toMatchObject({
      name: "ApiError",
      status: 0,
      code: "unreachable",
      message: "Can't reach the gateway. Check your connection and try again.",
    });
  },
);

test("PORTAL-01 an error response that breaks off counts as unreachable", async () => {
  server.next({ status: 403, json: { error: { code: "not_allowed" } }, end: { is: "cut", after: 5 } });
  await expect(fetchOnce()).rejects.toMatchObject({ name: "ApiError", status: 0, code: "unreachable" });
});

test("PORTAL-01 a response aborted by the page is not reported as unreachable", async () => {
  server.next({ json, end: { is: "stall", after: 5 } });
  const leaving = new AbortController();
  const before = server.requests.length;
  const pending = fetchOnce(leaving.signal).catch((thrown: unknown) => thrown);
  await server.arrived(before + 1);
  leaving.abort();
  expect(await pending).toMatchObject({ name: "AbortError" });
});

test("PORTAL-01 a complete response is returned, and a complete error is thrown with its code", async () => {
  server.next({ json, headers: { connection: "close" } });
  expect(await fetchOnce()).toEqual(json);
  const error = { code: "not_allowed", message: "You may not.", request_id: "req_1" };
  server.next({ status: 403, json: { error } });
  await expect(fetchOnce()).rejects.toMatchObject({ status: 403, code: "not_allowed", requestId: "req_1" });
});
