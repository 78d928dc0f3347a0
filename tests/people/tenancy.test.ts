import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { tokenOf } from "../support/people.ts";
import {
  ask,
  bare,
  CHAT,
  kindOf,
  MANAGED,
  openScene,
  paramsOf,
  pathOf,
  type Scene,
  type Things,
} from "./permission-scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
}, 60_000);
afterAll(() => scene.gateway.close());

/** A name of the same form that does not exist. */
const invented = (name: string) => (name.includes("@") ? `zzzz${name.slice(4)}` : name.replace(/.{4}$/, "zzzz"));

/**
 * A call in the own workspace that names a resource: another workspace's one and a nonexistent one get the same
 * response.
 */
async function expectSameResponse(
  method: string,
  path: (name: string) => string,
  name: string,
  body?: (name: string) => unknown,
) {
  const send = async (one: string) => {
    const json = body?.(one);
    const answer = await scene.gateway.call("", path(one), {
      method,
      headers: scene.callers.owner,
      ...(json === undefined ? {} : { body: json }),
    });
    return { status: answer.status, text: bare(answer.text, one) };
  };
  const theirs = await send(name);
  expect(theirs).toEqual(await send(invented(name)));
  return theirs;
}

/** They create what they name, whatever other workspaces have of that name. */
const MAKING: readonly string[] = ["managePutRouter", "managePutOwnKey", "managePutCustomClass"];

const INNER = MANAGED.filter(
  (route) =>
    route.access.of === "path" &&
    route.access.allows !== "operator" &&
    paramsOf(route).length > 1 &&
    !MAKING.includes(route.id),
).map((route) => [`${route.method} ${route.path}`, route] as const);

