import OpenAI, { NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

/** One that the sandbox serves in the dialect, and one through the canon. */
describe.each(["sandbox/chat", "sandbox/claude"])("%s", (model) => {
  test("RESP-03 create, retrieve, continue, list the input and delete", async () => {
    const first = await client.responses.create({ model, input: "My name is Ada." });
    expect((await client.responses.retrieve(first.id)).output_text).toBe(first.output_text);
    const second = await client.responses.create({ model, input: "And now?", previous_response_id: first.id });
    const items = [];
    for await (const item of client.responses.inputItems.list(second.id, { order: "asc", limit: 1 })) items.push(item);
    expect(items.map((item) => item.type)).toEqual(["message", "message", "message"]);
    expect(new Set(items.map(({ id }) => id)).size).toBe(3);
    await client.responses.delete(first.id);
    await expect(client.responses.retrieve(first.id)).rejects.toBeInstanceOf(NotFoundError);
    expect((await client.responses.retrieve(second.id, { include: ["reasoning.encrypted_content"] })).id).toBe(
      second.id,
    );
  });

  test("RESP-04 background: created, polled until completed", async () => {
    const { id, status } = await client.responses.create({ model, input: "Think.", background: true });
    expect(status).toBe("queued");
    const done = await eventually(async () => {
      const found = await client.responses.retrieve(id);
      expect(found.status).toBe("completed");
      return found;
    });
    expect(done.output_text).not.toBe("");
    expect((await client.responses.cancel(id)).status).toBe("completed");
  });

  test("RESP-04 background stream: disconnected and resumed, nothing is missing", async () => {
    const stream = await client.responses.create({ model, input: "Tell me.", background: true, stream: true });
    let id = "";
    let cursor = -1;
    let text = "";
    for await (const event of stream) {
      if (event.type === "response.created") id = event.response.id;
      cursor = event.sequence_number;
      if (event.type !== "response.output_text.delta") continue;
      text += event.delta;
      break;
    }
    const rest = await client.responses.retrieve(id, { stream: true, starting_after: cursor });
    for await (const event of rest) {
      expect(event.sequence_number).toBe(cursor + 1);
      cursor = event.sequence_number;
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.completed") expect(event.response.output_text ?? text).toBe(text);
    }
    expect((await client.responses.retrieve(id)).output_text).toBe(text);
  });

  test("RESP-04 the stream helper resumes a response by its id", async () => {
    const { id } = await client.responses
      .create({ model, input: "Tell me.", background: true, stream: true })
      .then(async (stream) => {
        for await (const event of stream) if (event.type === "response.created") return event.response;
        throw new Error("nothing was created");
      });
    const final = await client.responses.stream({ response_id: id, model }).finalResponse();
    expect([final.id, final.status]).toEqual([id, "completed"]);
  });
});
