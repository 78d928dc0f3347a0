import { z } from "zod";
import { isJsonObject } from "../kit/json.ts";
import { servedTier, unsupportedEffort, VISION_MODELS } from "./provider-profiles.ts";
import type { SandboxFormat, SandboxPrompt, SandboxTool, SandboxToolChoice, SandboxTurn } from "./reply.ts";
import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** A parsed chat completions request. */
export type SandboxChatRequest = {
  readonly is: "request";
  readonly model: string;
  readonly prompt: SandboxPrompt;
  readonly mode: "json" | "stream" | "stream_with_usage";
  /** Requested alternatives per token; null: no log-probabilities. */
  readonly logprobs: number | null;
  readonly tier: string;
};

const part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string().min(1) }) }),
]);
const content = z.union([z.string(), z.array(part).min(1)]);

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal(["system", "developer", "user"]), content }),
  z.object({
    role: z.literal("assistant"),
    content: content.nullish(),
    tool_calls: z.array(toolCall).min(1).nullish(),
  }),
  z.object({ role: z.literal("tool"), content, tool_call_id: z.string().min(1) }),
]);

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: toolName,
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  }),
});
const namedTool = z.object({ type: z.literal("function"), function: z.object({ name: toolName }) });

const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  namedTool,
  z.object({
    type: z.literal("allowed_tools"),
    allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(namedTool).min(1) }),
  }),
]);

const responseFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.object({ name: toolName, schema: z.looseObject({}).nullish(), strict: z.boolean().nullish() }),
  }),
]);

const penalty = z.number().min(-2).max(2).nullish();
const positive = z.int().min(1).nullish();

/** All fields of the API; any other is rejected, as by the real service. */
const body = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  max_tokens: positive,
  max_completion_tokens: positive,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.int().min(1).max(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  seed: z.int().nullish(),
  verbosity: z.enum(["low", "medium", "high"]).nullish(),
  prediction: z.looseObject({ type: z.literal("content") }).nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
type ChatBody = z.infer<typeof body>;
type SandboxChatMessage = z.infer<typeof message>;

export function parseChat(bytes: Buffer): SandboxChatRequest | ErrorResponse {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return errorResponse(400, "We could not parse the JSON body of your request.");
  }
  if (!isJsonObject(value)) return errorResponse(400, "The JSON body of your request must be an object.");
  const parsed = body.safeParse(value);
  if (!parsed.success) return schemaError(parsed.error.issues);
  const request = parsed.data;
  return (
    findConflict(request) ??
    findUnsupportedEffort(request) ??
    findToolMismatch(request.messages) ??
    findUnsupportedImage(request) ??
    toSandboxRequest(request)
  );
}

