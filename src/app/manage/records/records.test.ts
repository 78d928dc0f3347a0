import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { MANAGE_ROUTES } from "../../../contract/routes/manage.ts";
import type { RequestRecord } from "../../../domain/record/record.ts";

let room: ManageFixture;
let keyId: string;
let workspaceId: string;
const params = { workspace: "lab" };

beforeAll(async () => {
  room = await openManageFixture([
    { name: "sound", run: async () => ({ ok: true, status: "ok", detail: "fine" }) },
    { name: "journal", run: async () => Promise.reject(new Error("the disk is full")) },
  ]);
  workspaceId = String((await room.ask("manageCreateWorkspace", { body: { slug: "lab" } }))["id"]);
  await room.ask("manageAddMember", { params, body: { email: "ada@example.eu" } });
  await room.ask("manageChangeKeyPolicy", { params, body: { personal_keys: true } });
  keyId = String(
    (await room.ask("manageCreateKey", { params, body: { name: "mine", member: "ada@example.eu" } }))["id"],
  );
});
afterAll(() => room.close());

function record(id: string, over: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id,
    createdAtMs: room.nowMs(),
    workspaceId,
    keyId,
    memberId: room.directory.key(keyId)?.memberId ?? null,
    environment: "live",
    app: "notebook",
    clientRequestId: null,
    surface: "chat",
    modelRequested: "auto",
    model: "sandbox/chat",
    provider: "sandbox-de",
    endpoint: "sandbox-de:de:sandbox/chat",
    upstreamId: "up_1",
    level: "L2",
    countries: ["DE"],
    router: null,
    streaming: true,
    status: 200,
    errorCode: null,
    usage: {
      inputTokens: 12,
      cachedTokens: 1,
      cacheWriteTokens: 2,
      outputTokens: 8,
      reasoningTokens: 3,
      audioInputTokens: 0,
      audioOutputTokens: 0,
      characters: null,
      seconds: null,
      estimated: false,
    },
    charge: {
      nanos: "12500",
      currency: "EUR",
      price: {
        currency: "EUR",
        inputPer1mTokens: "0.05",
        cacheWrite1hPer1mTokens: "1",
        per1mCharacters: null,
        tiers: [{ aboveInputTokens: 200000, inputPer1mTokens: "0.1" }],
      },
      rate: null,
    },
    ttfbMs: 21,
    totalMs: 24,
    overheadMs: 1,
    attempts: [
      {
        endpoint: "sandbox-de:de:sandbox/chat",
        provider: "sandbox-de",
        startedAtMs: room.nowMs(),
        durationMs: 23,
        outcome: "served",
        upstreamStatus: 200,
        reason: "answered",
        maybeAccepted: false,
      },
    ],
    decision: {
      candidates: [
        {
          endpoint: "sandbox-de:de:sandbox/chat",
          model: "sandbox/chat",
          provider: "sandbox-de",
          level: "L2",
          outcome: "planned",
          reason: "lowest expected cost",
          scores: { cost: 0.5 },
        },
      ],
      order: ["sandbox-de:de:sandbox/chat"],
    },
    ...over,
  };
}

