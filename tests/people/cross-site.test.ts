import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { exchange, only } from "../edge/wire.ts";
import type { Json } from "../support/gateway.ts";
import { gatewayForTest } from "../support/gateway.ts";
import { ask, MANAGED, type Managed, openScene, paramsOf, pathOf, type Scene } from "./permission-scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene({ GATEWAY_CORS_ORIGINS: "*" });
}, 60_000);
afterAll(() => scene.gateway.close());

const title = (route: Managed) => `${route.method} ${route.path}`;
const CHANGING = MANAGED.filter(({ method }) => method !== "GET").map((route) => [title(route), route] as const);
const READING = MANAGED.filter(({ method }) => method === "GET").map((route) => [title(route), route] as const);

/** The path of a route with existing resources. */
function realPath(route: Managed): string {
  const { alpha } = scene;
  const { of } = route.access;
  const id = of === "key" || of === "request" || of === "capture" ? alpha[of] : alpha.order;
  return pathOf(route, { workspace: "alpha", id, email: alpha.member, router: alpha.router, provider: alpha.provider });
}

/** What foreign pages send with the cookie of the most powerful person. */
function foreign(url: string): readonly Record<string, string>[] {
  return [
    {},
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: `${url}.evil.example` },
    { origin: url.replace("127.0.0.1", "localhost") },
    { origin: url.replace("http:", "https:") },
    { origin: url, "sec-fetch-site": "cross-site" },
    { origin: url, "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "same-origin" },
    { origin: "https://evil.example", "content-type": "text/plain" },
    { origin: "https://evil.example", "content-type": "application/x-www-form-urlencoded" },
    { "content-type": "multipart/form-data; boundary=x" },
  ];
}

const audit = async (): Promise<Json[]> => (await scene.gateway.manage("GET", "/audit?limit=1000")).data;

describe("with a person's cookie", () => {
  test.each(CHANGING)("PORTAL-11 %s changes nothing from a foreign page", async (_, route) => {
    const { gateway, callers } = scene;
    const { cookie } = callers["operator person"];
    const before = await audit();
    const answers = await Promise.all(
      foreign(gateway.url).map((headers) =>
        gateway.call("", realPath(route), {
          method: route.method,
          headers: { cookie, ...headers },
          ...(route.body === undefined ? {} : { body: route.example?.body ?? {} }),
        }),
      ),
    );
    expect(answers.map(({ status, body }) => `${status} ${body.error?.code}`)).toEqual(
      answers.map(() => "403 cross_site_request"),
    );
    expect(await audit()).toEqual(before);
  });

  test.each(READING)("PORTAL-11 %s changes nothing for any reader", async (_, route) => {
    const before = await audit();
    for (const caller of ["operator person", "owner", "member"] as const)
      expect((await ask(scene, route, realPath(route), scene.callers[caller])).status).toBeLessThan(500);
    expect(await audit()).toEqual(before);
  });

  test.each(["PATCH /manage/workspaces/alpha/key-policy", "POST /manage/auth/sign-out"])(
    "PORTAL-11 %s: a foreign host name that resolves here is refused",
    async (call) => {
      const { gateway, callers } = scene;
      const { cookie } = callers["operator person"];
      const named = `Host: evil.example\r\nOrigin: http://evil.example\r\nCookie: ${cookie}\r\n`;
      const head = `${call} HTTP/1.1\r\n${named}Content-Length: 2\r\nConnection: close\r\n\r\n`;
      const answer = only(await exchange(gateway.url, [head, "{}"]));
      expect([answer.status, answer.json]).toMatchObject([403, { error: { code: "cross_site_request" } }]);
    },
  );

  test("PORTAL-11 accepts a change from a portal page", async () => {
    const { gateway, callers } = scene;
    const path = "/manage/workspaces/alpha/key-policy";
    const answer = await gateway.call("", path, {
      method: "PATCH",
      body: { personal_keys: true },
      headers: callers.owner,
    });
    expect(answer.status).toBe(200);
  });

  test("PORTAL-11 management and operator tokens need no origin", async () => {
    const { gateway, callers } = scene;
    for (const caller of ["operator token", "write token"] as const) {
      const headers = { ...callers[caller], origin: "https://somewhere.example", "sec-fetch-site": "cross-site" };
      const path = "/manage/workspaces/alpha/key-policy";
      const answer = await gateway.call("", path, { method: "PATCH", body: { personal_keys: true }, headers });
      expect(answer.status, caller).toBe(200);
    }
  });
});

/** Public routes: sign-in, set-up, invitations. */
const OPEN = ROUTES.filter(
  ({ access, method, path }) => access.by === "anyone" && method !== "GET" && path.startsWith("/manage/"),
);

test.each(OPEN.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "PORTAL-11 %s: a foreign page signs no one in and adds no member",
  async (_, route) => {
    const { gateway, callers } = scene;
    const path = route.path.replace("{rest+}", "sign-in/email").replace("{token}", "nothing");
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.example", cookie: callers.owner.cookie },
      { cookie: callers.owner.cookie },
    ]) {
      const answer = await gateway.call("", path, { method: route.method, body: route.example?.body ?? {}, headers });
      expect([answer.status, answer.body.error?.code], JSON.stringify(headers)).toEqual([403, "cross_site_request"]);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  },
);

