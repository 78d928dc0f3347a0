import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { NodeCreate } from "../../../contract/schemas/manage-nodes.ts";
import { isJsonObject, type JsonObject } from "../../../kit/json.ts";
import { DAY_MS } from "../../../kit/time.ts";

let room: ManageFixture;
let workspace: string;
let count = 0;
beforeAll(async () => {
  room = await openManageFixture();
});
afterAll(() => room.close());
beforeEach(async () => {
  count += 1;
  workspace = `lab-${count}`;
  await room.ask("manageCreateWorkspace", { body: { slug: workspace } });
});

type Params = Record<string, string>;
const send = (id: string, body?: unknown, params: Params = {}) =>
  room.ask(id, { params: { workspace, ...params }, body });
const refusal = async (id: string, body: unknown, params: Params = {}) => {
  const { status, param } = await room.refusal(id, { params: { workspace, ...params }, body });
  return [status, param];
};
const rowsOf = ({ data }: JsonObject): JsonObject[] => (Array.isArray(data) ? data.filter(isJsonObject) : []);
const iso = (atMs: number) => new Date(atMs).toISOString();
const audited = async () => {
  const rows = rowsOf(await room.ask("manageListAudit", { query: `workspace=${workspace}&limit=1000` }));
  return rows.map(({ action, detail }) => [action, detail]);
};

describe("alerts", () => {
  const put = (body: unknown) => send("managePutAlerts", body);
  const many = (length: number) => Array.from({ length }, (_, at) => `ada-${at}@example.eu`);

  test("BILL-10 limit percentages are integers from 1 to 100, at most ten, unique and ascending", async () => {
    expect(await put({ limit_percents: [100, 1, 50, 50] })).toMatchObject({ limit_percents: [1, 50, 100] });
    expect(await refusal("managePutAlerts", { limit_percents: [101] })).toEqual([400, "limit_percents.0"]);
    const shares = Array.from({ length: 11 }, (_, at) => at + 1);
    expect(await refusal("managePutAlerts", { limit_percents: shares })).toEqual([400, "limit_percents"]);
    expect(await put({ limit_percents: shares.slice(1) })).toMatchObject({ limit_percents: shares.slice(1) });
    expect(await put({ limit_percents: null })).toMatchObject({ limit_percents: [] });
  });

  test("BILL-10 mail goes to at most twenty addresses, once to each regardless of case", async () => {
    expect(await put({ mail_to: ["Ada@Example.eu", "ada@example.eu"] })).toMatchObject({ mail_to: ["ada@example.eu"] });
    expect(await refusal("managePutAlerts", { mail_to: many(21) })).toEqual([400, "mail_to"]);
    expect(await put({ mail_to: many(20) })).toMatchObject({ recipients: many(20) });
  });

  test("BILL-10 missing fields stay, a new URL keeps the secret, and a removed webhook deletes it", async () => {
    const first = await put({ webhook_url: "https://one.example.eu/", low_balance: "5", credential_refused: false });
    const { webhook } = first;
    room.wait(1000);
    const moved = await put({ webhook_url: "https://two.example.eu/" });
    expect(moved).toMatchObject({
      webhook_secret: null,
      low_balance: "5.00",
      credential_refused: false,
      mail_to: null,
    });
    expect(moved["webhook"]).toEqual({ ...(isJsonObject(webhook) ? webhook : {}), url: "https://two.example.eu/" });
    await put({ webhook_url: null });
    const again = await put({ webhook_url: "https://two.example.eu/" });
    expect(again["webhook_secret"]).toMatch(/^whsec_/);
    expect(again["webhook_secret"]).not.toBe(first["webhook_secret"]);
  });

  test("BILL-10 the previous secret signs for another day, and removed rules are deleted", async () => {
    await put({ webhook_url: "https://one.example.eu/" });
    expect(await send("manageRotateAlertSecret")).toMatchObject({ previous_until: iso(room.nowMs() + DAY_MS) });
    await send("manageDeleteAlerts");
    expect(await send("manageShowAlerts")).toMatchObject({ enabled: false, webhook: null });
    expect(await refusal("manageDeleteAlerts", undefined)).toEqual([409, undefined]);
    expect(await room.store.alerts.rules.all(room.directory.workspace(workspace)?.id)).toEqual([]);
  });
});

