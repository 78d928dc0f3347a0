import { type SampleResult, sampleSchema } from "./schema-sampler.ts";
import { countTokens, truncateToTokens } from "./tokens.ts";

/** A request as every wire format means it. The sandbox has a reader of its own so that it can prove the gateway's. */
export type SandboxPrompt = {
  readonly turns: readonly SandboxTurn[];
  readonly tools: readonly SandboxTool[];
  readonly toolChoice: SandboxToolChoice;
  readonly maxToolCalls: number;
  readonly format: SandboxFormat;
  /** How hard to think; null: not at all. */
  readonly effort: string | null;
  readonly stop: readonly string[];
  readonly maxOutputTokens: number | null;
};

export type SandboxTurn = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly images: number;
  /** Of a tool's result: which tool gave it. */
  readonly tool: string | null;
  /** Of an assistant's turn: the calls it made, as text, because they are paid for again. */
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
  /** Includes the reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

export type ReplyResult =
  | {
      readonly is: "reply";
      readonly reasoning: string | null;
      readonly content: SandboxContent;
      readonly end: "stop" | "length" | "calls";
      /** The caller's own sequence that ended it. */
      readonly stopSequence: string | null;
      readonly usage: SandboxUsage;
    }
  /** A schema that cannot be answered; `part` is the function's name, or null for the format of the answer. */
  | { readonly is: "rejected"; readonly part: string | null; readonly problem: string };

/** What an echo repeats at most, so that one request cannot keep the sandbox busy for minutes. */
const ECHO_MAX_CHARS = 8_000;
/** What a message costs beside its text, and an image in all. */
const MESSAGE_TOKENS = 3;
const IMAGE_TOKENS = 85;
/** Far above every answer; keeps a caller's number out of arithmetic on bytes. */
const OUTPUT_TOKENS_MAX = 1_000_000;

/** The same prompt gets the same answer, whatever wire format it came in. */
export function generateReply(prompt: SandboxPrompt, provider: string): ReplyResult {
  const wanted = generateContent(prompt, provider);
  if (wanted.is === "rejected") return wanted;
  const limit = Math.min(prompt.maxOutputTokens ?? OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MAX);
  const thought = prompt.effort === null ? null : reasoningFor(prompt, prompt.effort);
  const reasoning = thought === null ? null : truncateToTokens(thought, limit);
  const reasoningTokens = countTokens(reasoning ?? "");
  const stopped = cutAtStopSequence(wanted, prompt.stop);
  const content = truncateContent(stopped.content, limit - reasoningTokens);
  const complete = reasoning === thought && content.complete;
  return {
    is: "reply",
    reasoning,
    content: content.kept,
    end: complete ? (wanted.is === "calls" ? "calls" : "stop") : "length",
    stopSequence: complete ? stopped.sequence : null,
    usage: {
      inputTokens: countInputTokens(prompt),
      outputTokens: reasoningTokens + contentTokens(content.kept),
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
  const spoken = generateText(prompt);
  if (prompt.format.is === "json")
    return { is: "text", text: JSON.stringify({ simulated_by: provider, text: spoken }) };
  return { is: "text", text: `[simulated by ${provider}] ${spoken}` };
}

function generateText(prompt: SandboxPrompt): string {
  const results = trailingToolResults(prompt.turns);
  if (results.length > 0)
    return results.map((turn) => `The tool ${turn.tool ?? "asked"} answered: ${truncateEcho(turn.text)}`).join("\n");
  const last = prompt.turns.findLast((turn) => turn.role === "user");
  if (last === undefined) return "Nothing was said by a user.";
  const pictures = last.images === 0 ? "" : ` (with ${last.images} image${last.images === 1 ? "" : "s"})`;
  return `You said: ${truncateEcho(last.text)}${pictures}`;
}

function trailingToolResults(turns: readonly SandboxTurn[]): readonly SandboxTurn[] {
  const lastOther = turns.findLastIndex((turn) => turn.role !== "tool");
  return turns.slice(lastOther + 1);
}

function truncateEcho(text: string): string {
  return text.length <= ECHO_MAX_CHARS ? text : `${[...text.slice(0, ECHO_MAX_CHARS)].slice(0, -1).join("")}…`;
}

/** A tool is called when the caller forces it, or when the user asks for it by name; not again once it has answered. */
function selectToolsToCall(prompt: SandboxPrompt): readonly SandboxTool[] {
  const { toolChoice, tools } = prompt;
  if (toolChoice.is === "none" || tools.length === 0) return [];
  if (toolChoice.is === "named") return tools.filter((tool) => tool.name === toolChoice.name).slice(0, 1);
  if (toolChoice.is === "auto" && trailingToolResults(prompt.turns).length > 0) return [];
  const asked = normalizeName(prompt.turns.findLast((turn) => turn.role === "user")?.text ?? "");
  const named = tools.filter((tool) => asked.includes(normalizeName(tool.name)));
  const chosen = named.length === 0 && toolChoice.is === "required" ? tools.slice(0, 1) : named;
  return chosen.slice(0, prompt.maxToolCalls);
}

/** `get_weather`, `get-weather` and "Get weather" are the same name; spaces at the ends keep words whole. */
function normalizeName(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
}

const REASONING_STEPS = [
  "I read the last message.",
  "I look for a tool or a format that was asked for.",
  "I weigh what would be useful, which is a repetition.",
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

/** Text before the sequence that comes first in it. */
function cutAtStopSequence(
  content: SandboxContent,
  stop: readonly string[],
): { readonly content: SandboxContent; readonly sequence: string | null } {
  if (content.is === "calls") return { content, sequence: null };
  let { text } = content;
  let sequence: string | null = null;
  for (const one of stop) {
    const at = one === "" ? -1 : content.text.indexOf(one);
    if (at < 0 || at >= text.length) continue;
    text = content.text.slice(0, at);
    sequence = one;
  }
  return { content: { is: "text", text }, sequence };
}

function truncateContent(
  content: SandboxContent,
  tokensMax: number,
): { readonly kept: SandboxContent; readonly complete: boolean } {
  if (content.is === "text") {
    const text = truncateToTokens(content.text, tokensMax);
    return { kept: { is: "text", text }, complete: text === content.text };
  }
  const calls: SandboxToolCall[] = [];
  let left = tokensMax;
  for (const call of content.calls) {
    left -= countTokens(call.name);
    if (left <= 0) break;
    const argumentsJson = truncateToTokens(call.argumentsJson, left);
    left -= countTokens(argumentsJson);
    calls.push({ name: call.name, argumentsJson });
    if (argumentsJson !== call.argumentsJson) return { kept: { is: "calls", calls }, complete: false };
  }
  if (calls.length === 0) return { kept: { is: "text", text: "" }, complete: false };
  return { kept: { is: "calls", calls }, complete: calls.length === content.calls.length };
}

function contentTokens(content: SandboxContent): number {
  if (content.is === "text") return countTokens(content.text);
  return content.calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.argumentsJson), 0);
}

/** Every message, tool and schema by its own text, each rounded up; an image is a flat number. */
export function countInputTokens(prompt: SandboxPrompt): number {
  let tokens = 0;
  for (const turn of prompt.turns)
    tokens += MESSAGE_TOKENS + countTokens(turn.text) + countTokens(turn.toolCallText) + turn.images * IMAGE_TOKENS;
  for (const tool of prompt.tools)
    tokens += countTokens(`${tool.name}${tool.description}${JSON.stringify(tool.schema)}`);
  if (prompt.format.is === "schema") tokens += countTokens(JSON.stringify(prompt.format.schema));
  return tokens;
}