describe("responses of the management API", () => {
  test("PORTAL-11 are never readable by other origins, whatever CORS allows elsewhere", async () => {
    const { gateway, callers } = scene;
    const origin = "https://evil.example";
    const open = await gateway.call("", "/v1/public/models?limit=1", { headers: { origin } });
    expect(open.headers.get("access-control-allow-origin")).toBe("*");
    const paths = new Set([
      ...MANAGED.map(realPath),
      "/manage/me",
      "/manage/setup",
      "/manage/auth/get-session",
      "/manage/nothing",
    ]);
    for (const path of paths)
      for (const init of [
        { headers: { ...callers["operator person"], origin } },
        { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } },
      ]) {
        const answer = await gateway.call("", path, init);
        const corsHeaders = [...answer.headers.keys()].filter((name) => name.startsWith("access-control"));
        expect(corsHeaders, path).toEqual([]);
      }
  });

  test("PORTAL-11 are not cacheable and carry nosniff, errors included", async () => {
    const { gateway, callers } = scene;
    const paths = [...READING.map(([, route]) => realPath(route)), "/manage/me", "/manage/nothing"];
    for (const path of paths)
      for (const caller of ["operator person", "anonymous"] as const) {
        const { headers } = await gateway.call("", path, { headers: callers[caller] });
        expect([path, headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
          path,
          "no-store",
          "nosniff",
        ]);
      }
  });

  test("PORTAL-11 contain no secret that was created or sent: key, token, cookie, password or own key", async () => {
    const { callers, secrets, alpha, beta, people } = scene;
    const cookies = Object.values(people).flatMap((browser) =>
      [...browser.cookies.values()].map((value) => value.split(".")[0] ?? ""),
    );
    const hidden = [
      ...secrets,
      alpha.keySecret,
      beta.keySecret,
      alpha.memberKeySecret,
      "own-key-of-alpha-4b825dc6",
      "three green bicycles",
      "secret-of-payments-7215ee9c7d9dc229d2921a40e899ec5f",
      ...cookies,
    ].filter((secret) => secret.length > 8);
    for (const [, route] of READING)
      for (const caller of ["operator token", "operator person", "owner", "member"] as const) {
        const { text } = await ask(scene, route, realPath(route), callers[caller]);
        for (const secret of hidden) expect(text.includes(secret), `${route.id} shows ${secret}`).toBe(false);
      }
  });

  test("PORTAL-11 bodies have their own size limit on every route", async () => {
    const tooLarge = MANAGED.filter(
      ({ body, bodyMaxBytes }) => body !== undefined && (bodyMaxBytes ?? Infinity) > 8 * 1024 * 1024,
    );
    expect(tooLarge.map(({ id }) => id)).toEqual([]);
    const path = "/manage/workspaces/alpha/key-policy";
    const body = { personal_keys: true, padding: "x".repeat(1024 * 1024) };
    const answer = await scene.gateway.call("", path, { method: "PATCH", body, headers: scene.callers.owner });
    expect([answer.status, answer.body.error.code]).toEqual([413, "request_too_large"]);
  });
});

describe("rate limits", () => {
  test("PORTAL-11 each token has its own calls per minute", async () => {
    const gateway = await gatewayForTest({ env: { GATEWAY_RPM_MANAGE: "3" } });
    const token = async () =>
      (await gateway.manage("POST", "/workspaces/demo/tokens", { name: "rate", access: "read" })).token;
    const [busy, calm] = [await token(), await token()];
    const ask = (secret: string) => gateway.call(secret, "/manage/workspaces/demo");
    for (let at = 0; at < 3; at += 1) expect((await ask(busy)).status).toBe(200);
    const over = await ask(busy);
    expect([over.status, over.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask(calm)).status).toBe(200);
    for (let at = 0; at < 5; at += 1) expect((await ask(gateway.adminToken)).status).toBe(200);
  });

  test("PORTAL-11 a person has the same limit over all sessions", async () => {
    const limited = await openScene({ GATEWAY_RPM_MANAGE: "4" });
    try {
      const headers = limited.callers.owner;
      const statuses: number[] = [];
      for (let at = 0; at < 6; at += 1)
        statuses.push((await limited.gateway.call("", "/manage/workspaces/alpha", { headers })).status);
      expect(statuses.slice(0, 4)).toEqual([200, 200, 200, 200]);
      expect(statuses.slice(4)).toEqual([429, 429]);
      const other = await limited.gateway.call("", "/manage/workspaces/alpha", { headers: limited.callers.admin });
      expect(other.status).toBe(200);
    } finally {
      await limited.gateway.close();
    }
  }, 60_000);
});

test("PORTAL-11 every path parameter has a value here", () => {
  expect(MANAGED.filter((route) => paramsOf(route).length > 0 && realPath(route).includes("{")).map(title)).toEqual([]);
});
