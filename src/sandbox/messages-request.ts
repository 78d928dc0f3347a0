import { z } from "zod";
import { isJsonObject } from "../kit/json.ts";
import { sha256Hex } from "../kit/secret.ts";
import { VISION_MODELS } from "./provider-profiles.ts";
import type { SandboxFormat, SandboxPrompt, SandboxToolChoice, SandboxTurn } from "./reply.ts";
import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** A parsed messages request. */
export type SandboxMessagesRequest = {
  readonly is: "request";
  readonly model: string;
  readonly prompt: SandboxPrompt;
  readonly mode: "json" | "stream";
};

/** A content signature, so that a thinking block that changed on its way back is detected. */
export function thinkingSignature(thought: string): string {
  return `sim.${sha256Hex(thought)}`;
}

const cache_control = z.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() }).nullish();
const httpUrl = z.string().regex(/^https?:\/\//, "must be a URL");
const nonBlankText = z.string().regex(/\S/, "text content blocks must contain non-whitespace text");

const text = z.strictObject({ type: z.literal("text"), text: nonBlankText, cache_control });
const image = z.strictObject({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("base64"),
      media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: z.string().min(1),
    }),
    z.strictObject({ type: z.literal("url"), url: httpUrl }),
  ]),
  cache_control,
});
const document = z.strictObject({
  type: z.literal("document"),
  source: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("base64"), media_type: z.literal("application/pdf"), data: z.string().min(1) }),
    z.strictObject({ type: z.literal("text"), media_type: z.literal("text/plain"), data: z.string().min(1) }),
    z.strictObject({ type: z.literal("url"), url: httpUrl }),
    z.strictObject({ type: z.literal("content"), content: z.union([nonBlankText, z.array(text).min(1)]) }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: z.strictObject({ enabled: z.boolean().optional() }).nullish(),
  cache_control,
});
const toolId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const toolUse = z.strictObject({
  type: z.literal("tool_use"),
  id: toolId,
  name: toolName,
  input: z.record(z.string(), z.unknown()),
  cache_control,
});
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: toolId,
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, document]))]).nullish(),
  is_error: z.boolean().optional(),
  cache_control,
});
const thinking = z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string() });

const message = z.discriminatedUnion("role", [
  z.strictObject({
    role: z.literal("user"),
    content: z.union([nonBlankText, z.array(z.discriminatedUnion("type", [text, image, document, toolResult])).min(1)]),
  }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.union([nonBlankText, z.array(z.discriminatedUnion("type", [text, thinking, redacted, toolUse])).min(1)]),
  }),
  // A system message midway keeps the cached prefix intact.
  z.strictObject({ role: z.literal("system"), content: z.union([nonBlankText, z.array(text).min(1)]) }),
]);

const tool = z.strictObject({
  type: z.literal("custom").nullish(),
  name: toolName,
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal("object") }),
  strict: z.boolean().optional(),
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.record(z.string(), z.unknown())).optional(),
  cache_control,
});

/** All fields of the API; any other is rejected, as by the real service. */
const body = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(text)]).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(nonBlankText).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal(["auto", "any"]), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal("tool"), name: toolName, disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal("none") }),
    ])
    .nullish(),
  thinking: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1024), display: z.string().optional() }),
      z.strictObject({ type: z.literal("adaptive"), display: z.enum(["summarized", "omitted"]).optional() }),
      z.strictObject({ type: z.literal("disabled") }),
    ])
    .nullish(),
  output_config: z
    .strictObject({
      effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
      format: z.strictObject({ type: z.literal("json_schema"), schema: z.looseObject({}) }).optional(),
    })
    .nullish(),
  context_management: z.looseObject({}).nullish(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).nullish(),
});
type MessagesBody = z.infer<typeof body>;
type MessagesInputMessage = z.infer<typeof message>;
type MessagesInputBlock = Exclude<MessagesInputMessage["content"], string>[number];

export function parseMessages(bytes: Buffer, version: string | undefined): SandboxMessagesRequest | ErrorResponse {
  if (version === undefined) return errorResponse(400, "anthropic-version: header is required");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return errorResponse(400, "The request body is not valid JSON.");
  }
  if (!isJsonObject(value)) return errorResponse(400, "The request body must be a JSON object.");
  const parsed = body.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues.find((item) => item.path[0] === "model") ?? parsed.error.issues[0];
    const at = issue?.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]] : (issue?.path ?? []);
    const why = issue?.code === "unrecognized_keys" ? "Extra inputs are not permitted" : (issue?.message ?? "invalid");
    return errorResponse(400, `${at.map(String).join(".")}: ${why}`);
  }
  const request = parsed.data;
  const problem = findTurnProblem(request) ?? findConflict(request);
  return problem === undefined ? toSandboxRequest(request) : errorResponse(400, problem);
}

