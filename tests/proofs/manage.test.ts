import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProbesMade, ProofList, StandingList } from "../../src/contract/schemas/manage-proofs.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { honestly, systemOne } from "../support/proofs.ts";
import { connectedTo } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const GOOD = "typesafe:global:typesafe/jev-1.13.0";
const BAD = "typesafe:global:typesafe/jev-1.14.0";

let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  const honest = systemOne(honestly);
  // One of the two models is gone.
  upstream = await startUpstream((received) =>
    JSON.stringify(received.json).includes("jev-1.14") ? { status: 404, json: {} } : honest(received),
  );
  const env = { ...connectedTo(new Map([["typesafe", upstream]])), GATEWAY_SANDBOX: "off", GATEWAY_RPM_IP: "0" };
  gateway = await startGateway({ env });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const refusal = async (body: unknown) => {
  const { status, body: answer } = await gateway.call(gateway.adminToken, "/manage/probes", { body });
  return [status, answer.error.code, answer.error.param ?? null];
};

describe("DEC-02 management of proofs", () => {
  test("probes all, stores the results, and shows the state of each", async () => {
    const before = StandingList.parse(await gateway.manage("GET", "/proofs")).data;
    expect(before.map(({ endpoint, proven, last }) => [endpoint, proven, last])).toEqual([
      [GOOD, false, null],
      [BAD, false, null],
    ]);
    const made = ProbesMade.parse(await gateway.manage("POST", "/probes"));
    expect([made.ok, made.data.length]).toEqual([false, 2]);
    const after = StandingList.parse(await gateway.manage("GET", "/proofs")).data;
    expect(after).toMatchObject([
      { endpoint: GOOD, proven: true, failures: 0, last: { result: "proven" } },
      { endpoint: BAD, proven: false, proven_at: null, expires_at: null, failures: 1, last: { result: "failed" } },
    ]);
    const [good] = after;
    const days = (Date.parse(good?.expires_at ?? "") - Date.parse(good?.proven_at ?? "")) / 86_400_000;
    expect(days).toBe(30);
    const history = async (query: string) =>
      ProofList.parse(await gateway.manage("GET", `/probes?${query}`)).data.map(({ endpoint }) => endpoint);
    expect(new Set(await history(""))).toEqual(new Set([GOOD, BAD]));
    expect(await history(`endpoint=${encodeURIComponent(GOOD)}`)).toEqual([GOOD]);
    expect(await history("result=failed&surface=decisions")).toEqual([BAD]);
    expect(await history("surface=speech")).toEqual([]);
    const first = await gateway.manage("GET", "/probes?limit=1");
    const second = await gateway.manage("GET", `/probes?limit=1&cursor=${first.next}`);
    expect(new Set([first.data[0].endpoint, second.data[0].endpoint])).toEqual(new Set([GOOD, BAD]));
    expect(second.next).toBeNull();
    const [line] = (await gateway.manage("GET", "/audit?limit=1")).data;
    expect(line).toMatchObject({ action: "probes.run", target: null, detail: { proven: 1, failed: 1 } });
  });

  test("refuses unknown endpoints and those without probes", async () => {
    expect(await refusal({ endpoint: "unknown:eu:lab/nothing" })).toEqual([404, "not_found", null]);
    expect(await refusal({ endpoint: "deepinfra:us:openai/gpt-oss-120b" })).toEqual([400, "invalid_value", "endpoint"]);
    expect(await refusal({ endpoint: GOOD, surface: "speech" })).toEqual([400, "invalid_value", "endpoint"]);
    expect(await refusal({ surface: "chat" })).toEqual([400, "invalid_value", "surface"]);
    expect(await refusal({ model: "x" })).toEqual([400, "unsupported_parameter", "model"]);
  });

  test("gateway probe prints a line per endpoint and exits with the result", { timeout: 60_000 }, async () => {
    const all = await gateway.cli("probe");
    expect(all.code).toBe(1);
    const [good, bad, sum] = all.stdout.trim().split("\n");
    expect(good).toMatch(new RegExp(`^proven  decisions  ${GOOD}  .*0\\.98.*\\(\\d+ ms\\)$`));
    expect(bad).toMatch(new RegExp(`^failed  decisions  ${BAD}  `));
    expect(sum).toBe("1 of 2 proven");
    const one = await gateway.cli("probe", "--endpoint", GOOD, "--json");
    expect([one.code, one.stderr]).toEqual([0, ""]);
    expect(one.json).toMatchObject({ ok: true, data: [{ endpoint: GOOD, result: "proven", cause: "operator" }] });
    const none = await gateway.cli("probe", "--surface", "speech");
    expect([none.code, none.stdout]).toEqual([0, "No connected endpoint serves decisions or speech.\n"]);
    const unknown = await gateway.cli("probe", "--endpoint", "unknown:eu:lab/nothing");
    expect([unknown.code, unknown.stderr.includes("There is no endpoint")]).toEqual([1, true]);
    const list: Json = (await gateway.cli("proof", "list", "--json")).json;
    expect(list.data.map(({ endpoint, proven }: Json) => [endpoint, proven])).toEqual([
      [GOOD, true],
      [BAD, false],
    ]);
    const failed = await gateway.cli("proof", "history", "--result", "failed");
    expect([failed.code, failed.stdout.includes(BAD), failed.stdout.includes(GOOD)]).toEqual([0, true, false]);
  });
});
