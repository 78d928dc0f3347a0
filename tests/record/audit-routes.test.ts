import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { tokenOf } from "../support/people.ts";
import { type Cluster, hasPostgres, startCluster } from "../support/postgres.ts";
import { chatBody, connectedTo } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** Routes that change nothing here, with the reason. */
const SILENT: Readonly<Record<string, string>> = {
  manageExplainRouting: "a dry run",
  managePreviewPolicy: "a dry run",
  manageTryDataClasses: "a dry run",
  manageReplayRouter: "a dry run over past traffic",
  manageFetchRates: "asks the network; what it brings is written as `rates.change`, like rates that are sent",
};

/** Routes of a person's own account: tests/people checks their audit lines. */
const BY_PEOPLE = ["manageIssuePlaygroundKey", "peopleChangeMe", "peopleEndOtherSessions", "peopleEndSession"];

const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};
/** Without a key in the environment the gateway generates one and can rotate it itself. */
const { GATEWAY_MASTER_KEY: _, ...OWN_SECRETS } = SECRETS;
const SOON = new Date(Date.now() + 86_400_000).toISOString();
const OWN_KEY = "own-canary-4b825dc642cb6eb9a060e54bf8d69288";
/** The rest of the URL is a secret. */
/** What a workspace looks for says what it keeps secret. */
const TERM = "term-canary-3c59dc048e885024";
const HOOK_PATH = "/path-canary-0cc175b9c0f1b6a8";

let upstream: Upstream;
let cluster: Cluster | undefined;
beforeAll(async () => {
  upstream = await startUpstream();
  cluster = hasPostgres ? await startCluster() : undefined;
}, 60_000);
afterAll(async () => {
  await upstream.close();
  await cluster?.close();
});

type Step = readonly [path: string, body?: unknown];

