import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { isReservedClassName } from "../../src/domain/tenancy/custom-class.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { ROUTE_EXAMPLES, routesWithAccess } from "./route-examples.ts";
import { CHAT, exchange, expectRefusal, expectWireEnvelope, HELLO, only } from "./wire.ts";

let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
  ({ key } = await gateway.tenant({ key: { rpm: 100_000 } }));
});
afterAll(() => gateway.close());

describe("paths", () => {
  test("GEN-01 every path that needs a key, and the public catalogue, are under /v1", () => {
    const outside = ROUTE_EXAMPLES.filter(
      ({ route }) => route.access.by === "key" || route.path.includes("/public/"),
    ).filter(({ path }) => !path.startsWith("/v1/"));
    // The compatible shape of another service has a separate base URL, which also ends in /v1 (DEC-15). Cohere's client chooses
    // the version itself.
    const others = outside.filter(({ path }) => !path.startsWith("/v1beta/"));
    expect(others.map(({ path }) => path)).toEqual(["/v2/rerank", "/openai/v1/decisions"]);
  });

  test.each([
    ["/chat/completions", HELLO],
    ["/models", undefined],
    ["/models/sandbox/chat", undefined],
    ["/models/nothing/here", undefined],
    ["/messages", {}],
    ["/messages/count_tokens", {}],
    ["/responses", {}],
    ["/decisions", {}],
    ["/responses/resp_1", undefined],
  ])("GEN-01 %s answers the same without /v1, with a trailing slash and with a query", async (bare, body) => {
    const summarize = async (where: string) => {
      const answer = await gateway.call(key, where, body === undefined ? {} : { body });
      const { id: _, created: __, request_id: ___, error, ...rest } = answer.body;
      return { status: answer.status, code: error?.code, rest, surface: answer.headers.get("x-svc-upstream-surface") };
    };
    const wanted = await summarize(`/v1${bare}`);
    for (const where of [bare, `${bare}/`, `/v1${bare}/`, `/v1${bare}?beta=true`, `${bare}?beta=true`, `/v1${bare}?`])
      expect(await summarize(where), where).toEqual(wanted);
  });

  test("GEN-01 other paths need their version", async () => {
    for (const where of ["/auth/validate", "/public/models", "/embeddings"])
      expectRefusal(await gateway.call(key, where), 404, "not_found");
  });

  test("GEN-01 an absolute-form request target is read by its path, as a proxy sends it", async () => {
    const head = `Host: elsewhere.example\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
    const answer = only(await exchange(gateway.url, [`GET http://elsewhere.example/v1/models HTTP/1.1\r\n${head}`]));
    expect(answer.status).toBe(200);
    expect(only(await exchange(gateway.url, [`GET http://elsewhere.example HTTP/1.1\r\n${head}`])).status).toBe(200);
  });

  test.each([
    "/v1",
    "/v1/",
    "/v2/models",
    "/v1/nothing",
    "/v1/chat",
    "/v1/chat/completions/extra",
    "/V1/models",
    "/v1//models",
    "/v1/../healthz",
    "/v1/%2e%2e/healthz",
    "/v1/models/%zz",
    "/v1/models/%ff",
    "/manage",
    "/.env",
    "/docs/assets/../../../package.json",
    "/__proto__",
    "/constructor",
  ])("GEN-04 nothing is at %s: 404 not_found, with and without credentials", async (path) => {
    for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
      const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
      const answer = only(await exchange(gateway.url, [head]));
      expect(answer.status).toBe(404);
      expect(expectWireEnvelope(answer)).toMatchObject({ code: "not_found", type: "not_found_error" });
    }
  });

  test.each(["..%2f..%2fpackage.json", "%2e%2e%2fpackage.json", "..%5cpackage.json", "%00", "."])(
    "GEN-04 no file outside its folder is served as /docs/assets/%s",
    async (name) => {
      const head = `GET /docs/assets/${name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const answer = only(await exchange(gateway.url, [head]));
      expect(answer.status).toBe(404);
      expect(expectWireEnvelope(answer)).toMatchObject({ code: "not_found" });
    },
  );
});

describe("every route", () => {
  test("GEN-04 a workspace defines no data class whose name is a fixed word of a path", () => {
    const folder = "/manage/workspaces/{workspace}/data-classes/";
    const last = ROUTES.filter(({ path }) => path.startsWith(folder)).map(({ path }) => path.slice(folder.length));
    const words = new Set(last.filter((word) => word !== "{class}"));
    expect([...words]).toEqual(["test", "report"]);
    expect([...words].filter((word) => !isReservedClassName(word))).toEqual([]);
  });

  const withoutBody = (method: string) => method === "GET" || method === "HEAD";

  test.each(ROUTE_EXAMPLES.map(({ title, path }) => [title, path] as const))(
    "GEN-04 %s: every other method is 405 with Allow",
    async (_, path) => {
      const methods = ROUTE_EXAMPLES.filter((example) => example.path === path).map(({ route }) => route.method);
      const allowed: string[] = [...new Set(methods)];
      if (allowed.includes("GET")) allowed.push("HEAD");
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]) {
        if (allowed.includes(method)) continue;
        const length = withoutBody(method) ? "" : "Content-Length: 0\r\n";
        const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\n${length}Connection: close\r\n\r\n`;
        const answer = only(await exchange(gateway.url, [head]));
        expect(answer.status).toBe(405);
        expect(expectWireEnvelope(answer)).toMatchObject({ code: "method_not_allowed", type: "invalid_request_error" });
        expect(answer.headers.get("allow")?.split(", ").toSorted()).toEqual(allowed.toSorted());
      }
    },
  );

  test.each(routesWithAccess("key").map(({ title, path, route }) => [title, route.method, path] as const))(
    "AUTH-08 AUTH-03 AUTH-06 %s without a key is 401 missing_api_key",
    async (_, method, path) => {
      const answer = await gateway.call("", path, { method, ...(withoutBody(method) ? {} : { body: HELLO }) });
      expect(expectRefusal(answer, 401, "missing_api_key")["type"]).toBe("authentication_error");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
    },
  );

  test.each(routesWithAccess("manager").map(({ title, path, route }) => [title, route.method, path] as const))(
    "AUTH-08 AUTH-06 %s needs the operator token: a key, the token in x-api-key and nothing are 401",
    async (_, method, path) => {
      const body = withoutBody(method) ? {} : { body: {} };
      for (const [sent, headers] of [
        ["", {}],
        [key, {}],
        [gateway.key, {}],
        ["", { "x-api-key": gateway.adminToken }],
        [gateway.adminToken.slice(0, -1), {}],
        [`${gateway.adminToken}x`, {}],
      ] as const) {
        const answer = await gateway.call(sent, path, { method, headers, ...body });
        expectRefusal(answer, 401, "invalid_admin_token");
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
    },
  );

  test("AUTH-08 only the public catalogue, the documents, the pages and the operations need no key", () => {
    const open = routesWithAccess("anyone").map(({ route }) => route.path);
    expect(
      open.filter(
        (path) =>
          !/^\/v1\/public\/|^\/docs|^\/(?:llms\.txt|healthz|readyz|metrics|app|device|status|node\/agent\.mjs)?$|^\/app\//.test(
            path,
          ),
      ),
    ).toEqual([
      // The payment provider has no key: its messages are verified by signature.
      "/payments/{adapter}/webhook",
      // A login has no session yet: covered by tests/people.
      "/manage/auth/{rest+}",
      "/manage/auth/{rest+}",
      "/manage/setup",
      "/manage/setup",
      "/manage/invitations/{token}",
      "/manage/invitations/{token}/accept",
      "/manage/sign-up",
      "/manage/sign-up",
      "/manage/sign-up/finish",
      "/manage/me",
      // Nodes authenticate with their own token over WebSocket: covered by tests/nodes.
      "/nodes/connect",
    ]);
  });

  test.each(
    routesWithAccess("anyone")
      .filter(({ path }) => !path.includes("nothing") && !path.startsWith("/manage/") && path !== "/nodes/connect")
      .map(({ title, path }) => [title, path] as const),
  )("AUTH-08 %s is public, also with an invalid key, and HEAD has no body", async (_, path) => {
    for (const sent of ["", "sk_svc_live_nobody"]) expect((await gateway.call(sent, path)).status).toBe(200);
    const head = await gateway.call("", path, { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers.get("x-svc-request-id")).toMatch(/^req_/);
  });

  test("AUTH-08 the operator token is not accepted on routes for keys", async () => {
    expectRefusal(await gateway.call(gateway.adminToken, CHAT, { body: HELLO }), 401, "invalid_api_key");
  });
});