describe("wallet", () => {
  const credit = (body: unknown) => room.ask("manageCreditWallet", { params, body });

  test("a credit is in the live balance, the ledger and the list of entries", async () => {
    const booked = await credit({ amount: "25.5", note: "Invoice 17" });
    expect(booked).toMatchObject({
      amount: "25.50",
      currency: "EUR",
      note: "Invoice 17",
      repeated: false,
      wallet: { balance: "25.50", held: "0.00", currency: "EUR" },
    });
    expect(await room.ask("manageShowWallet", { params })).toEqual({ balance: "25.50", held: "0.00", currency: "EUR" });
    expect((await room.store.ledger.wallet(workspaceId))?.balanceNanos).toBe(25_500_000_000n);
    const { data } = await room.ask("manageListWalletEntries", { params });
    expect(data).toMatchObject([
      {
        id: booked["id"],
        kind: "topup",
        amount: "25.50",
        currency: "EUR",
        entries: [
          { account: "topup_clearing", amount: "-25.50" },
          { account: "wallet", amount: "25.50" },
        ],
      },
    ]);
    expect(await room.store.ledger.audit()).toEqual([]);
  });

  test("a credit with an idempotency key is posted once; the key with another amount is a conflict", async () => {
    const before = (await room.state.wallet(workspaceId)).balanceNanos;
    const first = await credit({ amount: "1", id: "inv-1" });
    const second = await credit({ amount: "1.00", id: "inv-1" });
    expect(second).toMatchObject({ id: first["id"], repeated: true, created_at: first["created_at"] });
    expect((await room.state.wallet(workspaceId)).balanceNanos).toBe(before + 1_000_000_000n);
    const other = await room.refusal("manageCreditWallet", { params, body: { amount: "2", id: "inv-1" } });
    expect([other.status, other.code, other.param]).toEqual([409, "conflict", "id"]);
    await room.ask("manageCreateWorkspace", { body: { slug: "other" } });
    const elsewhere = { params: { workspace: "other" }, body: { amount: "2", id: "inv-1" } };
    expect(await room.ask("manageCreditWallet", elsewhere)).toMatchObject({ repeated: false });
  });

  test("a hold is visible at once", async () => {
    const hold = { requestId: "r", workspaceId, keyId, memberId: null, nanos: 500_000_000n, atMs: 0, limits: [] };
    expect(await room.state.hold(hold)).toEqual({ is: "held" });
    expect(await room.ask("manageShowWallet", { params })).toMatchObject({ balance: "26.50", held: "0.50" });
    await room.state.settle(hold, 0n);
  });

  test.each(["0", "0.000", "-1", "1e3", "1.0000000001", "abc", "", " 1", "1000000001", 5, null])(
    "the amount %j is refused and books nothing",
    async (amount) => {
      const before = await room.state.wallet(workspaceId);
      const refused = await room.refusal("manageCreditWallet", { params, body: { amount } });
      expect([refused.status, refused.code, refused.param]).toEqual([400, "invalid_value", "amount"]);
      expect(await room.state.wallet(workspaceId)).toEqual(before);
    },
  );

  test("the smallest amount is one nano-unit", async () => {
    expect(await credit({ amount: "0.000000001" })).toMatchObject({ amount: "0.000000001" });
  });
});