/** A call of every mutating route, in an order in which each finds what it changes. */
async function* steps(
  gateway: TestGateway,
  engine: string,
): AsyncGenerator<readonly [id: string, step: Step], void, Json> {
  const ws = "/workspaces/audited";
  yield ["manageCreateWorkspace", ["/workspaces", { slug: "audited" }]];
  yield ["manageChangeWorkspace", [ws, { name: "Audited research" }]];
  yield ["manageCreditWallet", [`${ws}/wallet/credits`, { amount: "10" }]];
  yield [
    "manageAdjustWallet",
    [`${ws}/wallet/adjustments`, { direction: "down", amount: "1", reference: "a", reason: "r" }],
  ];
  yield ["manageGrantPromotion", [`${ws}/wallet/promotions`, { amount: "1", expires_at: SOON, reference: "p" }]];
  yield ["manageCreateOrder", [`${ws}/wallet/orders`, { amount: "5", currency: "EUR", reference: "o" }]];
  yield ["manageChangeKeyPolicy", [`${ws}/key-policy`, { personal_keys: true, approval: true }]];
  const token: Json = yield ["manageCreateToken", [`${ws}/tokens`, { name: "terraform", access: "read" }]];
  yield ["manageRemoveToken", [`${ws}/tokens/${token.id}`]];
  yield ["manageAddMember", [`${ws}/members`, { email: "ada@example.eu" }]];
  yield ["manageChangeMember", [`${ws}/members/ada@example.eu`, { role: "admin" }]];
  const plain: Json = yield ["manageCreateKey", [`${ws}/keys`, { environment: "live" }]];
  const answer = await gateway.call(plain.key, "/v1/chat/completions", { body: chatBody() });
  expect(answer.status).toBe(200);
  yield ["manageRefund", [`${ws}/wallet/refunds`, { request: answer.body.id, reference: "t", reason: "r" }]];
  const stored = await gateway.call(plain.key, "/v1/responses", {
    body: { model: chatBody()["model"], input: "Hello.", store: true },
  });
  expect(stored.status).toBe(200);
  yield ["manageDeleteResponse", [`${ws}/responses/${stored.body.id}`]];
  yield ["managePurgeResponses", [`${ws}/responses`]];
  yield ["managePurgeCache", [`${ws}/cache`]];
  const personal: Json = yield ["manageCreateKey", [`${ws}/keys`, { member: "ada@example.eu" }]];
  yield ["manageApproveKey", [`/keys/${personal.id}/approve`]];
  yield ["manageChangeKey", [`/keys/${personal.id}`, { rpm: 5 }]];
  const next: Json = yield ["manageRotateKey", [`/keys/${personal.id}/rotate`, { grace: "1d" }]];
  yield ["manageRevokeKey", [`/keys/${next.id}/revoke`]];
  yield ["managePutLimits", [`${ws}/limits`, { day: "5.00" }]];
  yield ["managePutMargin", [`${ws}/margin`, { margin: "0.05" }]];
  yield ["managePostRates", ["/rates", { rates: { USD: "1.1604" }, date: "2026-11-13" }]];
  yield ["managePutRouter", [`${ws}/routers/fast`, { weights: { latency: 1 } }]];
  yield ["manageRemoveRouter", [`${ws}/routers/fast`]];
  yield ["manageRestoreRouter", [`${ws}/routers/fast/restore`, { version: 1 }]];
  yield ["managePutOwnKey", [`${ws}/providers/deepinfra`, { key: OWN_KEY, skip_test: true }]];
  yield ["managePutProvider", ["/providers/deepinfra", { key: OWN_KEY, skip_test: true }]];
  yield ["manageDeleteProvider", ["/providers/deepinfra"]];
  yield ["manageTestProvider", ["/providers/deepinfra/test", { workspace: "audited" }]];
  yield ["manageTestOwnKey", [`${ws}/providers/deepinfra/test`]];
  yield ["manageChangeOwnKey", [`${ws}/providers/deepinfra`, { use: "only" }]];
  yield ["manageDeleteOwnKey", [`${ws}/providers/deepinfra`]];
  yield ["manageCreateNode", [`${ws}/nodes`, { name: "rack", country: "DE" }]];
  yield ["manageChangeNode", [`${ws}/nodes/rack`, { country: "FR" }]];
  const attestation = { level: "L3", name: "Ada", reason: "our own building" };
  yield ["manageAttestNode", [`${ws}/nodes/rack/attestation`, attestation]];
  yield ["manageWithdrawAttestation", [`${ws}/nodes/rack/attestation`]];
  yield ["manageRotateNode", [`${ws}/nodes/rack/rotate`]];
  yield ["manageRemoveNode", [`${ws}/nodes/rack`]];
  yield [
    "managePutAlerts",
    [`${ws}/alerts`, { low_balance: "10.00", webhook_url: new URL(HOOK_PATH, upstream.baseUrl).href }],
  ];
  yield ["manageTestAlerts", [`${ws}/alerts/test`]];
  yield ["manageRotateAlertSecret", [`${ws}/alerts/rotate-secret`]];
  yield ["manageDeleteAlerts", [`${ws}/alerts`]];
  const opened: Json = yield ["manageOpenCapture", [`${ws}/capture-windows`, { minutes: 1 }]];
  yield ["manageCloseCapture", [`/capture-windows/${opened.id}/close`, {}]];
  yield ["manageRunProbes", ["/probes", { surface: "decisions" }]];
  if (engine === "SQLite") yield ["manageRotateMasterKey", ["/master-key/rotate"]];
  yield ["managePutCustomClass", [`${ws}/data-classes/acme-projects`, { terms: [TERM] }]];
  yield ["manageDeleteCustomClass", [`${ws}/data-classes/acme-projects`]];
  yield ["manageChangePolicy", [`${ws}/policy`, { floor: "L2" }]];
  yield* stepsOfPeople(gateway, ws);
}

const ACCOUNT = { name: "Grace", password: "three green bicycles" };