describe("ids of another workspace inside one's own", () => {
  test("PORTAL-11 every kind of resource in a path is known here", () => {
    const unknown = INNER.flatMap(([, route]) => paramsOf(route).filter((name) => kindOf(route, name) === undefined));
    expect(unknown).toEqual([]);
    expect(INNER.length).toBeGreaterThan(10);
  });

  test.each(INNER)("PORTAL-11 are not found, with the same error as nonexistent ones: %s", async (_, route) => {
    const { alpha, beta, callers } = scene;
    const inner = paramsOf(route).find((name) => name !== "workspace") ?? "";
    const kind: keyof Things = kindOf(route, inner) ?? "key";
    const send = async (name: string) => {
      const path = pathOf(route, { workspace: alpha.workspace, [inner]: name });
      const answer = await ask(scene, route, path, callers.owner);
      return { status: answer.status, text: bare(answer.text, name) };
    };
    // Providers are a closed list of the catalogue: the other one is one without a key in this workspace.
    const missing = inner === "provider" ? "openai" : invented(beta[kind]);
    const theirs = await send(beta[kind]);
    expect(theirs).toEqual(await send(missing));
    expect(theirs.status).toBe(404);
  });

  test("PORTAL-11 in queries and bodies they get the response of nonexistent ones", async () => {
    const { alpha, beta } = scene;
    const at = `/manage/workspaces/${alpha.workspace}`;
    const plain = (path: string) => () => path;
    expect((await expectSameResponse("GET", (key) => `${at}/limits?key=${key}`, beta.key)).status).toBe(404);
    expect((await expectSameResponse("GET", (one) => `${at}/limits?member=${one}`, beta.member)).status).toBe(404);
    expect(
      (await expectSameResponse("PUT", plain(`${at}/limits`), beta.key, (key) => ({ key, day: "1" }))).status,
    ).toBe(404);
    expect(
      (await expectSameResponse("PUT", plain(`${at}/limits`), beta.member, (member) => ({ member, day: "1" }))).status,
    ).toBe(404);
    const capture = await expectSameResponse("POST", plain(`${at}/capture-windows`), beta.key, (key) => ({
      minutes: 1,
      keys: [key],
    }));
    expect(capture.status).toBe(400);
    const explained = await expectSameResponse("POST", plain(`${at}/routing/explain`), beta.key, (key) => ({
      key,
      request: CHAT,
    }));
    expect(explained.status).toBe(400);
    await expectSameResponse("POST", plain(`${at}/keys`), beta.member, (member) => ({ member }));
    await expectSameResponse("GET", (workspace) => `/manage/providers?workspace=${workspace}`, beta.workspace);
    await expectSameResponse("GET", (workspace) => `/manage/audit?workspace=${workspace}`, beta.workspaceId);
    await expectSameResponse(
      "GET",
      (target) => `/manage/audit?workspace=${alpha.workspace}&target=${target}`,
      beta.key,
    );
  });

  test.each(["key", "member"])(
    "PORTAL-11 a filter by another workspace's %s finds nothing, in lists, exports, usage and replays",
    async (name) => {
      const { gateway, alpha, beta, callers } = scene;
      const at = `/manage/workspaces/${alpha.workspace}`;
      const value = name === "key" ? beta.key : beta.memberId;
      for (const path of [`${at}/requests?${name}=${value}`, `${at}/usage?${name}=${value}&env=all`]) {
        const { status, body } = await gateway.call("", path, { headers: callers.owner });
        expect([status, body.data], path).toEqual([200, []]);
      }
      expect((await gateway.call("", `${at}/requests/export?${name}=${value}`, { headers: callers.owner })).text).toBe(
        "",
      );
      if (name !== "key") return;
      const replayed = await gateway.call("", `${at}/routers/auto/replay`, {
        body: { key: beta.key },
        headers: callers.owner,
      });
      expect(replayed.body).toMatchObject({ found: 0 });
    },
  );

  test("PORTAL-11 a cursor of another workspace's list reveals nothing", async () => {
    const { gateway, alpha, beta, callers } = scene;
    const lists = MANAGED.filter(
      ({ method, query, access }) =>
        method === "GET" &&
        access.allows !== "operator" &&
        access.allows !== "person" &&
        query !== undefined &&
        "cursor" in query.shape,
    );
    expect(lists.length).toBeGreaterThan(8);
    for (const route of lists) {
      const send = async (of: Things, headers: Record<string, string>, more: string) => {
        const path = pathOf(route, { ...of, id: "" });
        const answer = await gateway.call("", `${path}${path.includes("?") ? "&" : "?"}${more}`, { headers });
        expect([200, 404], `${path} ${answer.text}`).toContain(answer.status);
        return answer.body.data ?? [];
      };
      const theirs = await gateway.call("", `${pathOf(route, beta)}${route.access.of === "query" ? "&" : "?"}limit=1`, {
        headers: callers["owner of another workspace"],
      });
      const cursor = theirs.body.next ?? Buffer.from("9999999999999.zzzz").toString("base64url");
      const mine: Json[] = await send(alpha, callers.owner, "limit=1000");
      const shown: Json[] = await send(alpha, callers.owner, `limit=1000&cursor=${encodeURIComponent(cursor)}`);
      const known = mine.map((row) => JSON.stringify(row));
      expect(
        shown.filter((row) => !known.includes(JSON.stringify(row))),
        route.id,
      ).toEqual([]);
    }
  });

  test("PORTAL-11 a refund goes to the request's own workspace only", async () => {
    const { gateway, alpha, beta } = scene;
    const path = `/manage/workspaces/${alpha.workspace}/wallet/refunds`;
    const send = async (request: string) => {
      const body = { request, reference: "matrix", reason: "none" };
      const answer = await gateway.call(gateway.adminToken, path, { body });
      return { status: answer.status, text: bare(answer.text, request) };
    };
    expect(await send(beta.request)).toEqual(await send(invented(beta.request)));
    expect((await send(beta.request)).status).toBe(404);
  });

  test("PORTAL-11 equal names of routers, orders and limits in two workspaces do not conflict", async () => {
    const { gateway, alpha, beta, callers } = scene;
    const at = (things: Things) => `/manage/workspaces/${things.workspace}`;
    const router = { weights: { cost: 1 } };
    const put = await gateway.call("", `${at(alpha)}/routers/${beta.router}`, {
      method: "PUT",
      body: router,
      headers: callers.owner,
    });
    expect(put.body).toMatchObject({ version: 1, weights: { cost: 1 } });
    const theirs = await gateway.manage("GET", `/workspaces/${beta.workspace}/routers/${beta.router}`);
    expect(theirs).toMatchObject({ version: 1, weights: { latency: 1 } });
    const order = { amount: "5", currency: "EUR", reference: "order-beta" };
    const made = await gateway.call("", `${at(alpha)}/wallet/orders`, { body: order, headers: callers.owner });
    expect([made.status, made.body.repeated, made.body.id === beta.order]).toEqual([201, false, false]);
  });
});

