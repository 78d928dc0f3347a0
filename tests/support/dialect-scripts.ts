import type { JsonObject } from "../../src/kit/json.ts";
import { replyOf, streamOf } from "./converse.ts";
import { frames, whole } from "./gemini.ts";
import { messageJson, messageStream } from "./messages.ts";
import type { Provider } from "./scene.ts";
import { chatFrames, chatJson, type Script } from "./upstream.ts";

/** A model's output, independent of the dialect. */
export type ModelOutput = {
  readonly thoughts?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: JsonObject }[];
  /** The provider's own finish reason; absent: the usual one. */
  readonly stop?: string | undefined;
};

/** A dialect under test: a provider and model that support it, and their scripted replies. */
export type DialectScript = {
  readonly provider: Provider;
  readonly model: string;
  whole(output: ModelOutput): Script;
  streamed(output: ModelOutput): Script;
};

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };
const CONVERSE_STREAM = { "content-type": "application/vnd.amazon.eventstream" };

export const DIALECT_SCRIPTS: Readonly<Record<"D1" | "D2" | "D3" | "D4", DialectScript>> = {
  D1: {
    provider: "deepinfra",
    model: "alibaba/qwen3.8-27b",
    whole: (output) => ({
      json: chatJson({
        message: chatMessage(output),
        finish_reason: output.stop ?? usualStop(output, "stop", "tool_calls"),
      }),
    }),
    streamed: (output) => ({
      frames: chatFrames(chatDeltas(output), {
        finish: output.stop ?? usualStop(output, "stop", "tool_calls"),
        usage: "asked",
      }),
    }),
  },
  D2: {
    provider: "anthropic",
    model: "anthropic/claude-sonnet-4-6",
    whole: (output) => ({ json: messageOf(output) }),
    streamed: (output) => ({ body: messageStream(messageOf(output), 4), headers: EVENT_STREAM }),
  },
  D3: {
    provider: "google-ai-studio",
    model: "google/gemini-2.5-flash",
    whole: (output) => ({ json: whole(geminiParts(output), { finish: output.stop ?? "STOP" }) }),
    streamed: (output) => ({ frames: frames(geminiParts(output), { finish: output.stop ?? "STOP" }) }),
  },
  D4: {
    provider: "aws-bedrock",
    model: "amazon/nova-2-lite",
    whole: (output) => ({ json: replyOf(converseAnswer(output)) }),
    streamed: (output) => ({ frames: streamOf(converseAnswer(output)), headers: CONVERSE_STREAM }),
  },
};

/** A sandbox model that speaks each dialect. */
export const SANDBOX_MODELS: Readonly<Record<keyof typeof DIALECT_SCRIPTS, string>> = {
  D1: "sandbox/chat",
  D2: "sandbox/claude",
  D3: "sandbox/gemini",
  D4: "sandbox/nova",
};

const usualStop = ({ calls = [] }: ModelOutput, plain: string, calling: string) =>
  calls.length === 0 ? plain : calling;

function chatMessage({ thoughts, text, calls = [] }: ModelOutput): JsonObject {
  return {
    role: "assistant",
    content: text ?? null,
    refusal: null,
    ...(thoughts === undefined ? {} : { reasoning_content: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(chatCall) }),
  };
}

function chatDeltas({ thoughts, text, calls = [] }: ModelOutput): (string | object)[] {
  return [
    ...(thoughts === undefined ? [] : [{ reasoning_content: thoughts }]),
    ...(text === undefined ? [] : [text]),
    ...calls.map((call, index) => ({ tool_calls: [{ index, ...chatCall(call) }] })),
  ];
}

function chatCall({ id, name, input }: { id: string; name: string; input: JsonObject }) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

function messageOf(output: ModelOutput): JsonObject {
  const { thoughts, text, calls = [] } = output;
  const content = [
    ...(thoughts === undefined ? [] : [{ type: "thinking", thinking: thoughts, signature: "sig+/=" }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
  ];
  return messageJson(content, { stop_reason: output.stop ?? usualStop(output, "end_turn", "tool_use") });
}

function geminiParts({ thoughts, text, calls = [] }: ModelOutput) {
  return [
    ...(thoughts === undefined ? [] : [{ text: thoughts, thought: true }]),
    ...(text === undefined ? [] : [{ text, thoughtSignature: "c2lnbmVk" }]),
    ...calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ];
}

function converseAnswer(output: ModelOutput) {
  const { thoughts, text, calls = [] } = output;
  const content = [
    ...(thoughts === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: thoughts, signature: "sig+/=" } } }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })),
  ];
  return {
    content,
    stopReason: output.stop ?? usualStop(output, "end_turn", "tool_use"),
    usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
  };
}
