import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The official client against simulated providers, configured only with the gateway's URL and a key. */
const MODELS = ["sandbox/chat", "sandbox/gemini", "sandbox/nova", "sandbox/claude"] as const;

let gateway: TestGateway;
let client: Anthropic;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = clientOf({ authToken: gateway.key });
});
afterAll(() => gateway.close());

/** No retries, so that an error is the first response. */
const clientOf = (auth: { authToken?: string; apiKey?: string }) =>
  new Anthropic({ baseURL: gateway.url, apiKey: null, authToken: null, maxRetries: 0, ...auth });

const requestFor = (model: string, content = "Hello!") => ({
  model,
  max_tokens: 500,
  messages: [{ role: "user" as const, content }],
});

const WEATHER = {
  name: "get_weather",
  description: "The weather of a city.",
  input_schema: {
    type: "object" as const,
    properties: { city: { type: "string" as const, enum: ["Paris"] } },
    required: ["city"],
    additionalProperties: false as const,
  },
};

const textOf = (content: readonly { type: string }[]) =>
  content.map((block) => ("text" in block ? block.text : "")).join("");

describe.each(MODELS)("%s", (model) => {
  test("MSG-04 create: the message, its usage and the request id", async () => {
    const message = await client.messages.create(requestFor(model));
    expect(textOf(message.content)).toContain("You said: Hello!");
    expect(message).toMatchObject({ type: "message", role: "assistant", model, stop_reason: "end_turn" });
    expect(message._request_id).toBe(message.id);
    expect(message.usage.input_tokens).toBeGreaterThan(0);
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  test("MSG-04 create with a stream: the events in their order", async () => {
    const types: string[] = [];
    let text = "";
    for await (const event of await client.messages.create({ ...requestFor(model), stream: true })) {
      if (event.type !== "content_block_delta" && event.type !== types.at(-1)) types.push(event.type);
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    }
    expect([types[0], types[1], types.at(-2), types.at(-1)]).toEqual([
      "message_start",
      "content_block_start",
      "message_delta",
      "message_stop",
    ]);
    expect(text).toContain("You said: Hello!");
  });

  test("MSG-04 the stream helper: deltas, snapshot, final message", async () => {
    const stream = client.messages.stream(requestFor(model));
    const deltas: string[] = [];
    let snapshot = "";
    stream.on("text", (delta, all) => {
      deltas.push(delta);
      snapshot = all;
    });
    const message = await stream.finalMessage();
    expect(deltas.join("")).toBe(textOf(message.content));
    expect(snapshot).toBe(deltas.join(""));
    expect(await stream.finalText()).toBe(snapshot);
    expect(message.stop_reason).toBe("end_turn");
    expect(message.usage.output_tokens).toBeGreaterThan(1);
  });

  test("MSG-02 a stop sequence ends the text and is named if the provider reports it", async () => {
    const body = { ...requestFor(model, "one two three"), stop_sequences: ["three"] };
    const isNamed = model === "sandbox/claude" || model === "sandbox/nova";
    const ended = isNamed ? ["stop_sequence", "three"] : ["end_turn", null];
    for (const message of [await client.messages.create(body), await client.messages.stream(body).finalMessage()]) {
      expect(textOf(message.content)).toMatch(/one two $/);
      expect([message.stop_reason, message.stop_sequence]).toEqual(ended);
    }
  });

  test("MSG-04 the stream helper assembles a tool's input", async () => {
    const stream = client.messages.stream({ ...requestFor(model), tools: [WEATHER], tool_choice: { type: "any" } });
    const message = await stream.finalMessage();
    expect(message.stop_reason).toBe("tool_use");
    const call = message.content.find(({ type }) => type === "tool_use");
    expect(call).toMatchObject({ name: "get_weather", input: { city: "Paris" } });
  });

  test.each(["whole", "streamed"])("MSG-04 the tool runner continues until the model is done (%s)", async (way) => {
    const cities: unknown[] = [];
    const tool = betaTool({
      name: "get_weather",
      description: WEATHER.description,
      inputSchema: WEATHER.input_schema,
      run: ({ city }) => {
        cities.push(city);
        return `sunny in ${city}`;
      },
    });
    const params = { ...requestFor(model, "What does get_weather say?"), tools: [tool] };
    const runner =
      way === "whole"
        ? client.beta.messages.toolRunner(params)
        : client.beta.messages.toolRunner({ ...params, stream: true });
    const last = await runner.runUntilDone();
    expect(cities).toEqual(["Paris"]);
    expect(textOf(last.content)).toContain("sunny in Paris");
    expect(last.stop_reason).toBe("end_turn");
  });

  test("MSG-04 reasoning makes the round trip with its signature", async () => {
    const thinking = { type: "adaptive" as const };
    const question = requestFor(model, "What does get_weather say?");
    const first = await client.messages.create({ ...question, thinking, tools: [WEATHER] });
    const call = first.content.find((block) => block.type === "tool_use");
    expect(first.content.some(({ type }) => type === "thinking")).toBe(true);
    const second = await client.messages.create({
      ...question,
      thinking,
      tools: [WEATHER],
      messages: [
        ...question.messages,
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "sunny" }] },
      ],
    });
    expect(textOf(second.content)).toContain("sunny");
  });
});

