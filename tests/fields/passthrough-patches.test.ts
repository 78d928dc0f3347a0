import { readFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { messageJson } from "../support/messages.ts";
import { responseJson } from "../support/responses-native.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { openScene, type Provider } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const DECISION = path.resolve(import.meta.dirname, "../../docs/decisions/0008-passthrough-bytes.md");

/** The members that the decision lists for a format, in its table with this first column. */
function listedMembers(column: "format" | "reply of", format: string): string[] {
  const [, table = ""] = readFileSync(DECISION, "utf8").split(`| ${column} | member | patch |\n`);
  const rows = (table.split("\n\n")[0] ?? "").split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
  const own = rows.filter(([, name]) => name === "all" || name === format);
  return own.flatMap(([, , members = ""]) => [...members.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
}

function changedMembers(before: JsonObject, after: unknown): string[] {
  const sent = isJsonObject(after) ? after : {};
  const names = new Set([...Object.keys(before), ...Object.keys(sent)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], sent[name]));
}

const USER = { role: "user", content: "Hello", x_unknown: 1 };
const HINTS = { session_id: "s", cost_tier: "low", remaining_turns: 2 };
const CASES = [
  {
    format: "chat",
    url: "/v1/chat/completions",
    provider: "deepinfra",
    model: "alibaba/qwen3.8-27b",
    body: { messages: [USER], temperature: 0.3, stop: ["x"], seed: 7, user: "u", reasoning: "low", max_tokens: 9 },
    reply: { ...chatJson(), x_unknown: { a: 1 } },
  },
  {
    format: "messages",
    url: "/v1/messages",
    provider: "anthropic",
    model: "anthropic/claude-sonnet-4-6",
    body: { messages: [USER], max_tokens: 9, metadata: { user_id: "u" }, x_unknown: [1], stop_sequences: ["x"] },
    reply: { ...messageJson([{ type: "text", text: "Hi" }]), x_unknown: { a: 1 } },
  },
  {
    format: "responses",
    url: "/v1/responses",
    provider: RESPONSES_COLUMN.provider,
    model: RESPONSES_COLUMN.model,
    body: { input: [USER], store: false, metadata: { a: "b" }, x_unknown: [1], truncation: "auto" },
    reply: responseJson({ x_unknown: { a: 1 } }),
    env: responsesAlone,
  },
] as const;

test.each(CASES)(
  "PARAM-07 MSG-01 the passthrough path of $format changes only what decision 0008 lists, both ways",
  async ({ format, url, provider, model, body, reply, ...more }) => {
    const scene = await openScene([provider as Provider], "env" in more ? more.env() : {});
    try {
      const { key } = await scene.gateway.tenant();
      scene.at(provider as Provider).always({ json: reply });
      const sent = { ...body, ...HINTS, model };
      const answer = await scene.gateway.call(key, url, { body: sent });
      expect(answer.status, answer.text).toBe(200);
      const received = scene.at(provider as Provider).requests.at(-1)?.json;
      const requests = changedMembers(sent, received);
      expect(requests.filter((name) => !listedMembers("format", format).includes(name))).toEqual([]);
      expect(requests).toEqual(expect.arrayContaining(["model", "session_id"]));
      const replies = changedMembers(reply, answer.body);
      expect(replies.filter((name) => !listedMembers("reply of", format).includes(name))).toEqual([]);
      expect(replies).toEqual(expect.arrayContaining(["id"]));
      expect(answer.headers.has("x-svc-omitted")).toBe(false);
    } finally {
      await scene.close();
    }
  },
);
