import { describe, expect, test } from "vitest";
import { parseJsonText } from "../../kit/json.ts";
import { ConversationMemory, SocketConversation } from "./socket-conversation.ts";

function eventOf(text: string) {
  const parsed = parseJsonText(text);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

const create = (more: object) => eventOf(JSON.stringify({ type: "response.create", model: "a/b", ...more }));
const completed = (id: string, more: object = {}) =>
  eventOf(
    JSON.stringify({
      type: "response.completed",
      response: { id, store: false, output: [{ type: "message" }], ...more },
    }),
  );

describe("a conversation of a connection", () => {
  test("RESP-20 the body of a create has no field of the event, and numbers keep their digits", () => {
    const conversation = new SocketConversation(new ConversationMemory(1000));
    const text =
      '{"type":"response.create","stream_id":"a","generate":true,"model":"a/b","input":"x","metadata":{"n":1.10}}';
    const { body, isWarmUp } = conversation.read(eventOf(text));
    expect(body.toString()).toBe('{"model":"a/b","input":"x","metadata":{"n":1.10},"stream":true}');
    expect(isWarmUp).toBe(false);
  });

  test("RESP-20 only the most recent response is continued, with its input and output before the new input", () => {
    const conversation = new SocketConversation(new ConversationMemory(1000));
    for (const id of ["r1", "r2"]) conversation.remember(conversation.read(create({ input: id })), completed(id));
    const read = (id: string) =>
      JSON.parse(conversation.read(create({ previous_response_id: id, input: [{ n: 3 }] })).body.toString());
    expect(read("r2")).toMatchObject({ input: [{ content: "r2" }, { type: "message" }, { n: 3 }] });
    expect(read("r2")).not.toHaveProperty("previous_response_id");
    expect(read("r1")).toMatchObject({ previous_response_id: "r1", input: [{ n: 3 }] });
  });

  test("RESP-20 a stored response is left to the store", () => {
    const conversation = new SocketConversation(new ConversationMemory(1000));
    conversation.remember(conversation.read(create({ input: "a" })), completed("r1", { store: true }));
    const { body } = conversation.read(create({ previous_response_id: "r1", input: "b" }));
    expect(JSON.parse(body.toString())).toMatchObject({ previous_response_id: "r1", input: "b" });
  });

  test("RESP-20 memory is bounded over all connections, and a closed one gives its share back", () => {
    const memory = new ConversationMemory(200);
    const [first, second] = [new SocketConversation(memory), new SocketConversation(memory)];
    const isKept = (conversation: SocketConversation, id: string) => {
      conversation.remember(conversation.read(create({ input: "a".repeat(80) })), completed(id));
      const { body } = conversation.read(create({ previous_response_id: id, input: "b" }));
      return !body.toString().includes("previous_response_id");
    };
    expect([isKept(first, "r1"), isKept(second, "r2")]).toEqual([true, false]);
    first.forget();
    expect(isKept(second, "r3")).toBe(true);
  });
});
