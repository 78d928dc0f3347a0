import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROLES, type Role } from "../../src/domain/tenancy/workspace.ts";
import type { Called } from "../support/gateway.ts";
import {
  ask,
  bare,
  type Caller,
  MANAGED,
  type Managed,
  openScene,
  paramsOf,
  pathOf,
  type Scene,
} from "./permission-scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
}, 60_000);
afterAll(() => scene.gateway.close());

/** What a caller gets: access, or the reason for refusal. */
type Outcome = "in" | "unknown" | "signed_out" | "low" | "absent";

const REFUSALS: Readonly<Record<Exclude<Outcome, "in">, readonly [status: number, code: string]>> = {
  unknown: [401, "invalid_admin_token"],
  signed_out: [401, "not_signed_in"],
  low: [403, "insufficient_role"],
  absent: [404, "not_found"],
};

const rankOf = (role: Role) => ROLES.length - ROLES.indexOf(role);

/** A person with a role in the requested workspace. */
function seated(role: Role) {
  return ({ access: { allows } }: Managed): Outcome => {
    if (allows === "operator") return "low";
    if (allows === "person") return "in";
    return rankOf(role) >= rankOf(allows) ? "in" : "low";
  };
}

const elsewhere = ({ access: { allows } }: Managed): Outcome =>
  allows === "operator" ? "low" : allows === "person" ? "in" : "absent";
const always = (word: Outcome) => (): Outcome => word;

const EXPECTED: Readonly<Record<Caller, (route: Managed) => Outcome>> = {
  anonymous: always("unknown"),
  "API key": always("unknown"),
  "API key of the member": always("unknown"),
  "revoked token": always("unknown"),
  "expired token": always("unknown"),
  "session that ended": always("signed_out"),
  "operator token": always("in"),
  "operator person": always("in"),
  owner: seated("owner"),
  admin: seated("admin"),
  member: seated("member"),
  "member, of what is another's": (route) => {
    const isOwned = route.access.of === "key" || route.access.of === "request";
    return isOwned ? "absent" : seated("member")(route);
  },
  "owner of another workspace": elsewhere,
  "write token of another workspace": elsewhere,
  "write token": seated("admin"),
  "read token": (route) => (route.method === "GET" ? seated("admin")(route) : "low"),
};

/** Where a member must name themselves, every caller does. */
const QUERIES: Readonly<Record<string, string>> = { manageShowLimits: "?member=member@alpha.example" };

/**
 * Values with which an admitted call does no harm to later calls: resources below a workspace do not exist, and bodies
 * have an unknown field.
 */
function harmless(route: Managed, { alpha }: Scene, caller: string): string {
  const { of } = route.access;
  const own = { key: alpha.memberKey, request: alpha.memberRequest, capture: alpha.capture };
  const things = caller === "member" ? own : alpha;
  const id = of === "key" || of === "request" || of === "capture" ? things[of] : "nothing";
  const path = pathOf(route, { workspace: alpha.workspace, id, email: "absent@alpha.example" });
  return `${path}${QUERIES[route.id] ?? ""}`;
}
const NO_SUCH_FIELD = { of_the_matrix: true };

/** People create workspaces only where the operator allows it; tokens and the operator token have no account. */
function isOwnRefusal(route: Managed, { status, body }: Called): boolean {
  return (
    route.access.allows === "person" && status === 403 && ["insufficient_role", "not_allowed"].includes(body.error.code)
  );
}

const TABLE = MANAGED.map((route) => [`${route.method} ${route.path}`, route] as const);

describe("permissions", () => {
  test("PORTAL-11 the matrix has every kind of caller for every route", () => {
    expect(Object.keys(EXPECTED).toSorted()).toEqual(Object.keys(scene.callers).toSorted());
    expect(TABLE.length).toBeGreaterThan(80);
  });

  test.each(TABLE)("PORTAL-11 %s", async (_, route) => {
    const send = async (caller: string) => {
      const headers = Object.entries(scene.callers).find(([name]) => name === caller)?.[1] ?? {};
      return ask(scene, route, harmless(route, scene, caller), headers, NO_SUCH_FIELD);
    };
    const words = Object.entries(EXPECTED).map(([caller, expected]) => [caller, expected(route)] as const);
    // Refused callers come first: the few mutating calls find everything unchanged.
    const refused = await Promise.all(
      words.flatMap(([caller, word]) =>
        word === "in" ? [] : [send(caller).then((answer) => ({ caller, word, answer }))],
      ),
    );
    for (const { caller, word, answer } of refused)
      expect([caller, answer.status, answer.body?.error?.code]).toEqual([caller, ...REFUSALS[word]]);
    const absent = refused.filter(({ word }) => word === "absent").map(({ answer }) => bare(answer.text));
    for (const [caller, word] of words) {
      if (word !== "in") continue;
      const answer = await send(caller);
      if (isOwnRefusal(route, answer)) continue;
      expect([401, 403], `${caller}: ${answer.text}`).not.toContain(answer.status);
      expect(answer.status, `${caller}: ${answer.text}`).toBeLessThan(500);
      expect(absent, caller).not.toContain(bare(answer.text));
    }
  });
});

const OF_WORKSPACES = TABLE.filter(([, { access }]) => access.allows !== "operator" && access.allows !== "person");

describe("resources of another workspace", () => {
  test.each(OF_WORKSPACES)("PORTAL-11 are not found, with the same error as nonexistent ones: %s", async (_, route) => {
    const { alpha, callers } = scene;
    const { of } = route.access;
    const there = of === "key" || of === "request" || of === "capture" ? alpha[of] : alpha.workspace;
    for (const caller of ["owner of another workspace", "write token of another workspace"] as const) {
      const send = async (name: string) => {
        const path = pathOf(route, {
          ...alpha,
          workspace: name,
          id: of === "path" ? "thing" : name,
          email: "someone@alpha.example",
        });
        const answer = await ask(scene, route, path, callers[caller]);
        return { status: answer.status, text: bare(answer.text, name) };
      };
      // Of the same form, so that the form does not distinguish them.
      const missing = there.replace(/.{4}$/, "zzzz");
      expect(missing).not.toBe(there);
      const found = await send(there);
      expect(found).toEqual(await send(missing));
      expect(found.status).toBe(404);
    }
  });

  test("PORTAL-11 by id as by slug", async () => {
    const { gateway, alpha, callers } = scene;
    const headers = callers["owner of another workspace"];
    for (const name of [alpha.workspace, alpha.workspaceId, alpha.workspace.toUpperCase(), `${alpha.workspace} `])
      for (const path of [
        `/manage/workspaces/${encodeURIComponent(name)}`,
        `/manage/audit?workspace=${encodeURIComponent(name)}`,
      ])
        expect((await gateway.call("", path, { headers })).status, path).toBe(404);
    const closed = `/manage/capture-windows/${alpha.workspaceId}/close`;
    expect((await gateway.call("", closed, { method: "POST", body: {}, headers })).status).toBe(404);
  });

  test("PORTAL-11 no route has a parameter that the matrix does not know", () => {
    const known = ["workspace", "id", "email", "router", "provider", "node", "class"];
    expect(MANAGED.flatMap(paramsOf).filter((name) => !known.includes(name))).toEqual([]);
  });
});
