import { type SampleResult, sampleSchema } from "./schema-sampler.ts";
import { countTokens, truncateToTokens } from "./tokens.ts";

/** A request independent of its wire format. The sandbox has its own parsers so that it can verify the gateway's encoders. */
export type SandboxPrompt = {
  readonly turns: readonly SandboxTurn[];
  readonly tools: readonly SandboxTool[];
  readonly toolChoice: SandboxToolChoice;
  readonly maxToolCalls: number;
  readonly format: SandboxFormat;
  /** Reasoning effort; null: no reasoning. */
  readonly effort: string | null;
  readonly stop: readonly string[];
  readonly maxOutputTokens: number | null;
};

export type SandboxTurn = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly images: number;
  /** Set on a tool result: the tool's name. */
  readonly tool: string | null;
  /** Tool calls of an assistant turn as text, because they count as input tokens. */
  readonly toolCallText: string;
};

export type SandboxTool = { readonly name: string; readonly description: string; readonly schema: unknown };

export type SandboxToolChoice =
  | { readonly is: "auto" }
  | { readonly is: "none" }
  | { readonly is: "required" }
  | { readonly is: "named"; readonly name: string };

export type SandboxFormat =
  | { readonly is: "text" }
  | { readonly is: "json" }
  | { readonly is: "schema"; readonly name: string; readonly schema: unknown };

export type SandboxToolCall = { readonly name: string; readonly argumentsJson: string };

type SandboxContent =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "calls"; readonly calls: readonly SandboxToolCall[] };

export type SandboxUsage = {
  readonly inputTokens: number;
  /** Includes reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

export type ReplyResult =
  | {
      readonly is: "reply";
      readonly reasoning: string | null;
      readonly content: SandboxContent;
      readonly end: "stop" | "length" | "calls";
      /** The stop sequence that ended the reply. */
      readonly stopSequence: string | null;
      readonly usage: SandboxUsage;
    }
  /** A schema that cannot be sampled; `part` is the function's name, or null for the response format. */
  | { readonly is: "rejected"; readonly part: string | null; readonly problem: string };

/** Bounds the echo so that one request cannot occupy the sandbox for minutes. */
const ECHO_MAX_CHARS = 8_000;
/** Overhead per message, and flat cost of an image. */
const MESSAGE_TOKENS = 3;
const IMAGE_TOKENS = 85;
/** Far above every reply; keeps caller-supplied numbers out of byte arithmetic. */
const OUTPUT_TOKENS_MAX = 1_000_000;

/** Deterministic: the same prompt gets the same reply in every wire format. */
export function generateReply(prompt: SandboxPrompt, provider: string): ReplyResult {
  const fullContent = generateContent(prompt, provider);
  if (fullContent.is === "rejected") return fullContent;
  const limit = Math.min(prompt.maxOutputTokens ?? OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MAX);
  const fullReasoning = prompt.effort === null ? null : reasoningFor(prompt, prompt.effort);
  const reasoning = fullReasoning === null ? null : truncateToTokens(fullReasoning, limit);
  const reasoningTokens = countTokens(reasoning ?? "");
  const cut = cutAtStopSequence(fullContent, prompt.stop);
  const truncated = truncateContent(cut.content, limit - reasoningTokens);
  const complete = reasoning === fullReasoning && truncated.complete;
  return {
    is: "reply",
    reasoning,
    content: truncated.content,
    end: complete ? (fullContent.is === "calls" ? "calls" : "stop") : "length",
    stopSequence: complete ? cut.sequence : null,
    usage: {
      inputTokens: countInputTokens(prompt),
      outputTokens: reasoningTokens + contentTokens(truncated.content),
      reasoningTokens,
    },
  };
}

function generateContent(
  prompt: SandboxPrompt,
  provider: string,
): SandboxContent | Extract<ReplyResult, { is: "rejected" }> {
  const tools = selectToolsToCall(prompt);
  if (tools.length > 0) {
    const calls: SandboxToolCall[] = [];
    for (const tool of tools) {
      const sampled = sampleSchema(tool.schema);
      if (sampled.is === "problem") return { is: "rejected", part: tool.name, problem: sampled.problem };
      calls.push({ name: tool.name, argumentsJson: JSON.stringify(sampled.value) });
    }
    return { is: "calls", calls };
  }
  if (prompt.format.is === "schema") {
    const sampled: SampleResult = sampleSchema(prompt.format.schema);
    if (sampled.is === "problem") return { is: "rejected", part: null, problem: sampled.problem };
    return { is: "text", text: JSON.stringify(sampled.value) };
  }
  const text = generateText(prompt);
  if (prompt.format.is === "json") return { is: "text", text: JSON.stringify({ simulated_by: provider, text }) };
  return { is: "text", text: `[simulated by ${provider}] ${text}` };
}

