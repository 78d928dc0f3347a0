import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import {
  CLAUDE_CODE_HEADERS,
  CLAUDE_CODE_PATH,
  claudeCodeBody,
  claudeCodeBudgetBody,
  claudeCodePlainBody,
  FIRST_TURN,
  LATER_TURN,
} from "./samples/claude-code.ts";

const { D1, D2, D3, D4 } = DIALECT_SCRIPTS;
const TURNS = [
  ["first", FIRST_TURN],
  ["later", LATER_TURN],
] as const;
const CALL = { id: "toolu_four", name: "Bash", input: { command: "cat made.txt" } };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene([D1, D2, D3, D4].map(({ provider }) => provider));
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const ask = (body: Json) =>
  scene.gateway.call(tenant.key, CLAUDE_CODE_PATH, { body, headers: { ...CLAUDE_CODE_HEADERS } });
const eventsOf = (text: string): Json[] =>
  text.split("\n\n").flatMap((block) => {
    const data = block.split("\n").find((line) => line.startsWith("data: "));
    return data === undefined ? [] : [JSON.parse(data.slice("data: ".length))];
  });

describe.each(TURNS)("Claude Code's %s turn", (_which, turns) => {
  test("MSG-01 reaches a Claude model with every field and every beta", async () => {
    const upstream = scene.at(D2.provider);
    upstream.next(D2.streamed({ text: "Done.", calls: [CALL] }));
    const body = claudeCodeBody(D2.model, turns);
    const { status, text } = await ask(body);
    expect(status).toBe(200);
    const received = upstream.requests.at(-1);
    expect(received?.json).toEqual({ ...body, model: D2.model.replace("anthropic/", "") });
    expect(received?.headers).toMatchObject({
      "anthropic-beta": CLAUDE_CODE_HEADERS["anthropic-beta"],
      "anthropic-version": "2023-06-01",
    });
    expect(eventsOf(text).at(-1)).toEqual({ type: "message_stop" });
  });

  test.each([
    ["chat completions", D1],
    ["Gemini", D3],
    ["Converse", D4],
  ])("MSG-02 is answered by a model behind %s, with a call of a client tool", async (_name, column) => {
    const upstream = scene.at(column.provider);
    for (const bodyOf of [claudeCodePlainBody, claudeCodeBudgetBody]) {
      upstream.next(column.streamed({ text: "I look.", calls: [CALL] }));
      const { status, text } = await ask(bodyOf(column.model, turns));
      expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
      const events = eventsOf(text);
      expect(events[0]).toMatchObject({ type: "message_start", message: { model: column.model } });
      const starts = events.filter(({ type }) => type === "content_block_start");
      expect(starts.at(-1)).toMatchObject({ content_block: { type: "tool_use", name: "Bash" } });
      const json = events.map(({ delta }) => delta?.partial_json ?? "").join("");
      expect(JSON.parse(json)).toEqual(CALL.input);
      expect(events.find(({ type }) => type === "message_delta")).toMatchObject({ delta: { stop_reason: "tool_use" } });
      // The content of user and tools has arrived, and so have the agent's reminders in between.
      const sent = upstream.requests.at(-1)?.raw.toString() ?? "";
      for (const part of ["Make a file made.txt", "# Environment", ...(turns === LATER_TURN ? ["toolu_three"] : [])])
        if (!(column === D3 && part === "toolu_three")) expect(sent).toContain(part);
    }
  });
});

test.each([true, false])(
  "MSG-01 a Claude reply has the requested model name, so that its reasoning is sent back (stream: %s)",
  async (stream) => {
    // The client treats reasoning under another model name as foreign and drops it from the next turn.
    const output = { thoughts: "I look.", text: "Done." };
    scene.at(D2.provider).next(stream ? D2.streamed(output) : D2.whole(output));
    const { text, body } = await ask({ ...claudeCodeBody(D2.model, FIRST_TURN), stream });
    const message = stream ? eventsOf(text)[0].message : body;
    expect(message).toMatchObject({ type: "message", model: D2.model });
  },
);

test("PARAM-04 deferred tools work with Claude models only; the refusal names them, and the client sends all", async () => {
  const { status, body } = await ask(claudeCodeBody(D1.model, FIRST_TURN));
  expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "tools.3.defer_loading"]);
});

describe("other requests of Claude Code", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  });
  afterAll(() => gateway.close());

  test.each(["sandbox/claude", "sandbox/chat", "sandbox/gemini", "sandbox/nova"])(
    "MSG-02 %s of the sandbox answers both turns",
    async (model) => {
      for (const [, turns] of TURNS) {
        const init = { body: claudeCodePlainBody(model, turns), headers: { ...CLAUDE_CODE_HEADERS } };
        const { status, text } = await gateway.call(gateway.key, CLAUDE_CODE_PATH, init);
        expect([status, eventsOf(text).at(-1)]).toEqual([200, { type: "message_stop" }]);
      }
    },
  );

  test("MOD-02 its list of models: ids and names, all on one page", async () => {
    const headers = { "anthropic-version": "2023-06-01", "user-agent": "claude-code/2.1.325" };
    const { status, body } = await gateway.call(gateway.key, "/v1/models?limit=1000", { headers });
    expect(status).toBe(200);
    expect(body).toMatchObject({ has_more: false, first_id: body.data[0].id, last_id: body.data.at(-1).id });
    for (const model of body.data)
      expect(model).toMatchObject({ type: "model", id: expect.any(String), display_name: expect.any(String) });
  });

  test("GEN-04 its connectivity check gets a JSON 404 without a key", async () => {
    const response = await fetch(`${gateway.url}/api/hello`, { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"]);
  });

  test("ERR-03 an invalid key is reported once: the client does not retry", async () => {
    const init = { body: claudeCodeBody("sandbox/claude", FIRST_TURN), headers: { ...CLAUDE_CODE_HEADERS } };
    const { status, headers, body } = await gateway.call("sk_svc_test_revoked", CLAUDE_CODE_PATH, init);
    expect([status, headers.get("x-should-retry")]).toEqual([401, "false"]);
    expect(body).toMatchObject({ type: "error", error: { type: "authentication_error" } });
  });

  test("MSG-02 a base URL with /v1 or with a whole path works or is named in the refusal", async () => {
    const init = { body: claudeCodeBody("sandbox/claude", FIRST_TURN), headers: { ...CLAUDE_CODE_HEADERS } };
    const doubled = await gateway.call(gateway.key, `/v1${CLAUDE_CODE_PATH}`, init);
    expect(doubled.status).toBe(200);
    const { status, body } = await gateway.call(gateway.key, `/v1/messages${CLAUDE_CODE_PATH}`, init);
    expect([status, body.error.message]).toEqual([404, expect.stringContaining("base URL without /v1")]);
  });
});
