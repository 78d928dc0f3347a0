import OpenAI, { BadRequestError } from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The official client with models whose providers speak other dialects. */
let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const Report = z.object({ city: z.string(), degrees: z.number() });
const weather = zodResponsesFunction({
  name: "get_weather",
  description: "The weather of a city.",
  parameters: z.object({ city: z.string() }),
});

describe.each(["sandbox/claude", "sandbox/gemini", "sandbox/nova"])("%s", (model) => {
  test("RESP-02 create and the stream helper give the same text, usage and status", async () => {
    const reply = await client.responses.create({ model, input: "hello", store: false });
    expect(reply.output_text).toContain("You said: hello");
    expect(reply._request_id).toBe(reply.id);
    const deltas: string[] = [];
    const stream = client.responses.stream({ model, input: "hello", store: false });
    stream.on("response.output_text.delta", ({ delta }) => deltas.push(delta));
    const final = await stream.finalResponse();
    expect(deltas.length).toBeGreaterThan(1);
    expect([deltas.join(""), final.output_text]).toEqual([reply.output_text, reply.output_text]);
    expect(final.usage).toEqual(reply.usage);
    expect([final.status, reply.status]).toEqual(["completed", "completed"]);
  });

  test("RESP-02 the raw stream has sequence numbers without gaps", async () => {
    const stream = await client.responses.create({ model, input: "hello", store: false, stream: true });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(numbers.length).toBeGreaterThan(5);
  });

  test("RESP-02 a tool is called and its result is in the reply; reasoning is sent back with it", async () => {
    const request = {
      model,
      store: false,
      include: ["reasoning.encrypted_content" as const],
      reasoning: { effort: "low" as const, summary: "auto" as const },
      tools: [weather],
    };
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "get_weather" }];
    const first = await client.responses.parse({ ...request, input });
    const call = first.output.find(({ type }) => type === "function_call");
    if (call?.type !== "function_call") throw new Error("no tool was called");
    expect(z.object({ city: z.string() }).parse(call.parsed_arguments)).toEqual(call.parsed_arguments);
    const streamed = await client.responses.stream({ ...request, input }).finalResponse();
    expect(streamed.output.map(({ type }) => type)).toEqual(first.output.map(({ type }) => type));
    const thoughts = first.output.find(({ type }) => type === "reasoning");
    expect(thoughts?.type === "reasoning" && thoughts.summary[0]?.text).toBeTruthy();
    for (const item of first.output) if (item.type === "reasoning" || item.type === "function_call") input.push(item);
    input.push({ type: "function_call_output", call_id: call.call_id, output: "sunny" });
    const second = await client.responses.create({ ...request, input });
    expect(second.output_text).toContain("The tool get_weather answered: sunny");
  });

  test("RESP-02 parse and the stream helper give the same typed value", async () => {
    const request = { model, input: "hello", store: false, text: { format: zodTextFormat(Report, "report") } };
    const reply = await client.responses.parse(request);
    expect(Report.parse(reply.output_parsed)).toEqual(reply.output_parsed);
    const final = await client.responses.stream(request).finalResponse();
    expect(final.output_parsed).toEqual(reply.output_parsed);
  });

  test("RESP-02 a reply that was cut at its limit is incomplete", async () => {
    const request = { model, input: "hello", store: false, max_output_tokens: 2 };
    const reply = await client.responses.create(request);
    expect([reply.status, reply.incomplete_details]).toEqual(["incomplete", { reason: "max_output_tokens" }]);
    const final = await client.responses.stream(request).finalResponse();
    expect([final.status, final.output_text]).toEqual(["incomplete", reply.output_text]);
  });

  test("PARAM-04 an unsupported parameter is an error that names it", async () => {
    const request = { model, input: "hello", store: false, truncation: "auto" as const };
    const error = await client.responses.create(request).catch((problem: unknown) => problem);
    if (!(error instanceof BadRequestError)) throw error;
    expect([error.code, error.param]).toEqual(["unsupported_parameter", "truncation"]);
  });
});
