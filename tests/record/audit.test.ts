import type { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { openBooks } from "../support/books.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
});
afterAll(() => gateway.close());

const list = async (query = ""): Promise<Json[]> => (await gateway.manage("GET", `/audit${query}`)).data;

/** The store's file, read directly. */
function onFile<T>(work: (db: DatabaseSync) => T): T {
  const db = openBooks(gateway.dataDir);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

describe("the audit log", () => {
  test("LOG-05 has every management action with actor, action, target and previous value", async () => {
    const slug = "audited";
    await gateway.manage("POST", "/workspaces", { slug });
    const at = `/workspaces/${slug}`;
    await gateway.manage("PATCH", `${at}/key-policy`, { personal_keys: true, approval: true });
    await gateway.manage("POST", `${at}/members`, { email: "ada@example.eu" });
    const key = await gateway.manage("POST", `${at}/keys`, { member: "ada@example.eu" });
    await gateway.manage("POST", `/keys/${key["id"]}/approve`);
    await gateway.manage("PATCH", `/keys/${key["id"]}`, { rpm: 5 });
    const next = await gateway.manage("POST", `/keys/${key["id"]}/rotate`, { grace: "1d" });
    await gateway.manage("POST", `/keys/${next["id"]}/revoke`);
    await gateway.manage("PATCH", `${at}/policy`, { floor: "L2" });
    await gateway.manage("POST", `${at}/wallet/credits`, { amount: "3", id: "once" });
    await gateway.manage("POST", `${at}/wallet/credits`, { amount: "3", id: "once" });
    await gateway.manage("PUT", `${at}/routers/fast`, { weights: { latency: 1 } });
    await gateway.manage("DELETE", `${at}/routers/fast`);
    await gateway.manage("POST", `${at}/capture-windows`, { minutes: 60, reason: "why" });
    await gateway.manage("POST", `/capture-windows/${slug}/close`, {});
    await gateway.manage("DELETE", `${at}/responses`);
    await gateway.manage("DELETE", `${at}/members/ada@example.eu`);
    const rows = await list(`?workspace=${slug}`);
    const made = [
      ...["workspace.create", "key_policy.change", "member.add", "key.create", "key.approve", "key.change"],
      ...["key.rotate", "key.revoke", "policy.change", "wallet.credit", "router.create", "router.remove"],
      ...["capture.open", "capture.close", "response.purge", "member.remove"],
    ];
    expect(rows.map(({ action }) => action).toSorted()).toEqual(made.toSorted());
    // Newest first; lines of one millisecond have no order.
    expect(rows.map(({ at: time }) => time)).toEqual(
      rows
        .map(({ at: time }) => time)
        .toSorted()
        .toReversed(),
    );
    for (const row of rows) expect(row).toMatchObject({ actor: "operator", workspace: slug });
    const policy = rows.find(({ action }) => action === "policy.change");
    expect(policy.detail).toMatchObject({ before: { floor: null }, after: { floor: "L2" } });
    expect(JSON.stringify(rows)).not.toContain(key["key"]);
  });

  test("LOG-05 a refused action changes nothing and leaves no line", async () => {
    const before = await list("?limit=1000");
    const refused = await gateway.call(gateway.adminToken, "/manage/workspaces/audited/policy", {
      method: "PATCH",
      body: { floor: "L9" },
    });
    expect(refused.status).toBe(400);
    expect(await list("?limit=1000")).toEqual(before);
  });

  test("LOG-05 a change whose line cannot be written is not made, in SQL or for the next request", async () => {
    onFile((db) =>
      db.exec(`create trigger no_room before insert on audit_log
        begin select raise(abort, 'no room'); end`),
    );
    try {
      const attempts = [
        ["POST", "/workspaces", { slug: "unwritten" }],
        ["PATCH", "/workspaces/audited/policy", { floor: "L4" }],
        ["POST", "/workspaces/audited/wallet/credits", { amount: "99" }],
        ["POST", "/workspaces/audited/keys", { name: "unwritten" }],
        ["PUT", "/workspaces/audited/routers/unwritten", { weights: { cost: 1 } }],
        ["POST", "/workspaces/audited/capture-windows", { minutes: 1 }],
        ["POST", "/workspaces/audited/members", { email: "bob@example.eu" }],
      ] as const;
      for (const [method, where, body] of attempts)
        expect((await gateway.call(gateway.adminToken, `/manage${where}`, { method, body })).status, where).toBe(500);
    } finally {
      onFile((db) => db.exec("drop trigger no_room"));
    }
    const at = "/workspaces/audited";
    expect((await gateway.call(gateway.adminToken, "/manage/workspaces/unwritten")).status).toBe(404);
    expect((await gateway.manage("GET", `${at}/policy`))["floor"]).toBe("L2");
    expect((await gateway.manage("GET", `${at}/wallet`))["balance"]).toBe("3.00");
    expect(JSON.stringify(await gateway.manage("GET", `${at}/keys`))).not.toContain("unwritten");
    expect((await gateway.manage("GET", `${at}/routers`)).data).toEqual([]);
    expect((await gateway.manage("GET", `${at}/members`)).data).toEqual([]);
    const kept = onFile((db) => ({
      policies: db.prepare("select count(*) as n from policy_versions where policy like '%L4%'").get()?.["n"],
      windows: db.prepare("select count(*) as n from capture_windows where closed_at_ms is null").get()?.["n"],
      topups: db.prepare("select count(*) as n from ledger_transactions where moved_nanos = 99000000000").get()?.["n"],
    }));
    expect(kept).toEqual({ policies: 0, windows: 0, topups: 0 });
    expect((await gateway.manage("GET", "/doctor"))["ok"]).toBe(true);
  });

  test("LOG-05 cannot be changed or deleted through the API or in the file", async () => {
    const routes = ROUTES.filter((route) => /audit/.test(route.path));
    expect(routes.map(({ method, path: at }) => `${method} ${at}`)).toEqual(["GET /manage/audit"]);
    for (const table of ["audit_log", "policy_versions", "router_versions"])
      onFile((db) => {
        expect(() => db.exec(`update ${table} set workspace_id = 'other'`), table).toThrow("append only");
        expect(() => db.exec(`delete from ${table}`), table).toThrow("append only");
      });
  });

  test("LOG-05 is filtered and paginated, also on the command line", async () => {
    const kinds = await list("?workspace=audited&action=key");
    expect(new Set(kinds.map(({ action }) => action.split(".")[0]))).toEqual(new Set(["key"]));
    expect((await list("?action=key.revoke")).map(({ action }) => action)).toEqual(["key.revoke"]);
    const [revoked] = await list("?action=key.revoke");
    expect((await list(`?target=${revoked.target}`)).map(({ action }) => action)).toContain("key.revoke");
    expect(await list("?actor=unknown")).toEqual([]);
    const since = await list(`?workspace=audited&since=${encodeURIComponent(revoked.at)}`);
    expect(since.length).toBeGreaterThan(0);
    expect(since.every(({ at }) => at >= revoked.at)).toBe(true);
    const until = await list(`?workspace=audited&until=${encodeURIComponent(revoked.at)}`);
    expect(until.every(({ at }) => at < revoked.at)).toBe(true);
    const all = await list("?workspace=audited&limit=1000");
    expect(since.length + until.length).toBe(all.length);
    const first = await gateway.cli("--json", "audit", "list", "--workspace", "audited", "--limit", "5");
    expect(first.json, first.stderr).toMatchObject({ data: all.slice(0, 5) });
    const bad = await gateway.call(gateway.adminToken, "/manage/audit?action=DROP");
    expect([bad.status, bad.body.error.param]).toEqual([400, "action"]);
  });
});
