import { expect, test } from "vitest";
import { messagesUpstream } from "./dialect.ts";

test("CHAT-03 CHAT-05 unclosed blocks complete at the end of the message", () => {
  const reader = messagesUpstream.openReader();
  const events = [
    { type: "message_start", message: { id: "msg_1" } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "toolu_1", name: "now", input: {} },
    },
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ].flatMap((event) => reader.read({ event: null, data: JSON.stringify(event) }) ?? []);
  expect(events.slice(-4)).toEqual([
    { is: "reasoning_detail", detail: { is: "readable", text: "hm", signature: { family: "anthropic", data: "sig" } } },
    { is: "tool_arguments", index: 0, text: "{}" },
    { is: "finish", reason: "tool_calls" },
    { is: "end" },
  ]);
});

test("ROUTE-04 a stream that ends before it began is malformed, so the gateway fails over", () => {
  const reader = messagesUpstream.openReader();
  expect(reader.read({ event: "message_stop", data: JSON.stringify({ type: "message_stop" }) })).toBeUndefined();
});
