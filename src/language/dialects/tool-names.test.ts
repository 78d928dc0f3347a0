import { expect, test } from "vitest";
import { callOf } from "../../../tests/support/converse.ts";
import { shortenToolNames, TOOL_NAME_MAX } from "./tool-names.ts";

const LONG = "a".repeat(TOOL_NAME_MAX + 1);
const FITTING = "a".repeat(TOOL_NAME_MAX);
const tool = (name: string) => ({ name, description: null, schema: null, strict: null });

test("CHAT-03 a call whose names all fit is unchanged", () => {
  const call = { ...callOf({}), tools: [tool(FITTING)] };
  expect(shortenToolNames(call, TOOL_NAME_MAX).call).toBe(call);
});

test("CHAT-03 tools that are only allowed or only in the history get the same short name as defined ones", () => {
  const part = { is: "tool_call" as const, id: "a", name: LONG, argumentsText: "{}" };
  const shortIn = (more: object) => shortenToolNames({ ...callOf({}), ...more }, TOOL_NAME_MAX).call;
  const name = shortIn({ tools: [tool(LONG)] }).tools[0]?.name;
  expect(name).toMatch(/^a{10}_[0-9a-f]{12}_a{40}$/);
  expect(shortIn({ openAiParameters: { allowed_tools: [FITTING, LONG], user: "u" } }).openAiParameters).toEqual({
    allowed_tools: [FITTING, name],
    user: "u",
  });
  expect(shortIn({ turns: [{ role: "assistant", parts: [part] }] }).turns[0]?.parts).toEqual([{ ...part, name }]);
});

test("CHAT-03 an unreadable frame stays unreadable", () => {
  const { reader } = shortenToolNames({ ...callOf({}), tools: [tool(LONG)] }, TOOL_NAME_MAX);
  expect(reader({ read: () => undefined }).read({ event: null, data: "" })).toBeUndefined();
});