function generateText(prompt: SandboxPrompt): string {
  const results = trailingToolResults(prompt.turns);
  if (results.length > 0)
    return results.map((turn) => `The tool ${turn.tool ?? "asked"} answered: ${truncateEcho(turn.text)}`).join("\n");
  const last = prompt.turns.findLast((turn) => turn.role === "user");
  if (last === undefined) return "There is no user message.";
  const imageNote = last.images === 0 ? "" : ` (with ${last.images} image${last.images === 1 ? "" : "s"})`;
  return `You said: ${truncateEcho(last.text)}${imageNote}`;
}

function trailingToolResults(turns: readonly SandboxTurn[]): readonly SandboxTurn[] {
  const lastOther = turns.findLastIndex((turn) => turn.role !== "tool");
  return turns.slice(lastOther + 1);
}

function truncateEcho(text: string): string {
  return text.length <= ECHO_MAX_CHARS ? text : `${[...text.slice(0, ECHO_MAX_CHARS)].slice(0, -1).join("")}…`;
}

/** Calls a tool when the caller forces it or the user names it, but not again once it has returned a result. */
function selectToolsToCall(prompt: SandboxPrompt): readonly SandboxTool[] {
  const { toolChoice, tools } = prompt;
  if (toolChoice.is === "none" || tools.length === 0) return [];
  if (toolChoice.is === "named") return tools.filter((tool) => tool.name === toolChoice.name).slice(0, 1);
  if (toolChoice.is === "auto" && trailingToolResults(prompt.turns).length > 0) return [];
  const userText = normalizeName(prompt.turns.findLast((turn) => turn.role === "user")?.text ?? "");
  const named = tools.filter((tool) => userText.includes(normalizeName(tool.name)));
  const chosen = named.length === 0 && toolChoice.is === "required" ? tools.slice(0, 1) : named;
  return chosen.slice(0, prompt.maxToolCalls);
}

/** Maps `get_weather`, `get-weather` and "Get weather" to one form; surrounding spaces keep words whole. */
function normalizeName(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
}

const REASONING_STEPS = [
  "I read the last message.",
  "I check whether a tool or a format is requested.",
  "I choose the most useful reply, which is to repeat the message.",
  "I check the result once more.",
] as const;
const REASONING_STEPS_BY_EFFORT: ReadonlyMap<string, number> = new Map([
  ["minimal", 1],
  ["low", 1],
  ["medium", 2],
  ["high", 3],
]);

function reasoningFor(prompt: SandboxPrompt, effort: string): string {
  const steps = REASONING_STEPS.slice(0, REASONING_STEPS_BY_EFFORT.get(effort) ?? REASONING_STEPS.length);
  return `Simulated reasoning, effort ${effort}, ${prompt.turns.length} messages. ${steps.join(" ")}`;
}

function cutAtStopSequence(
  content: SandboxContent,
  stop: readonly string[],
): { readonly content: SandboxContent; readonly sequence: string | null } {
  if (content.is === "calls") return { content, sequence: null };
  let { text } = content;
  let sequence: string | null = null;
  for (const candidate of stop) {
    const at = candidate === "" ? -1 : content.text.indexOf(candidate);
    if (at < 0 || at >= text.length) continue;
    text = content.text.slice(0, at);
    sequence = candidate;
  }
  return { content: { is: "text", text }, sequence };
}

function truncateContent(
  content: SandboxContent,
  tokensMax: number,
): { readonly content: SandboxContent; readonly complete: boolean } {
  if (content.is === "text") {
    const text = truncateToTokens(content.text, tokensMax);
    return { content: { is: "text", text }, complete: text === content.text };
  }
  const calls: SandboxToolCall[] = [];
  let left = tokensMax;
  for (const call of content.calls) {
    left -= countTokens(call.name);
    if (left <= 0) break;
    const argumentsJson = truncateToTokens(call.argumentsJson, left);
    left -= countTokens(argumentsJson);
    calls.push({ name: call.name, argumentsJson });
    if (argumentsJson !== call.argumentsJson) return { content: { is: "calls", calls }, complete: false };
  }
  if (calls.length === 0) return { content: { is: "text", text: "" }, complete: false };
  return { content: { is: "calls", calls }, complete: calls.length === content.calls.length };
}

function contentTokens(content: SandboxContent): number {
  if (content.is === "text") return countTokens(content.text);
  return content.calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.argumentsJson), 0);
}

/** Counts every message, tool and schema separately, each rounded up; an image is a flat number. */
export function countInputTokens(prompt: SandboxPrompt): number {
  let tokens = 0;
  for (const turn of prompt.turns)
    tokens += MESSAGE_TOKENS + countTokens(turn.text) + countTokens(turn.toolCallText) + turn.images * IMAGE_TOKENS;
  for (const tool of prompt.tools)
    tokens += countTokens(`${tool.name}${tool.description}${JSON.stringify(tool.schema)}`);
  if (prompt.format.is === "schema") tokens += countTokens(JSON.stringify(prompt.format.schema));
  return tokens;
}