describe("nodes", () => {
  const create = (body: unknown) => send("manageCreateNode", body);
  const mapped = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, at) => [`local-${at}`, `acme/m${at}`]));

  test("NODE-01 a name has 1 to 40 letters, digits and hyphens, with no hyphen at its ends", async () => {
    for (const name of ["a", "a-1", "x".repeat(40)]) expect(await create({ name })).toMatchObject({ name });
    for (const name of ["", "-a", "a-", "x".repeat(41)])
      expect(await refusal("manageCreateNode", { name })).toEqual([400, "name"]);
  });

  test("NODE-01 a mapping has at most two hundred models with ids without spaces", async () => {
    // No catalogue that is at hand has so many that a node may stand behind.
    expect(NodeCreate.safeParse({ name: "rack", mapping: mapped(200) }).success).toBe(true);
    expect(NodeCreate.safeParse({ name: "rack", mapping: mapped(201) }).success).toBe(false);
    expect(await refusal("manageCreateNode", { name: "rack", mapping: mapped(201) })).toEqual([400, "mapping"]);
    for (const local of ["a b", "", "ä", "x".repeat(201)]) {
      const [status, param] = await refusal("manageCreateNode", { name: "desk", mapping: { [local]: "sandbox/chat" } });
      expect([local, status, String(param).split(".")[0]]).toEqual([local, 400, "mapping"]);
    }
  });

  test("NODE-01 POL-02 a change has the same checks as a new node: country, known models, no duplicates", async () => {
    await create({ name: "rack", country: "DE", mapping: { tiny: "sandbox/chat" } });
    const node = { node: "rack" };
    for (const [body, param] of [
      [{ country: "UK" }, "country"],
      [{ mapping: { tiny: "acme/none" } }, "mapping"],
      [{ mapping: { tiny: "sandbox/chat", small: "sandbox/chat" } }, "mapping"],
    ] as const)
      expect(await refusal("manageChangeNode", body, node)).toEqual([400, param]);
    expect(await send("manageShowNode", undefined, node)).toMatchObject({
      country: "DE",
      mapping: { tiny: "sandbox/chat" },
    });
    expect(await send("manageChangeNode", { country: "fr" }, node)).toMatchObject({
      country: "FR",
      mapping: { tiny: "sandbox/chat" },
    });
    expect(await audited()).toContainEqual([
      "node.change",
      {
        name: "rack",
        before: { country: "DE", level: "L1", mapping: { tiny: "sandbox/chat" }, surfaces: {} },
        after: { country: "FR", level: "L1", mapping: { tiny: "sandbox/chat" }, surfaces: {} },
      },
    ]);
  });
});

describe("capture windows", () => {
  const open = (body: object) => send("manageOpenCapture", body);
  const states = async () =>
    rowsOf(await room.ask("manageListCaptures", { query: `workspace=${workspace}` })).map(({ state }) => state);
  const close = (id: string, body: unknown = {}) => send("manageCloseCapture", body, { id });

  test("LOG-03 minimum and maximum durations are accepted, and nothing beyond them", async () => {
    expect(await open({ minutes: 1, retention: "1s" })).toMatchObject({
      closes_at: iso(room.nowMs() + 60_000),
      retention: "1s",
    });
    expect(await open({ minutes: 1440, retention: "90d" })).toMatchObject({
      closes_at: iso(room.nowMs() + DAY_MS),
      retention: "90d",
    });
    for (const [body, param] of [
      [{ minutes: 1.5 }, "minutes"],
      [{ minutes: 5, retention: "2161h" }, "retention"],
      [{ minutes: 5, reason: "x".repeat(501) }, "reason"],
      [{ minutes: 5, reason: "a\u001b[2J" }, "reason"],
      [{ minutes: 5, environment: "both" }, "environment"],
    ] as const)
      expect(await refusal("manageOpenCapture", body)).toEqual([400, param]);
    expect(await states()).toEqual(["open", "open"]);
  });

  test("LOG-03 an empty list means all; duplicates are removed, and the audit log has the scope", async () => {
    const every = { keys: null, surfaces: null, environment: null };
    expect(await open({ minutes: 5, keys: [], surfaces: [] })).toMatchObject({ scope: every });
    const { id } = await send("manageCreateKey", { name: "key" });
    // Lines of one moment have no order.
    room.wait(1);
    const said = { keys: [id, id], surfaces: ["chat", "chat"], environment: "test", reason: "r".repeat(500) };
    const scope = { keys: [id], surfaces: ["chat"], environment: "test" };
    expect(await open({ minutes: 5, ...said })).toMatchObject({ scope });
    const [, detail] = (await audited()).find(([action]) => action === "capture.open") ?? [];
    expect(detail).toMatchObject({ minutes: 5, scope, retention: "7d", reason: said.reason });
  });

  test("LOG-03 a window is open until its end, and closing it afterwards changes nothing", async () => {
    const window = await open({ minutes: 1 });
    room.wait(59_999);
    expect(await states()).toEqual(["open"]);
    room.wait(1);
    expect(await states()).toEqual(["closed"]);
    expect(await close(String(window["id"]))).toMatchObject({ data: [{ closed_at: null }], purged: 0 });
    expect((await audited()).map(([action]) => action)).not.toContain("capture.close");
  });

  test("LOG-03 closing by workspace closes all its windows and no others", async () => {
    const theirs = workspace;
    await open({ minutes: 5 });
    workspace = `${theirs}-two`;
    await room.ask("manageCreateWorkspace", { body: { slug: workspace } });
    await open({ minutes: 5 });
    await open({ minutes: 5 });
    expect(rowsOf(await close(workspace)).map(({ state }) => state)).toEqual(["closed", "closed"]);
    workspace = theirs;
    expect(await states()).toEqual(["open"]);
  });
});

test("PORTAL-11 a workspace has at most a hundred management tokens, and a removal frees one", async () => {
  const body = { name: "terraform", access: "read" };
  const { id } = await send("manageCreateToken", body);
  const [token] = room.directory.tokens.inWorkspace(room.directory.workspace(workspace)?.id ?? "");
  if (token === undefined) throw new Error("there is no token to take as a pattern");
  for (let at = 1; at < 99; at += 1) room.directory.tokens.put({ ...token, id: `tok_${at}`, digest: `digest_${at}` });
  await send("manageCreateToken", body);
  expect(await refusal("manageCreateToken", body)).toEqual([409, undefined]);
  await send("manageRemoveToken", undefined, { id: String(id) });
  expect(await send("manageCreateToken", body)).toMatchObject({ access: "read" });
});
