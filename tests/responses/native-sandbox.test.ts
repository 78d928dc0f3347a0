import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Called, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { eventsIn } from "../support/responses-native.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0", GATEWAY_RPM_LIVE: "1000000" } });
});
afterAll(() => gateway.close());

const TOOL = {
  type: "function",
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const THINKING = { reasoning: { effort: "low", summary: "auto" } };

async function ask(key: string, body: Record<string, unknown>): Promise<Called> {
  const called = await gateway.call(key, "/v1/responses", { body: { model: "sandbox/chat", ...body } });
  expect(called.status, called.text).toBe(200);
  return called;
}

const servedBy = ({ headers }: Called) => [headers.get("x-svc-provider"), headers.get("x-svc-upstream-surface")];
const NATIVE = ["sandbox-us", "responses"];
const TRANSLATED = ["sandbox-de", "chat"];
const textOf = ({ output }: Json): string => output.at(-1).content[0].text;
const outputOf = (call: Json) => ({ type: "function_call_output", call_id: call.call_id, output: "sunny" });

describe("the simulated provider that speaks the dialect and stores nothing", () => {
  test("RESP-01 answers through the gateway, whole and in a stream", async () => {
    const { key } = await gateway.tenant();
    const whole = await ask(key, { input: "hello" });
    expect(servedBy(whole)).toEqual(NATIVE);
    expect(textOf(whole.body)).toBe("[simulated by sandbox-us] You said: hello");
    const stream = await ask(key, { input: "hello", stream: true });
    expect(servedBy(stream)).toEqual(NATIVE);
    const events = eventsIn(stream.text);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const { response } = events.at(-1);
    expect(textOf(response)).toBe(textOf(whole.body));
    expect(response.usage).toEqual(whole.body.usage);
    expect(response.usage.cost).toBeGreaterThan(0);
  });

  test.each(["whole", "frames"])(
    "RESP-01 RESP-05 a stored conversation with reasoning continues at a provider that stores nothing (%s)",
    async (streaming) => {
      const { key } = await gateway.tenant();
      const stream = streaming === "frames";
      const first = await ask(key, { ...THINKING, stream, tools: [TOOL], input: "get_weather please" });
      const begun = stream ? eventsIn(first.text).at(-1).response : first.body;
      expect(begun).toMatchObject({ store: true, previous_response_id: null });
      const [thought, call] = begun.output;
      expect(thought.encrypted_content).toMatch(/^gw1:responses\.sandbox-us:sim\./);
      const next = { tools: [TOOL], previous_response_id: begun.id, input: [outputOf(call)] };
      const second = await ask(key, next);
      expect(servedBy(second)).toEqual(NATIVE);
      expect(second.body.previous_response_id).toBe(begun.id);
      expect(textOf(second.body)).toContain("The tool get_weather answered: sunny");
    },
  );

  test("RESP-01 a caller that keeps the conversation itself sends back what it received, with ids", async () => {
    const { key } = await gateway.tenant();
    const question = { role: "user", content: "get_weather please" };
    const include = ["reasoning.encrypted_content"];
    const rest = { ...THINKING, tools: [TOOL], store: false, include };
    const { body } = await ask(key, { ...rest, input: [question] });
    expect(body.store).toBe(false);
    const input = [question, ...body.output, outputOf(body.output.at(-1))];
    const second = await ask(key, { ...rest, input });
    expect(servedBy(second)).toEqual(NATIVE);
    expect(textOf(second.body)).toContain("sunny");
  });

  test("RESP-02 RESP-05 a conversation moves to a provider of another dialect and back", async () => {
    const tenant = await gateway.tenant();
    const { key, slug } = tenant;
    const floor = (level: string | null) => gateway.manage("PATCH", `/workspaces/${slug}/policy`, { floor: level });
    const first = await ask(key, { ...THINKING, input: "one" });
    expect(servedBy(first)).toEqual(NATIVE);
    await floor("L2");
    const second = await ask(key, { ...THINKING, previous_response_id: first.body.id, input: "two" });
    expect(servedBy(second)).toEqual(TRANSLATED);
    await floor(null);
    const third = await ask(key, { ...THINKING, previous_response_id: second.body.id, input: "three" });
    expect(servedBy(third)).toEqual(NATIVE);
    expect(textOf(third.body)).toContain("three");
    // Five messages precede the last reply's own: the three inputs, and the two replies between them.
    expect(third.body.output[0].summary[0].text).toContain("5 messages");
  });

  test("ROUTE-04 RESP-02 a failed request fails over, and a broken stream ends with an error", async () => {
    const { key } = await gateway.tenant();
    const moved = await ask(key, { model: "sandbox/fail-over", input: "hello" });
    expect(servedBy(moved)).toEqual(TRANSLATED);
    expect(textOf(moved.body)).toBe("[simulated by sandbox-de] You said: hello");
    const cut = await ask(key, { model: "sandbox/cut", input: "hello again and again", stream: true });
    expect(eventsIn(cut.text).slice(-2)).toMatchObject([
      { type: "error", code: "upstream_error" },
      { type: "response.failed", response: { status: "failed" } },
    ]);
    const limited = await gateway.call(key, "/v1/responses", { body: { model: "sandbox/fail-429", input: "x" } });
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
  });
});
