import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { type Operator, operatorOf } from "../support/operator.ts";

let gateway: TestGateway;
let operator: Operator;

beforeAll(async () => {
  gateway = await startGateway();
  operator = operatorOf(gateway);
  for (const slug of ["lab", "other"]) await operator.post("/manage/workspaces", { slug });
});
afterAll(() => gateway.close());

async function tokenOf(slug: string, access: "read" | "write", over: object = {}) {
  const { status, json } = await operator.post(`/manage/workspaces/${slug}/tokens`, { name: access, access, ...over });
  expect(status).toBe(201);
  return { id: String(json["id"]), token: String(json["token"]) };
}

const LAB = "/manage/workspaces/lab";

describe("management tokens", () => {
  test("PORTAL-11 one has admin access to its own workspace only", async () => {
    const { token } = await tokenOf("lab", "write");
    const made = await gateway.call(token, `${LAB}/keys`, { body: { name: "from a program" } });
    expect(made.status).toBe(201);
    expect((await gateway.call(token, "/manage/workspaces")).body.data).toHaveLength(1);
    const foreign = await gateway.call(token, "/manage/workspaces/other");
    const missing = await gateway.call(token, "/manage/workspaces/nowhere");
    expect([foreign.status, missing.status]).toEqual([404, 404]);
    expect(foreign.body.error.message.replace("other", "nowhere")).toBe(missing.body.error.message);
    const { json } = await operator.get(`/manage/audit?workspace=lab&action=key.create&limit=1`);
    expect(json["data"]).toMatchObject([{ actor: expect.stringMatching(/^token:tok_/) }]);
  });

  test("PORTAL-11 a read-only one changes nothing, and none creates another or manages the platform", async () => {
    const [read, write] = [await tokenOf("lab", "read"), await tokenOf("lab", "write")];
    expect((await gateway.call(read.token, `${LAB}/keys`)).status).toBe(200);
    const refusals = await Promise.all([
      gateway.call(read.token, `${LAB}/keys`, { body: { name: "no" } }),
      gateway.call(write.token, `${LAB}/tokens`, { body: { name: "again", access: "write" } }),
      gateway.call(write.token, `${LAB}/members`, { body: { email: "eve@example.eu", role: "owner" } }),
      gateway.call(write.token, `${LAB}/wallet/credits`, { body: { amount: "5" } }),
      gateway.call(write.token, "/manage/workspaces", { body: { slug: "mine" } }),
      gateway.call(write.token, "/manage/doctor"),
    ]);
    expect(refusals.map(({ status, body }) => [status, body.error.code])).toEqual(
      refusals.map(() => [403, "insufficient_role"]),
    );
  });

  test("PORTAL-11 a removed or expired one is invalid on the next call, and its text is never shown again", async () => {
    const { id, token } = await tokenOf("lab", "write");
    const expired = await tokenOf("lab", "write", { expires_at: "2020-01-01" });
    const listed = await operator.get(`${LAB}/tokens`);
    expect(JSON.stringify(listed.json)).not.toContain(token);
    const rows = Array.isArray(listed.json["data"]) ? listed.json["data"].filter(isJsonObject) : [];
    expect(rows.map((row) => row["id"])).toContain(id);
    expect((await operator.delete(`${LAB}/tokens/${id}`)).status).toBe(200);
    for (const sent of [token, expired.token, `${token}x`, "mt_svc_"]) {
      const refused = await gateway.call(sent, LAB);
      expect([refused.status, refused.body.error.code]).toEqual([401, "invalid_admin_token"]);
    }
    expect((await operator.delete(`${LAB}/tokens/${id}`)).status).toBe(404);
    expect((await operator.delete(`/manage/workspaces/other/tokens/${expired.id}`)).status).toBe(404);
  });

  test("a token survives a restart", async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), "gateway-tokens-"));
    const first = await startGateway({ dataDir });
    const { token } = await first.manage("POST", "/workspaces/demo/tokens", { name: "reader", access: "read" });
    await first.close();
    const second = await startGateway({ dataDir });
    const { status } = await second.call(token, "/manage/workspaces/demo");
    await second.close();
    await rm(dataDir, { recursive: true });
    expect(status).toBe(200);
  });
});

describe("roles", () => {
  test("PORTAL-01 a role is changed, and the only owner stays one", async () => {
    const members = `${LAB}/members`;
    await operator.post(members, { email: "ada@example.eu", role: "owner" });
    await operator.post(members, { email: "bob@example.eu" });
    const demoted = await gateway.call(gateway.adminToken, `${members}/ada@example.eu`, {
      method: "PATCH",
      body: { role: "member" },
    });
    expect([demoted.status, demoted.body.error.code]).toEqual([409, "conflict"]);
    expect((await operator.delete(`${members}/ada@example.eu`)).status).toBe(409);
    const raised = await gateway.call(gateway.adminToken, `${members}/bob@example.eu`, {
      method: "PATCH",
      body: { role: "owner" },
    });
    expect([raised.status, raised.body.role]).toEqual([200, "owner"]);
    expect((await operator.delete(`${members}/ada@example.eu`)).status).toBe(200);
  });
});