describe("a member", () => {
  const at = "/manage/workspaces/alpha";
  const send = (path: string, init: Parameters<Scene["gateway"]["call"]>[2] = {}) =>
    scene.gateway.call("", path, { ...init, headers: scene.callers.member });

  test("PORTAL-11 sees only their own keys, requests and usage", async () => {
    const { alpha } = scene;
    const ids = (body: Json) => body.data.map((row: Json) => row.id);
    expect(ids((await send(`${at}/keys`)).body)).toEqual([alpha.memberKey]);
    expect(ids((await send(`${at}/requests`)).body)).toEqual([alpha.memberRequest]);
    const exported = (await send(`${at}/requests/export`)).text.trim().split("\n");
    expect(exported.map((line) => JSON.parse(line).id)).toEqual([alpha.memberRequest]);
    for (const group of ["key", "member", "model", "provider"]) {
      const { body } = await send(`${at}/usage?env=all&group=${group}`);
      expect(
        body.data.reduce((sum: number, row: Json) => sum + row.requests, 0),
        group,
      ).toBe(1);
    }
    const filtered = await send(`${at}/requests?key=${alpha.key}`);
    expect(filtered.body.data).toEqual([]);
    expect((await send(`${at}/usage?env=all&key=${alpha.key}`)).body.data).toEqual([]);
    for (const path of [`${at}/requests?member=owner@alpha.example`, `${at}/usage?member=absent@alpha.example`])
      expect((await send(path)).status).toBe(403);
    const used = async (headers: Record<string, string>) => {
      const { body } = await scene.gateway.call("", `${at}/policy/preview`, { body: {}, headers });
      return body.models.reduce((sum: number, row: Json) => sum + row.requests, 0);
    };
    expect(await used(scene.callers.member)).toBe(1);
    expect(await used(scene.callers.owner)).toBeGreaterThan(1);
  });

  test("PORTAL-11 sees their own limits, and not whether others' keys have any", async () => {
    const { alpha } = scene;
    expect((await send(`${at}/limits?member=${alpha.member}`)).body).toMatchObject({
      of: "member",
      member: alpha.member,
    });
    expect((await send(`${at}/limits?key=${alpha.memberKey}`)).body).toMatchObject({
      of: "key",
      key: alpha.memberKey,
    });
    expect((await send(`${at}/limits`)).status).toBe(403);
    expect((await send(`${at}/limits?member=owner@alpha.example`)).status).toBe(403);
    const theirs = await send(`${at}/limits?key=${alpha.key}`);
    const none = await send(`${at}/limits?key=${invented(alpha.key)}`);
    expect([theirs.status, bare(theirs.text, alpha.key)]).toEqual([404, bare(none.text, invented(alpha.key))]);
  });

  test("PORTAL-11 explains routing with their own keys only: others' policies stay hidden", async () => {
    const { alpha } = scene;
    const explained = (key: string) => send(`${at}/routing/explain`, { body: { key, request: CHAT } });
    expect((await explained(alpha.memberKey)).status).toBe(200);
    const theirs = await explained(alpha.key);
    const none = await explained(invented(alpha.key));
    expect([theirs.status, bare(theirs.text, alpha.key)]).toEqual([400, bare(none.text, invented(alpha.key))]);
  });

  test("PORTAL-11 creates keys for themselves only, without what only admins set", async () => {
    const { alpha } = scene;
    const make = (body: object) => send(`${at}/keys`, { body });
    for (const body of [
      {},
      { member: null },
      { member: "owner@alpha.example" },
      { member: alpha.member, rpm: 100_000 },
      { member: alpha.member, policy: { floor: "none" } },
      { member: alpha.member, spend_limits: { day: "5" } },
    ]) {
      const answer = await make(body);
      expect([answer.status, answer.body.error?.code], JSON.stringify(body)).toEqual([403, "insufficient_role"]);
    }
    expect((await make({ member: alpha.member.toUpperCase(), name: "mine" })).status).toBe(201);
  });

  test("PORTAL-11 can neither set nor lift an admin's restrictions on their own key", async () => {
    const { gateway, alpha } = scene;
    const path = `/manage/keys/${alpha.memberKey}`;
    const patch = (body: object) => send(path, { method: "PATCH", body });
    expect((await patch({ rpm: null, policy: null, name: "mine" })).status).toBe(200);
    await gateway.manage("PATCH", `/keys/${alpha.memberKey}`, { rpm: 5, policy: { floor: "L1" } });
    for (const body of [
      { rpm: 100_000 },
      { rpm: null },
      { policy: null },
      { policy: { floor: "none" } },
      { name: "x", rpm: null },
      { spend_limits: { day: null } },
    ]) {
      const answer = await patch(body);
      expect([answer.status, answer.body.error?.code], JSON.stringify(body)).toEqual([403, "insufficient_role"]);
      // Another key would not have it either.
      expect(answer.body.error?.message).not.toContain("create a new one");
    }
    expect(await gateway.manage("GET", `/keys/${alpha.memberKey}`)).toMatchObject({
      rpm: 5,
      policy: { floor: "L1" },
      name: "mine",
    });
  });

  test("PORTAL-11 cannot extend a key beyond its approval", async () => {
    const { gateway, alpha } = scene;
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: true });
    const made = await send(`${at}/keys`, {
      body: { member: alpha.member, scopes: ["inference:chat"], expires_at: "2030-01-01" },
    });
    const path = `/manage/keys/${made.body.id}`;
    const expectFixed = async () => {
      for (const body of [{ scopes: null }, { expires_at: null }, { ip_allowlist: null }, { expires_at: "2029-01-01" }])
        expect((await send(path, { method: "PATCH", body })).status, JSON.stringify(body)).toBe(403);
    };
    // A pending key stays as the admin sees it, whatever the policy says meanwhile.
    await expectFixed();
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: false });
    await expectFixed();
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: true });
    expect((await send(`${path}/approve`, { method: "POST" })).status).toBe(403);
    expect((await send(`${path}/rotate`, { method: "POST" })).status).toBe(409);
    const approved = await gateway.manage("POST", `/keys/${made.body.id}/approve`);
    expect(approved).toMatchObject({ state: "active", scopes: ["inference:chat"], ip_allowlist: null });
    expect(approved.expires_at).toMatch(/^2030-01-01/);
    await expectFixed();
    expect((await send(path, { method: "PATCH", body: { name: "renamed" } })).status).toBe(200);
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: false });
  });

  test("PORTAL-11 KEY-07 does not see another's pending key; an admin does, and a member withdraws their own", async () => {
    const { gateway, alpha } = scene;
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: true });
    const make = (member: string) => gateway.manage("POST", "/workspaces/alpha/keys", { member, name: "waits" });
    const [theirs, own] = [await make("admin@alpha.example"), await make(alpha.member)];
    const none = invented(theirs.id);
    for (const [method, end, body] of [
      ["GET", ""],
      ["PATCH", "", { name: "x" }],
      ["PATCH", "", { scopes: null }],
      ["POST", "/rotate"],
      ["POST", "/revoke"],
      ["POST", "/approve"],
    ] as const) {
      const init = { method, ...(body === undefined ? {} : { body }) };
      const [answer, absent] = [
        await send(`/manage/keys/${theirs.id}${end}`, init),
        await send(`/manage/keys/${none}${end}`, init),
      ];
      expect([answer.status, bare(answer.text, theirs.id)], `${method} ${end}`).toEqual([404, bare(absent.text, none)]);
    }
    expect(await gateway.manage("GET", `/keys/${theirs.id}`)).toMatchObject({ state: "pending", name: "waits" });
    const asAdmin = await gateway.call("", `/manage/keys/${own.id}`, {
      method: "PATCH",
      headers: scene.callers.admin,
      body: { scopes: ["inference:chat"] },
    });
    expect([asAdmin.status, asAdmin.body.scopes]).toEqual([200, ["inference:chat"]]);
    expect((await send(`/manage/keys/${own.id}/revoke`, { method: "POST" })).body.state).toBe("revoked");
    await gateway.manage("PATCH", "/workspaces/alpha/key-policy", { approval: false });
  });
});

