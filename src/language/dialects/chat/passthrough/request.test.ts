import { expect, test } from "vitest";
import { ChatRequest } from "../../../../contract/schemas/chat.ts";
import { parseJsonText, patchMembers } from "../../../../kit/json.ts";
import { decodeRequest } from "../client/request.ts";
import { type OutputLimit, requestPatches } from "./request.ts";

const BARE = { model: "m", messages: [{ role: "user", content: "hi" }] };

function sent(more: Record<string, unknown>, outputLimit: OutputLimit | null = null): Record<string, unknown> {
  const body = parseJsonText(JSON.stringify({ ...BARE, ...more }));
  if ("problem" in body) throw new Error(body.problem);
  const request = ChatRequest.parse(body.value);
  const { model, messages, ...rest } = JSON.parse(
    patchMembers(
      body,
      requestPatches(request, decodeRequest(request), { upstreamModel: "up", outputLimit, quirks: [] }),
    ),
  );
  expect([model, messages]).toEqual(["up", BARE.messages]);
  return rest;
}

test("PARAM-04 null fields are never sent to a provider", () => {
  const nulls = Object.fromEntries(
    Object.keys(ChatRequest.shape).flatMap((field) => (field in BARE ? [] : [[field, null]])),
  );
  expect(sent(nulls)).toEqual({});
  expect(sent({ temperature: 0.5, ...nulls, seed: 7 })).toEqual({ seed: 7 });
});

test("PARAM-04 a null does not undo a member that the gateway writes", () => {
  expect(sent({ stream_options: null, stream: true })).toEqual({
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(sent({ reasoning_effort: null, reasoning: { effort: "low" } })).toEqual({ reasoning_effort: "low" });
  expect(sent({ max_tokens: null, max_completion_tokens: 9 }, "max_tokens")).toEqual({ max_tokens: 9 });
  expect(sent({ max_tokens: 9, max_completion_tokens: null }, "max_tokens")).toEqual({ max_tokens: 9 });
  const tools = [{ type: "function", function: { name: "f" } }];
  const chosen = sent({ tools, tool_choice: null, allowed_tools: ["f"] });
  expect(chosen).toMatchObject({ tool_choice: { type: "allowed_tools" } });
});

test("PARAM-01 max_tokens is sent under the server's name, or the client's if none is known", () => {
  expect(sent({ max_tokens: 5 }, "max_completion_tokens")).toEqual({ max_completion_tokens: 5 });
  expect(sent({ max_completion_tokens: 5 }, "max_tokens")).toEqual({ max_tokens: 5 });
  expect(sent({ max_tokens: 5, max_completion_tokens: 5 }, "max_completion_tokens")).toEqual({
    max_completion_tokens: 5,
  });
  expect(sent({ max_tokens: 5 })).toEqual({ max_tokens: 5 });
  expect(sent({ max_completion_tokens: 5 })).toEqual({ max_completion_tokens: 5 });
});

test("PARAM-01 contradicting names of max_tokens are rejected with both names", () => {
  const request = ChatRequest.parse({ ...BARE, max_tokens: 5, max_completion_tokens: 6 });
  expect(() => decodeRequest(request)).toThrow(/max_tokens.*max_completion_tokens.*5 and 6/);
});