describe("keys and errors", () => {
  test("MSG-04 AUTH-01 AUTH-02 both ways to send a key", async () => {
    for (const auth of [{ authToken: gateway.key }, { apiKey: gateway.key }]) {
      const message = await clientOf(auth).messages.create(requestFor("sandbox/chat"));
      expect(message.type).toBe("message");
    }
  });

  const thrownBy = async (call: Promise<unknown>): Promise<APIError> => {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof APIError)) throw new Error(`no error of the client: ${error}`);
    return error;
  };

  test("MSG-04 ERR-03 the client raises its typed errors, with the gateway's message and id", async () => {
    const { slug } = await gateway.tenant();
    const limited = await gateway.tenant({ key: { rpm: 1, environment: "live" } });
    await gateway.manage("PATCH", `/workspaces/${slug}/policy`, { floor: "L4" });
    const strict = await gateway.manage("POST", `/workspaces/${slug}/keys`, { name: "k", environment: "live" });
    await clientOf({ authToken: limited.key }).messages.create(requestFor("sandbox/chat"));
    const by = (authToken: string, model = "sandbox/chat", max_tokens = 10) =>
      clientOf({ authToken }).messages.create({ ...requestFor(model), max_tokens });
    const cases: [() => Promise<unknown>, abstract new (...given: never[]) => APIError, string][] = [
      [() => by("sk_svc_live_bad"), AuthenticationError, "invalid_api_key"],
      [() => by(strict.key), PermissionDeniedError, "sovereignty_floor_not_met"],
      [() => by(limited.key), RateLimitError, "rate_limit_exceeded"],
      [() => by(gateway.key, "sandbox/chat", -1), BadRequestError, "invalid_value"],
      [() => by(gateway.key, "no/model"), NotFoundError, "model_not_found"],
    ];
    for (const [call, kind, code] of cases) {
      const error = await thrownBy(call());
      expect(error).toBeInstanceOf(kind);
      expect(error.error).toMatchObject({ type: "error", error: { code } });
      expect(error.requestID).toMatch(/^msg_/);
    }
  });

  test("MSG-04 ERR-02 a broken stream raises an error in the helper", async () => {
    const error = await thrownBy(client.messages.stream(requestFor("sandbox/cut")).finalMessage());
    expect(error.message).toContain("failed before the end");
  });

  test("MSG-04 MSG-05 auto, and the models a key may use", async () => {
    const message = await client.messages.create(requestFor("auto"));
    expect(message.model).toMatch(/^sandbox\//);
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(expect.arrayContaining([...MODELS]));
    expect((await client.models.retrieve("sandbox/chat")).display_name).not.toBe("");
  });
});