describe("request log", () => {
  test("LOG-01 a row has every field, and the detail adds the decision", async () => {
    await room.store.ingest([record("chatcmpl-1")]);
    const { data, next } = await room.ask("manageListRequests", { params });
    const row = {
      id: "chatcmpl-1",
      created_at: new Date(room.nowMs()).toISOString(),
      key_id: keyId,
      key_name: "mine",
      member: "ada@example.eu",
      environment: "live",
      app: "notebook",
      surface: "chat",
      model_requested: "auto",
      model: "sandbox/chat",
      provider: "sandbox-de",
      endpoint: "sandbox-de:de:sandbox/chat",
      level: "L2",
      countries: ["DE"],
      router: null,
      streaming: true,
      status: 200,
      error_code: null,
      usage: {
        input_tokens: 12,
        cached_tokens: 1,
        cache_write_tokens: 2,
        output_tokens: 8,
        reasoning_tokens: 3,
        characters: null,
        seconds: null,
        images: null,
        search_units: null,
        estimated: false,
      },
      cost: "0.0000125",
      own_key: false,
      node_id: null,
      level_attested: false,
      currency: "EUR",
      ttfb_ms: 21,
      total_ms: 24,
      overhead_ms: 1,
      attempts: [
        {
          endpoint: "sandbox-de:de:sandbox/chat",
          provider: "sandbox-de",
          started_at: new Date(room.nowMs()).toISOString(),
          duration_ms: 23,
          outcome: "served",
          upstream_status: 200,
          reason: "answered",
          maybe_accepted: false,
          own_key: false,
        },
      ],
    };
    expect({ data, next }).toEqual({ data: [row], next: null });
    expect(await room.ask("manageShowRequest", { params: { id: "chatcmpl-1" } })).toEqual({
      ...row,
      workspace: "lab",
      decision: record("").decision,
      detail: null,
      omitted: [],
      client_request_id: null,
      upstream_id: "up_1",
      captured_in: null,
      charge: {
        price: {
          currency: "EUR",
          input_per_1m_tokens: "0.05",
          cache_write_1h_per_1m_tokens: "1",
          per_1m_characters: null,
          tiers: [{ above_input_tokens: 200000, input_per_1m_tokens: "0.1" }],
        },
        rate: null,
        margin: null,
      },
      policies: [{ subject: "workspace", version: 1, policy: expect.objectContaining({ floor: null }) }],
      error: null,
    });
  });

  test("LOG-01 a refused request costs nothing and its unknown usage is null, not zero", async () => {
    room.wait(1);
    const refused = { status: 402, errorCode: "insufficient_credits", usage: null, charge: null, decision: null };
    await room.store.ingest([record("chatcmpl-2", refused)]);
    expect(await room.ask("manageShowRequest", { params: { id: "chatcmpl-2" } })).toMatchObject({
      status: 402,
      error_code: "insufficient_credits",
      error: {
        code: "insufficient_credits",
        says: expect.stringContaining("wallet"),
        next: expect.stringMatching(/^Add funds/),
      },
      charge: null,
      cost: "0.00",
      currency: "EUR",
      usage: { input_tokens: null, output_tokens: null, estimated: false },
      decision: null,
    });
  });

  test.each([
    ["status=402", ["chatcmpl-2"]],
    ["status=200", ["chatcmpl-1"]],
    ["status=4xx", ["chatcmpl-2"]],
    ["status=2xx&surface=chat", ["chatcmpl-1"]],
    ["status=5xx", []],
    ["status=1xx", []],
    ["surface=messages", []],
    ["model=auto", ["chatcmpl-2", "chatcmpl-1"]],
    ["model=sandbox/chat", ["chatcmpl-2", "chatcmpl-1"]],
    ["model=other/one", []],
    ["provider=sandbox-de&env=live&app=notebook", ["chatcmpl-2", "chatcmpl-1"]],
    ["provider=other", []],
    ["env=test", []],
    ["app=other", []],
    ["key=key_other", []],
    ["since=2026-11-15T12:00:00.001Z", ["chatcmpl-2"]],
    ["until=2026-11-15T12:00:00.001Z", ["chatcmpl-1"]],
  ])("LOG-02 the filter %s leaves %j", async (query, ids) => {
    const { data } = await room.ask("manageListRequests", { params, query });
    expect(Array.isArray(data) && data.map((row) => row.id)).toEqual(ids);
  });

  test("LOG-02 pages follow the cursor", async () => {
    const first = await room.ask("manageListRequests", { params, query: "limit=1" });
    expect(first).toMatchObject({ data: [{ id: "chatcmpl-2" }] });
    const second = await room.ask("manageListRequests", { params, query: `limit=1&cursor=${first["next"]}` });
    expect(second).toMatchObject({ data: [{ id: "chatcmpl-1" }], next: null });
  });

  test.each([
    "status=20",
    "status=9xx",
    "surface=fax",
    "since=yesterday",
    "since=2026-02-31",
    "limit=0",
    "limit=1001",
    "env=prod",
    "cursor=%21",
  ])("LOG-02 the query %s is refused by name", async (query) => {
    const refused = await room.refusal("manageListRequests", { params, query });
    expect([refused.code, refused.param]).toEqual(["invalid_value", query.split("=")[0]]);
  });

  test("a request that is not in the log is 404", async () => {
    expect((await room.refusal("manageShowRequest", { params: { id: "chatcmpl-9" } })).code).toBe("not_found");
  });
});

