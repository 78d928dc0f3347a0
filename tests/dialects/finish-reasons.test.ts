import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS, type ModelOutput } from "../support/dialect-scripts.ts";
import type { Tenant } from "../support/gateway.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { chunksOf, openScene, type Scene } from "../support/scene.ts";

const TEXT: ModelOutput = { text: "Hello." };
const CALLS: ModelOutput = {
  text: "Let me see.",
  calls: [{ id: "call_1", name: "weather", input: { city: "Paris" } }],
};
const TOOLS = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];

/** What each provider reports, and what the caller gets. */
const REASONS: Readonly<
  Record<keyof typeof DIALECT_SCRIPTS | "responses", readonly (readonly [string | undefined, ModelOutput, string])[]>
> = {
  D1: [
    ["stop", TEXT, "stop"],
    ["length", TEXT, "length"],
    ["tool_calls", CALLS, "tool_calls"],
    ["content_filter", TEXT, "content_filter"],
  ],
  D2: [
    ["end_turn", TEXT, "stop"],
    ["stop_sequence", TEXT, "stop"],
    ["max_tokens", TEXT, "length"],
    ["model_context_window_exceeded", TEXT, "length"],
    ["tool_use", CALLS, "tool_calls"],
    ["refusal", TEXT, "content_filter"],
  ],
  D3: [
    ["STOP", TEXT, "stop"],
    ["MAX_TOKENS", TEXT, "length"],
    ["STOP", CALLS, "tool_calls"],
    ["SAFETY", TEXT, "content_filter"],
    ["RECITATION", TEXT, "content_filter"],
    ["PROHIBITED_CONTENT", TEXT, "content_filter"],
  ],
  D4: [
    ["end_turn", TEXT, "stop"],
    ["stop_sequence", TEXT, "stop"],
    ["max_tokens", TEXT, "length"],
    ["model_context_window_exceeded", TEXT, "length"],
    ["tool_use", CALLS, "tool_calls"],
    ["guardrail_intervened", TEXT, "content_filter"],
    ["content_filtered", TEXT, "content_filter"],
  ],
  responses: [
    [undefined, TEXT, "stop"],
    [undefined, CALLS, "tool_calls"],
    ["max_output_tokens", TEXT, "length"],
    ["content_filter", TEXT, "content_filter"],
  ],
};

describe.each(Object.entries({ ...DIALECT_SCRIPTS, responses: RESPONSES_COLUMN }))(
  "%s",
  (dialect, { provider, model, whole, streamed }) => {
    let scene: Scene;
    let tenant: Tenant;
    beforeAll(async () => {
      scene = await openScene([provider], dialect === "responses" ? responsesAlone() : {});
      tenant = await scene.gateway.tenant();
    });
    afterAll(() => scene.close());
    const ask = (more: object) => scene.chat(tenant.key, { model, tools: TOOLS, ...more });
    const reasons = Object.entries(REASONS).find(([name]) => name === dialect)?.[1] ?? [];

    test.each(reasons)(
      "CHAT-08 %s is reported whole and in a stream, once and last (%#)",
      async (stop, output, expected) => {
        scene.at(provider).next(whole({ ...output, stop }));
        const { status, body } = await ask({});
        expect(status, JSON.stringify(body)).toBe(200);
        expect(body.choices[0].finish_reason).toBe(expected);
        expect(body.choices[0].message.content).toBe(output.text);

        scene.at(provider).next(streamed({ ...output, stop }));
        const { text } = await ask({ stream: true });
        const chunks = chunksOf(text);
        const finishes = chunks.map((chunk) => chunk.choices[0].finish_reason);
        expect(finishes).toEqual([...finishes.slice(1).map(() => null), expected]);
        expect(chunks.map((chunk) => chunk.choices[0].delta.content ?? "").join("")).toBe(output.text);
      },
    );

    test("CHAT-03 tool calls keep their ids and complete arguments, whole and in a stream", async () => {
      const calls = [
        { id: "call_1", name: "weather", input: { city: "Zürich", days: [1, 2] } },
        { id: "call_2", name: "weather", input: {} },
      ];
      const plain = (list: { id: string; function: { name: string; arguments: string } }[]) =>
        list.map(({ id, function: { name, arguments: text } }) => ({ id, name, input: JSON.parse(text) }));
      scene.at(provider).next(whole({ calls }));
      const { body } = await ask({});
      expect(plain(body.choices[0].message.tool_calls)).toEqual(calls);

      scene.at(provider).next(streamed({ calls }));
      const deltas = chunksOf((await ask({ stream: true })).text).flatMap(
        (chunk) => chunk.choices[0].delta.tool_calls ?? [],
      );
      const joined = [0, 1].map((at) => {
        const own = deltas.filter(({ index }) => index === at);
        const text = own.map((delta) => delta.function?.arguments ?? "").join("");
        return { id: own[0].id, function: { name: own[0].function.name, arguments: text } };
      });
      expect(plain(joined)).toEqual(calls);
    });
  },
);
