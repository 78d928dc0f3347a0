import { describe, expect, test } from "vitest";
import type { Json } from "../../../../../tests/support/gateway.ts";
import {
  ADAPTIVE,
  callOf,
  FACTS,
  HELLO,
  PNG,
  refusal,
  sent,
  toolCall,
  WEATHER,
} from "../../../../../tests/support/messages.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReasoningControl } from "../../../canon/reasoning-control.ts";
import { messagesUpstream } from "./dialect.ts";

describe("reasoning", () => {
  test("CHAT-05 adaptive models get the effort and return their reasoning", () => {
    const words = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "xhigh", max: "max" };
    for (const [effort, word] of Object.entries(words)) {
      const call = callOf({ reasoning_effort: effort });
      const body = JSON.parse(messagesUpstream.encodeRequest(call, ADAPTIVE));
      expect(body.output_config).toEqual({ effort: word });
      expect(body.thinking).toEqual({ type: "adaptive", display: "summarized" });
      expect(messagesUpstream.effort?.(call, ADAPTIVE)).toBe(word);
    }
    expect(sent({ thinking: { type: "enabled", budget_tokens: 8000 } }, ADAPTIVE).output_config).toEqual({
      effort: "medium",
    });
    const both = sent(
      {
        reasoning: { effort: "low" },
        response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } },
      },
      ADAPTIVE,
    );
    expect(both.output_config).toMatchObject({ effort: "low", format: { type: "json_schema" } });
  });

  test("CHAT-05 disabled reasoning is encoded for each kind of model", () => {
    const none = (thinking: ReasoningControl) => sent({ reasoning_effort: "none" }, { ...FACTS, thinking }).thinking;
    expect(none("budget")).toEqual({ type: "disabled" });
    expect(none("adaptive")).toEqual({ type: "disabled" });
    expect(none("between_tools")).toEqual({ type: "between_tools" });
    expect(refusal({ reasoning_effort: "none" }, { ...FACTS, thinking: "always" })).toMatchObject({
      code: "unsupported_parameter",
      param: "reasoning_effort",
    });
    expect(sent({}, ADAPTIVE).thinking).toBeUndefined();
  });

  test.each([
    ["by a budget", FACTS],
    ["by a word", ADAPTIVE],
  ])("CHAT-05 a model with %s reasoning takes no sampling, and the error names the parameter", (_how, facts) => {
    const thinks = { reasoning_effort: "low" };
    for (const [param, value] of Object.entries({ temperature: 0.3, top_p: 0.9, top_k: 5 }))
      expect(refusal({ ...thinks, [param]: value }, facts)).toMatchObject({ code: "unsupported_parameter", param });
    expect(sent({ ...thinks, temperature: 1, top_p: 0.95 }, facts)).toMatchObject({ temperature: 1, top_p: 0.95 });
    expect(sent({ reasoning_effort: "none", temperature: 0.3 }, facts).temperature).toBe(0.3);
  });

  test("CHAT-05 with a forced tool only the effort is sent, so sampling stays", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    const forced = { reasoning_effort: "low", tools, tool_choice: "required", temperature: 0.3 };
    expect(sent(forced, ADAPTIVE)).toMatchObject({ temperature: 0.3, output_config: { effort: "low" } });
  });

  test("CHAT-05 a budget is below the output limit, and the caller's limit is kept if possible", () => {
    const plan = (request: object) => {
      const { thinking, max_tokens } = sent(request);
      return [thinking.budget_tokens, max_tokens];
    };
    expect(plan({ reasoning_effort: "low" })).toEqual([2048, 64_000]);
    expect(plan({ reasoning_effort: "max" })).toEqual([51_200, 64_000]);
    expect(plan({ reasoning_effort: "high", max_tokens: 4000 })).toEqual([3200, 4000]);
    expect(plan({ reasoning_effort: "high", max_tokens: 1200 })).toEqual([1024, 1200]);
    expect(plan({ reasoning_effort: "high", max_tokens: 100 })).toEqual([1024, 1124]);
    expect(plan({ thinking: { type: "enabled", budget_tokens: 5000 }, max_tokens: 6000 })).toEqual([5000, 6000]);
    expect(plan({ thinking: { type: "enabled", budget_tokens: 5000 }, max_tokens: 1000 })).toEqual([5000, 6000]);
    expect(refusal({ reasoning: { max_tokens: 500 } }).param).toBe("reasoning_effort");
    expect(refusal({ thinking: { type: "enabled", budget_tokens: 64_000 } }).param).toBe("reasoning_effort");
  });

  test("CHAT-05 without catalogue facts, models that reject sampling get an effort, others a budget", () => {
    const unknown = { ...FACTS, thinking: null };
    expect(sent({ reasoning_effort: "low" }, unknown).thinking.type).toBe("enabled");
    expect(sent({ reasoning_effort: "low" }, { ...unknown, sampling: false }).thinking.type).toBe("adaptive");
  });

  test("CHAT-05 a forced tool excludes reasoning: an effort stays, a budget is rejected by name", () => {
    const request = { tools: [WEATHER], tool_choice: "required", reasoning_effort: "high" };
    const body = sent(request, ADAPTIVE);
    expect(body.thinking).toBeUndefined();
    expect(body.output_config).toEqual({ effort: "high" });
    expect(refusal(request)).toMatchObject({ code: "unsupported_parameter", param: "tool_choice" });
    expect(sent({ ...request, reasoning_effort: "none" }).tool_choice).toEqual({ type: "any" });
  });

  test("CHAT-05 in a tool loop without its own reasoning the model continues without, and the header says so", () => {
    const loop = (details: object[]) =>
      callOf({
        reasoning_effort: "high",
        tools: [WEATHER],
        messages: [
          HELLO,
          { role: "assistant", reasoning_details: details, tool_calls: [toolCall("a", "weather", "{}")] },
          { role: "tool", tool_call_id: "a", content: "x" },
        ],
      });
    const thinking = (call: Call) => JSON.parse(messagesUpstream.encodeRequest(call, FACTS)).thinking;
    expect(thinking(loop([]))).toEqual({ type: "disabled" });
    expect(messagesUpstream.effort?.(loop([]), FACTS)).toBe("none");
    const own = loop([{ type: "reasoning.encrypted", data: "b", format: "anthropic-claude-v1" }]);
    expect(thinking(own)).toMatchObject({ type: "enabled" });
    expect(messagesUpstream.effort?.(own, FACTS)).toBe("high");
    expect(JSON.parse(messagesUpstream.encodeRequest(loop([]), ADAPTIVE)).thinking).toMatchObject({ type: "adaptive" });
  });
});