describe("operation", () => {
  test("providers are listed with their credential source", async () => {
    const { data } = await room.ask("manageListProviders");
    expect(data).toContainEqual(
      expect.objectContaining({ slug: "sandbox-de", sandbox: true, connected: false, levels: ["L2"], setting: null }),
    );
  });

  test("doctor fails if one check fails or throws, and names it", async () => {
    const { ok, checks } = await room.ask("manageDoctor");
    expect(ok).toBe(false);
    expect(checks).toContainEqual({ name: "sound", ok: true, status: "ok", detail: "fine" });
    expect(checks).toContainEqual({ name: "journal", ok: false, status: "failed", detail: "the disk is full" });
    expect(checks).toContainEqual({
      name: "ledger",
      ok: true,
      status: "ok",
      detail: expect.stringMatching(/^the ledger balances; days/),
    });
    expect(checks).toContainEqual(expect.objectContaining({ name: "providers", ok: true }));
  });

  test("LOG-01 error codes that only appear in the log have an explanation too", async () => {
    const other = await openManageFixture();
    onTestFinished(() => other.close());
    const { id } = await other.ask("manageCreateWorkspace", { body: { slug: "lab" } });
    const ends = ["client_disconnected", "interrupted"];
    const ended = (errorCode: string) => ({ workspaceId: String(id), status: 499, errorCode, charge: null });
    await other.store.ingest(ends.map((code) => record(code, ended(code))));
    for (const code of ends) {
      const { error } = await other.ask("manageShowRequest", { params: { id: code } });
      expect(error).toEqual({ code, says: expect.stringMatching(/\.$/), next: expect.stringMatching(/\.$/) });
    }
  });

  test("BILL-07 doctor points to the journal of a killed instance if SQL lacks charges", async () => {
    const other = await openManageFixture();
    onTestFinished(() => other.close());
    const { id } = await other.ask("manageCreateWorkspace", { body: { slug: "lab" } });
    await other.state.credit(String(id), -5n);
    const { checks } = await other.ask("manageDoctor");
    const detail = expect.stringContaining("start it again with its DATA_DIR");
    expect(checks).toContainEqual({ name: "wallets", ok: false, status: "failed", detail });
  });
});

test("management responses match their published schemas", async () => {
  const said: Record<string, Parameters<ManageFixture["ask"]>[1]> = {
    manageShowKey: { params: { id: keyId } },
    manageShowRequest: { params: { id: "chatcmpl-1" } },
    manageListProviders: {},
    manageShowRouter: { params: { ...params, router: "plain" } },
    manageListRouterVersions: { params: { ...params, router: "plain" } },
    manageShowStatement: { params, query: "month=2026-11" },
    manageShowOrder: { params: { ...params, id: "ord_1" } },
    manageShowNode: { params: { ...params, node: "attic" } },
    manageShowCustomClass: { params: { ...params, class: "acme-projects" } },
  };
  await room.ask("manageCreateNode", { params, body: { name: "attic", country: "DE" } });
  await room.ask("managePutCustomClass", { ...said["manageShowCustomClass"], body: { terms: ["Blue Dune"] } });
  const workspaceId = room.directory.workspace(params.workspace)?.id ?? "";
  const order = { id: "ord_1", workspaceId, adapter: "webhook", reference: "a", currency: "EUR", nanos: 1n } as const;
  await room.store.payments.addOrder({ ...order, state: "open", createdAtMs: 1, paidAtMs: null, paymentId: null });
  await room.ask("managePutRouter", { params: { ...params, router: "plain" }, body: {} });
  for (const { id, answer, method } of MANAGE_ROUTES) {
    // Nobody has a key of their own in this room.
    if (method !== "GET" || answer.is !== "json" || id === "manageShowOwnKey") continue;
    const json = await room.ask(id, said[id] ?? { params });
    expect(answer.schema.safeParse(json).error, id).toBeUndefined();
  }
});