function schemaError(issues: readonly z.core.$ZodIssue[]): ErrorResponse {
  const issue = issues.find((item) => item.path[0] === "model") ?? issues[0];
  if (issue === undefined) return errorResponse(400, "Invalid request.");
  if (issue.code === "unrecognized_keys") {
    const name = issue.keys[0] ?? "";
    return errorResponse(400, `Unrecognized request argument supplied: ${name}`, {
      param: name,
      code: "unknown_parameter",
    });
  }
  const param = issue.path.reduce<string>(
    (path, step) =>
      typeof step === "number" ? `${path}[${step}]` : path === "" ? String(step) : `${path}.${String(step)}`,
    "",
  );
  if (issue.code === "invalid_type" && issue.path.length === 1 && issue.message.includes("received undefined"))
    return errorResponse(400, `Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
  return errorResponse(400, `Invalid value for '${param}': ${issue.message}.`, { param, code: "invalid_value" });
}

/** Tool settings without tools are ignored, unless they require a call. */
function findConflict(request: ChatBody): ErrorResponse | undefined {
  const only = (param: string, needed: string) =>
    errorResponse(400, `'${param}' is only allowed when '${needed}' is set.`, { param, code: "invalid_value" });
  const tools = request.tools ?? [];
  if (request.stream_options != null && request.stream !== true) return only("stream_options", "stream");
  if (requiresToolCall(request) && tools.length === 0) return only("tool_choice", "tools");
  if (request.max_tokens != null && request.max_completion_tokens != null)
    return errorResponse(400, "'max_tokens' and 'max_completion_tokens' cannot be used together.", {
      param: "max_tokens",
    });
  const unknown = chosenToolNames(request).find((name) => !tools.some((item) => item.function.name === name));
  if (unknown !== undefined && tools.length > 0)
    return errorResponse(400, `Tool choice '${unknown}' not found in 'tools'.`, {
      param: "tool_choice",
      code: "invalid_value",
    });
  return undefined;
}

function findUnsupportedEffort({ model, reasoning_effort: effort }: ChatBody): ErrorResponse | undefined {
  return effort == null ? undefined : unsupportedEffort(model, effort, "reasoning_effort");
}

function requiresToolCall({ tool_choice: choice }: ChatBody): boolean {
  if (choice == null || typeof choice === "string") return choice === "required";
  return choice.type === "function" || choice.allowed_tools.mode === "required";
}

function chosenToolNames(request: ChatBody): string[] {
  const choice = request.tool_choice;
  if (choice == null || typeof choice === "string") return [];
  if (choice.type === "function") return [choice.function.name];
  return choice.allowed_tools.tools.map((item) => item.function.name);
}

/** Tool calls and results must match, which exposes a translation that loses one. */
function findToolMismatch(messages: readonly SandboxChatMessage[]): ErrorResponse | undefined {
  let open = new Set<string>();
  for (const [index, item] of messages.entries()) {
    if (item.role === "tool") {
      if (!open.delete(item.tool_call_id))
        return errorResponse(400, "A message with role 'tool' must answer a call of the assistant message before it.", {
          param: `messages[${index}].tool_call_id`,
        });
      continue;
    }
    if (open.size > 0) break;
    if (item.role === "assistant") open = new Set(item.tool_calls?.map((call) => call.id));
  }
  if (open.size === 0) return undefined;
  return errorResponse(400, `These tool calls have no result: ${[...open].join(", ")}.`, { param: "messages" });
}

function findUnsupportedImage(request: ChatBody): ErrorResponse | undefined {
  if (VISION_MODELS.has(request.model)) return undefined;
  const index = request.messages.findIndex((item) => imagesIn(item) > 0);
  if (index < 0) return undefined;
  return errorResponse(400, `The model ${request.model} does not support images.`, {
    param: `messages[${index}].content`,
  });
}

function toSandboxRequest(request: ChatBody): SandboxChatRequest {
  const stops = request.stop ?? [];
  const effort = request.reasoning_effort ?? "none";
  const withUsage = request.stream_options?.include_usage === true;
  return {
    is: "request",
    model: request.model,
    mode: request.stream !== true ? "json" : withUsage ? "stream_with_usage" : "stream",
    logprobs: request.logprobs === false ? null : (request.top_logprobs ?? (request.logprobs === true ? 0 : null)),
    tier: servedTier(request.service_tier),
    prompt: {
      turns: turnsOf(request.messages),
      tools: toolsOf(request),
      toolChoice: toolChoiceOf(request),
      maxToolCalls: request.parallel_tool_calls === false ? 1 : 8,
      format: formatOf(request),
      effort: effort === "none" ? null : effort,
      stop: typeof stops === "string" ? [stops] : stops,
      maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    },
  };
}

function toolsOf(request: ChatBody): SandboxTool[] {
  const tools = (request.tools ?? []).map((item) => ({
    name: item.function.name,
    description: item.function.description ?? "",
    schema: item.function.parameters ?? { type: "object", properties: {} },
  }));
  const choice = request.tool_choice;
  if (choice == null || typeof choice === "string" || choice.type === "function") return tools;
  const allowed = new Set(chosenToolNames(request));
  return tools.filter((item) => allowed.has(item.name));
}

function toolChoiceOf(request: ChatBody): SandboxToolChoice {
  const choice = request.tool_choice ?? "auto";
  if (typeof choice === "string") return { is: choice };
  if (choice.type === "function") return { is: "named", name: choice.function.name };
  return { is: choice.allowed_tools.mode };
}

function formatOf(request: ChatBody): SandboxFormat {
  const format = request.response_format;
  if (format == null || format.type === "text") return { is: "text" };
  if (format.type === "json_object") return { is: "json" };
  return { is: "schema", name: format.json_schema.name, schema: format.json_schema.schema ?? { type: "object" } };
}

function turnsOf(messages: readonly SandboxChatMessage[]): SandboxTurn[] {
  const toolById = new Map<string, string>();
  return messages.map((item) => {
    const text = textIn(item.content ?? "");
    const images = imagesIn(item);
    if (item.role === "tool")
      return { role: "tool", text, images, tool: toolById.get(item.tool_call_id) ?? null, toolCallText: "" };
    if (item.role === "assistant") {
      const calls = item.tool_calls ?? [];
      for (const call of calls) toolById.set(call.id, call.function.name);
      return {
        role: "assistant",
        text,
        images,
        tool: null,
        toolCallText: calls.map((call) => call.function.name + call.function.arguments).join(""),
      };
    }
    return { role: item.role === "user" ? "user" : "system", text, images, tool: null, toolCallText: "" };
  });
}

function textIn(value: z.infer<typeof content>): string {
  if (typeof value === "string") return value;
  return value
    .map((item) => (item.type === "text" ? item.text : item.type === "refusal" ? item.refusal : ""))
    .filter((text) => text !== "")
    .join("\n");
}

function imagesIn(item: SandboxChatMessage): number {
  if (item.content == null || typeof item.content === "string") return 0;
  return item.content.filter((piece) => piece.type === "image_url").length;
}