describe("settings", () => {
  test("max_tokens is the caller's, else the model's, else the default", () => {
    expect(sent({ max_completion_tokens: 7 }).max_tokens).toBe(7);
    expect(sent({}).max_tokens).toBe(64_000);
    expect(sent({}, { ...FACTS, maxOutputTokens: null }).max_tokens).toBe(4096);
  });

  test("the other settings are passed on", () => {
    expect(sent({ temperature: 0.3 }).temperature).toBe(0.3);
    expect(sent({ top_p: 0.5, top_k: 0, stop: "END", stream: true })).toMatchObject({
      top_p: 0.5,
      top_k: 0,
      stop_sequences: ["END"],
      stream: true,
    });
    expect(sent({ stop: [] }).stop_sequences).toBeUndefined();
    expect(refusal({ stop: ["a", "\n\n"] })).toMatchObject({ code: "invalid_value", param: "stop" });
  });

  test("cache breakpoints stay in place; a fifth one is rejected", () => {
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const request = {
      messages: [
        { role: "system", content: [{ type: "text", text: "s", cache_control }] },
        {
          role: "user",
          content: [
            { type: "text", text: "t", cache_control: { type: "ephemeral" } },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` }, cache_control },
          ],
        },
      ],
      tools: [{ ...WEATHER, cache_control }],
    };
    const body = sent(request);
    expect(body.system[0].cache_control).toEqual(cache_control);
    expect(body.tools[0].cache_control).toEqual(cache_control);
    expect(body.messages[0].content.map((block: Json) => block.cache_control)).toEqual([
      { type: "ephemeral" },
      cache_control,
    ]);
    const [system, user] = request.messages;
    const more = { role: "user", content: [{ type: "text", text: "u", cache_control }] };
    expect(refusal({ ...request, messages: [system, user, more] }).message).toContain("5 times");
  });

  test("a breakpoint inside a tool result moves to the result", () => {
    const cache_control = { type: "ephemeral" };
    const of = (tool: object) =>
      sent({
        messages: [
          HELLO,
          { role: "assistant", tool_calls: [toolCall("a", "f", "{}")] },
          { role: "tool", tool_call_id: "a", ...tool },
        ],
      }).messages[2].content[0];
    expect(of({ content: "x", cache_control })).toMatchObject({ cache_control });
    expect(of({ content: [{ type: "text", text: "x", cache_control }] })).toEqual({
      type: "tool_result",
      tool_use_id: "a",
      content: [{ type: "text", text: "x" }],
      cache_control,
    });
  });
});