describe("roles", () => {
  const at = "/manage/workspaces/alpha";
  const people = {
    owner: "owner@alpha.example",
    admin: "admin@alpha.example",
    member: "member@alpha.example",
  } as const;
  const call = (caller: keyof Scene["callers"], method: string, path: string, body?: object) =>
    scene.gateway.call("", `${at}${path}`, {
      method,
      headers: scene.callers[caller],
      ...(body === undefined ? {} : { body }),
    });

  test("PORTAL-11 no member raises their own role or grants one above it", async () => {
    const refused = [
      await call("member", "PATCH", `/members/${people.member}`, { role: "admin" }),
      await call("member", "PATCH", `/members/${people.member}`, { role: "owner" }),
      await call("admin", "PATCH", `/members/${people.admin}`, { role: "owner" }),
      await call("admin", "PATCH", `/members/${people.member}`, { role: "owner" }),
      await call("admin", "PATCH", `/members/${people.owner}`, { role: "member" }),
      await call("admin", "DELETE", `/members/${people.owner}`),
      await call("admin", "POST", "/members", { email: "new@alpha.example", role: "owner" }),
      await call("admin", "POST", "/invitations", { email: "new@alpha.example", role: "owner" }),
      await call("admin", "POST", `/members/${people.owner}/reset-link`),
      await call("write token", "PATCH", `/members/${people.admin}`, { role: "owner" }),
      await call("write token", "POST", "/members", { email: "new@alpha.example", role: "owner" }),
      await call("write token", "POST", "/invitations", { email: "new@alpha.example", role: "owner" }),
      await call("write token", "POST", `/members/${people.owner}/reset-link`),
      await call("write token", "POST", "/tokens", { name: "more", access: "write" }),
      await call("admin", "POST", "/tokens", { name: "more", access: "write" }),
    ];
    expect(refused.map(({ status, body }) => `${status} ${body.error?.code}`)).toEqual(
      refused.map(() => "403 insufficient_role"),
    );
    const { data }: Json = await scene.gateway.manage("GET", "/workspaces/alpha/members");
    const roles = Object.fromEntries(data.map((row: Json) => [row.email, row.role]));
    expect(roles).toMatchObject({ [people.owner]: "owner", [people.admin]: "admin", [people.member]: "member" });
    expect(roles).not.toHaveProperty("new@alpha.example");
  });

  test("PORTAL-11 no member takes over an account with more rights than in this workspace", async () => {
    // The operator's account, and one of another workspace, also once they are members here.
    for (const email of ["ada@example.eu", "owner@beta.example"]) {
      await scene.gateway.manage("POST", "/workspaces/alpha/members", { email, role: "member" });
      for (const caller of ["owner", "admin", "write token"] as const) {
        const answer = await call(caller, "POST", `/members/${email}/reset-link`);
        expect([answer.status, answer.body.error?.code], `${caller} ${email}`).toEqual([403, "not_allowed"]);
      }
      await scene.gateway.manage("DELETE", `/workspaces/alpha/members/${email}`);
    }
  });

  test("PORTAL-11 an invitation to oneself accepts no memberships that are offered to the address", async () => {
    const { gateway } = scene;
    const accept = async (link: string) => {
      const browser = gateway.browser();
      const body = { name: "Late", password: "seven yellow umbrellas" };
      return { browser, answer: await browser.post(`/manage/invitations/${tokenOf(link)}/accept`, body) };
    };
    await gateway.manage("POST", "/workspaces/beta/members", { email: "late@beta.example", role: "owner" });
    const invited = await call("admin", "POST", "/invitations", { email: "late@beta.example", role: "member" });
    const taken = await accept(invited.body.link);
    expect([taken.answer.status, taken.answer.body.error?.code]).toEqual([403, "not_allowed"]);
    expect((await taken.browser.get("/manage/workspaces/beta")).status).toBe(401);
    // Nor a higher one in the own workspace.
    await gateway.manage("POST", "/workspaces/alpha/members", { email: "chief@alpha.example", role: "owner" });
    const higher = await call("admin", "POST", "/invitations", { email: "chief@alpha.example", role: "member" });
    expect([higher.status, higher.body.error?.code]).toEqual([403, "insufficient_role"]);
    // The workspace that offers the membership, and the operator, can.
    const { link } = await gateway.manage("POST", "/workspaces/beta/invitations", {
      email: "late@beta.example",
      role: "owner",
    });
    const joined = await accept(link);
    expect(joined.answer.status).toBeLessThan(300);
    expect((await joined.browser.get("/manage/workspaces/beta")).status).toBe(200);
  });

  test("PORTAL-11 only the operator adds an account without consent, so that no admin can reset its password", async () => {
    const { gateway } = scene;
    const alone = await gateway.join("alone@beta.example", "member", "beta");
    await gateway.manage("DELETE", "/workspaces/beta/members/alone@beta.example");
    for (const caller of ["owner", "admin", "write token"] as const) {
      expect((await call(caller, "POST", "/members", { email: "Alone@beta.example" })).status, caller).toBe(201);
      expect((await alone.get("/manage/me")).body.workspaces, caller).toEqual([]);
      expect((await call(caller, "POST", "/members/alone@beta.example/reset-link")).status).toBe(404);
      await gateway.manage("DELETE", "/workspaces/alpha/members/alone@beta.example");
    }
  });

  test("PORTAL-11 a revoked role ends with the next call, and a former member sees nothing", async () => {
    await scene.gateway.manage("PATCH", `/workspaces/alpha/members/${people.admin}`, { role: "member" });
    expect((await call("admin", "GET", "/tokens")).status).toBe(403);
    await scene.gateway.manage("DELETE", `/workspaces/alpha/members/${people.admin}`);
    expect((await call("admin", "GET", "/tokens")).status).toBe(404);
    const listed = await scene.gateway.call("", "/manage/workspaces", { headers: scene.callers.admin });
    expect(listed.body.data).toEqual([]);
  });
});