function blocksOf({ content }: MessagesInputMessage): readonly MessagesInputBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Tool uses and results must match in place and signature, which exposes a careless translation. */
function findTurnProblem(request: MessagesBody): string | undefined {
  if (request.messages[0]?.role !== "user") return "messages: first message must use the `user` role";
  let open = new Set<string>();
  for (const [index, item] of request.messages.entries()) {
    const blocks = blocksOf(item);
    const results = blocks.filter((block) => block.type === "tool_result");
    for (const { tool_use_id } of results)
      if (!open.delete(tool_use_id)) return `messages.${index}: unexpected \`tool_use_id\`: ${tool_use_id}`;
    if (open.size > 0)
      return `messages.${index}: \`tool_use\` without \`tool_result\` right after: ${[...open].join()}`;
    if (blocks.slice(0, results.length).some((block) => block.type !== "tool_result"))
      return `messages.${index}: \`tool_result\` blocks must come first`;
    for (const block of blocks)
      if (block.type === "thinking" && block.signature !== thinkingSignature(block.thinking))
        return `messages.${index}: Invalid \`signature\` in \`thinking\` block`;
    open = new Set(blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
  }
  if (open.size > 0) return `messages: \`tool_use\` without \`tool_result\`: ${[...open].join()}`;
  return undefined;
}

const CACHE_BREAKPOINTS_MAX = 4;

function findConflict(request: MessagesBody): string | undefined {
  const { tool_choice: choice, messages, max_tokens } = request;
  const tools = request.tools ?? [];
  const blocks = messages.flatMap(blocksOf);
  if (choice != null && tools.length === 0) return "tool_choice: may only be specified while providing tools";
  if (choice?.type === "tool" && !tools.some(({ name }) => name === choice.name))
    return `tool_choice: Tool '${choice.name}' not found in provided tools`;
  if (tools.length === 0 && blocks.some(({ type }) => type === "tool_use"))
    return "Requests which include `tool_use` or `tool_result` blocks must define tools";
  const system = typeof request.system === "string" ? [] : (request.system ?? []);
  const cacheBreakpoints = [...system, ...tools, ...blocks].filter(
    (item) => "cache_control" in item && item.cache_control != null,
  );
  if (cacheBreakpoints.length > CACHE_BREAKPOINTS_MAX)
    return `A maximum of ${CACHE_BREAKPOINTS_MAX} blocks with cache_control may be provided. Found ${cacheBreakpoints.length}.`;
  if (blocks.some(({ type }) => type === "image") && !VISION_MODELS.has(request.model))
    return `The model ${request.model} does not support images.`;
  const isThinking = request.thinking != null && request.thinking.type !== "disabled";
  if (isThinking && (choice?.type === "any" || choice?.type === "tool"))
    return "Thinking may not be enabled when tool_choice forces tool use.";
  if (isThinking && request.temperature != null && request.temperature !== 1)
    return "`temperature` may only be set to 1 when thinking is enabled.";
  if (request.temperature != null && request.top_p != null)
    return "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
  if (request.thinking?.type === "enabled" && request.thinking.budget_tokens >= max_tokens)
    return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  return undefined;
}

function toSandboxRequest(request: MessagesBody): SandboxMessagesRequest {
  const choice = request.tool_choice;
  const isSequential = choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true;
  return {
    is: "request",
    model: request.model,
    mode: request.stream === true ? "stream" : "json",
    prompt: {
      turns: turnsOf(request),
      tools: (request.tools ?? []).map(({ name, description = "", input_schema }) => ({
        name,
        description,
        schema: input_schema,
      })),
      toolChoice: toolChoiceOf(choice),
      maxToolCalls: isSequential ? 1 : 8,
      format: formatOf(request),
      effort: effortFor(request),
      stop: request.stop_sequences ?? [],
      maxOutputTokens: request.max_tokens,
    },
  };
}

function toolChoiceOf(choice: MessagesBody["tool_choice"]): SandboxToolChoice {
  if (choice == null) return { is: "auto" };
  if (choice.type === "tool") return { is: "named", name: choice.name };
  return { is: choice.type === "any" ? "required" : choice.type };
}

function systemText({ system }: MessagesBody): string {
  return typeof system === "string" ? system : (system ?? []).map((block) => block.text).join("\n");
}

/** The format has no field for "any JSON object", so the gateway asks for it in the system prompt. */
function formatOf(request: MessagesBody): SandboxFormat {
  const schema = request.output_config?.format?.schema;
  if (schema !== undefined) return { is: "schema", name: "output", schema };
  return /\bone valid JSON object\b/i.test(systemText(request)) ? { is: "json" } : { is: "text" };
}

const LOW_EFFORT_BUDGET_MAX = 2048;
const MEDIUM_EFFORT_BUDGET_MAX = 8192;

function effortFor({ thinking: requestedThinking, output_config }: MessagesBody): string | null {
  if (requestedThinking == null || requestedThinking.type === "disabled") return null;
  if (requestedThinking.type === "adaptive") return output_config?.effort ?? "high";
  if (requestedThinking.budget_tokens <= LOW_EFFORT_BUDGET_MAX) return "low";
  return requestedThinking.budget_tokens <= MEDIUM_EFFORT_BUDGET_MAX ? "medium" : "high";
}

/** A user message with tool results becomes one turn per result, then the user's text. */
function turnsOf(request: MessagesBody): SandboxTurn[] {
  const system = systemText(request);
  const toolById = new Map<string, string>();
  const turns: SandboxTurn[] =
    system === "" ? [] : [{ role: "system", text: system, images: 0, tool: null, toolCallText: "" }];
  for (const item of request.messages) {
    const blocks = blocksOf(item);
    const messageText = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const images = blocks.filter(({ type }) => type === "image").length;
    let toolCallText = "";
    for (const block of blocks) {
      if (block.type === "tool_use") {
        toolById.set(block.id, block.name);
        toolCallText += block.name + JSON.stringify(block.input);
      } else if (block.type === "tool_result") {
        const tool = toolById.get(block.tool_use_id) ?? null;
        turns.push({ role: "tool", text: resultText(block.content), images: 0, tool, toolCallText: "" });
      }
    }
    if (item.role === "assistant" || messageText !== "" || images > 0)
      turns.push({ role: item.role, text: messageText, images, tool: null, toolCallText });
  }
  return turns;
}

function resultText(content: z.infer<typeof toolResult>["content"]): string {
  if (content == null || typeof content === "string") return content ?? "";
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