async function* stepsOfPeople(
  gateway: TestGateway,
  ws: string,
): AsyncGenerator<readonly [id: string, step: Step], void, Json> {
  const setup: Json = yield ["peopleMakeSetupLink", ["/setup-link"]];
  const token = tokenOf(setup.link);
  await gateway.call("", "/manage/setup", { body: { ...ACCOUNT, token, email: "grace@example.eu" } });
  const taken: Json = yield ["peopleInvite", [`${ws}/invitations`, { email: "x@example.eu" }]];
  yield ["peopleRevokeInvitation", [`${ws}/invitations/${taken.id}`]];
  const invited: Json = yield ["peopleInvite", [`${ws}/invitations`, { email: "ada@example.eu" }]];
  await gateway.call("", `/manage/invitations/${tokenOf(invited.link)}/accept`, { body: ACCOUNT });
  const [{ id }] = (await gateway.manage("GET", "/people?limit=1")).data;
  const person = `/people/${id}`;
  const session = await gateway.call("", "/manage/auth/sign-in/email", {
    body: { email: "ada@example.eu", password: ACCOUNT.password },
  });
  await gateway.call(session.body.token, "/manage/me");
  yield ["peopleResetMember", [`${ws}/members/ada@example.eu/reset-link`]];
  yield ["peopleReset", [`${person}/reset-link`]];
  yield ["peopleEndAllSessions", [`${person}/sessions`]];
  yield ["peopleSetOperator", [`${person}/operator`, { operator: true }]];
  yield ["peopleSetDisabled", [`${person}/disable`, { disabled: true }]];
  yield ["manageRemoveMember", [`${ws}/members/ada@example.eu`]];
  yield ["peopleErase", [`${person}/erase`]];
}

const changing = ROUTES.filter(({ access, method }) => access.by === "manager" && method !== "GET");

describe.each(["SQLite", ...(hasPostgres ? ["PostgreSQL"] : [])])("every mutating route, on %s", (engine) => {
  test("LOG-05 writes an audit line without any secret", { timeout: 60_000 }, async () => {
    const database = engine === "SQLite" ? undefined : await cluster?.database("empty");
    const gateway = await startGateway({
      env: {
        ...(database === undefined ? OWN_SECRETS : SECRETS),
        ...connectedTo(new Map([["deepinfra", upstream]])),
        ...(database === undefined ? {} : { DATABASE_URL: database.url }),
        GATEWAY_RPM_IP: "0",
        GATEWAY_WEBHOOK_PRIVATE: "on",
        GATEWAY_PAYMENTS: "webhook",
        GATEWAY_PAYMENT_WEBHOOK_SECRETS: "secret-of-payments-7215ee9c7d9dc229d2921a40e899ec5f",
      },
    });
    const seen = new Set<string>();
    // Not only the newest: lines of one millisecond have no order.
    const fresh = async (): Promise<Json[]> => {
      const { data } = await gateway.manage("GET", "/audit?limit=1000");
      const lines = data.filter((line: Json) => !seen.has(line.id));
      for (const { id } of lines) seen.add(id);
      return lines;
    };
    const secrets = [OWN_KEY, HOOK_PATH, TERM, ...Object.values(SECRETS)];
    const called = new Set<string>();
    try {
      const run = steps(gateway, engine);
      for (let at = await run.next(); at.done !== true; ) {
        const [id, [path, body]] = at.value;
        const route = changing.find((one) => one.id === id);
        await fresh();
        const answer = await gateway.manage(route?.method ?? "", path, body);
        const lines = await fresh();
        expect(lines, id).toContainEqual(expect.objectContaining({ actor: "operator" }));
        called.add(id);
        for (const field of ["key", "token", "webhook_secret"])
          if (typeof answer[field] === "string") secrets.push(answer[field]);
        if (typeof answer["link"] === "string") secrets.push(tokenOf(answer["link"]));
        at = await run.next(answer);
      }
      const lines = JSON.stringify((await gateway.manage("GET", "/audit?limit=1000")).data);
      for (const secret of secrets) expect(lines).not.toContain(secret);
    } finally {
      await gateway.close();
    }
    // The operator creates it there.
    if (engine === "PostgreSQL") called.add("manageRotateMasterKey");
    // Needs an enabled second factor: tests/people covers it.
    for (const id of [...BY_PEOPLE, "peopleDropSecondFactor"]) called.add(id);
    const missing = changing.map(({ id }) => id).filter((id) => !called.has(id) && SILENT[id] === undefined);
    expect(missing).toEqual([]);
  });
});
