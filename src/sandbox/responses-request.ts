import type { z } from "zod";
import { isJsonObject } from "../kit/json.ts";
import { servedTier, unsupportedEffort, VISION_MODELS } from "./provider-profiles.ts";
import type { SandboxFormat, SandboxPrompt, SandboxTool, SandboxToolChoice, SandboxTurn } from "./reply.ts";
import {
  FunctionTool,
  ResponsesBody,
  type ResponsesContentParts,
  type ResponsesInputItem,
  type ResponsesRequestBody,
} from "./responses-schema.ts";
import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** A parsed responses request. */
export type SandboxResponsesRequest = {
  readonly is: "request";
  readonly model: string;
  readonly prompt: SandboxPrompt;
  readonly mode: "json" | "stream";
  readonly hasObfuscation: boolean;
  readonly includesSummary: boolean;
  readonly includesEncryptedReasoning: boolean;
  /** Encrypted reasoning of earlier replies, which only its provider accepts. */
  readonly encryptedReasoning: readonly { readonly param: string; readonly content: string }[];
  /** Request fields that the response repeats. */
  readonly echo: Readonly<Record<string, unknown>>;
};

export function parseResponses(bytes: Buffer): SandboxResponsesRequest | ErrorResponse {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return errorResponse(400, "We could not parse the JSON body of your request.");
  }
  if (!isJsonObject(value)) return errorResponse(400, "The JSON body of your request must be an object.");
  const parsed = ResponsesBody.safeParse(value);
  if (!parsed.success) {
    if (value["input"] === undefined)
      return errorResponse(400, "Missing required parameter: 'input'.", { param: "input", code: MISSING_PARAMETER });
    return schemaError(parsed.error.issues);
  }
  const request = parsed.data;
  const items = typeof request.input === "string" ? [] : request.input;
  return (
    findStatefulField(request) ??
    findUnknownItemId(items) ??
    findToolMismatch(items) ??
    findConflict(request) ??
    toSandboxRequest(request, items)
  );
}

const MISSING_PARAMETER = "missing_required_parameter";

/** Of a union's branches, the one that the item's discriminator selects. */
function innermostIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const selectedBranch = issue.errors.find((branch) => !branch.some(({ path }) => isDiscriminator(path[0])));
  const [first] = selectedBranch ?? [];
  return first === undefined ? issue : innermostIssue({ ...first, path: [...issue.path, ...first.path] });
}

const isDiscriminator = (step: PropertyKey | undefined) => step === "type" || step === "role";

function schemaError(issues: readonly z.core.$ZodIssue[]): ErrorResponse {
  const outer = issues.find((item) => item.path[0] === "model") ?? issues[0];
  const issue = outer === undefined ? undefined : innermostIssue(outer);
  if (issue === undefined) return errorResponse(400, "Invalid request.");
  const at = issue.path.reduce<string>(
    (path, step) =>
      typeof step === "number" ? `${path}[${step}]` : path === "" ? String(step) : `${path}.${String(step)}`,
    "",
  );
  if (issue.code === "unrecognized_keys") {
    const param = `${at === "" ? "" : `${at}.`}${issue.keys[0] ?? ""}`;
    return errorResponse(400, `Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
  }
  if (issue.code === "invalid_type" && issue.message.includes("received undefined"))
    return errorResponse(400, `Missing required parameter: '${at}'.`, { param: at, code: MISSING_PARAMETER });
  return errorResponse(400, `Invalid value for '${at}': ${issue.message}.`, { param: at, code: "invalid_value" });
}

/** The provider is stateless and rejects fields that need storage. */
function findStatefulField(request: ResponsesRequestBody): ErrorResponse | undefined {
  if (request.previous_response_id != null)
    return errorResponse(400, `Previous response with id '${request.previous_response_id}' not found.`, {
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  if (request.background === true)
    return errorResponse(400, "Background mode needs 'store' to be true.", {
      param: "background",
      code: "invalid_value",
    });
  if (request.store !== false)
    return errorResponse(400, "This organization has zero data retention: 'store' must be false.", {
      param: "store",
      code: "unsupported_value",
    });
  return undefined;
}

/** Item ids are looked up even if the item is given in full. */
function findUnknownItemId(items: readonly ResponsesInputItem[]): ErrorResponse | undefined {
  const itemWithId = items.find((item) => item.id !== undefined);
  if (itemWithId === undefined) return undefined;
  return errorResponse(
    404,
    `Item with id '${itemWithId.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    { param: "input" },
  );
}

/** Tool calls and outputs must match, and reasoning must precede another item. */
function findToolMismatch(items: readonly ResponsesInputItem[]): ErrorResponse | undefined {
  const open = new Set<string>();
  for (const item of items) {
    if (item.type === "function_call" || item.type === "custom_tool_call") open.add(item.call_id);
    if ("output" in item && !open.delete(item.call_id))
      return errorResponse(400, `No tool call found for function call output with call_id ${item.call_id}.`, {
        param: "input",
      });
  }
  const [unanswered] = open;
  if (unanswered !== undefined)
    return errorResponse(400, `No tool output found for function call ${unanswered}.`, { param: "input" });
  if (items.at(-1)?.type === "reasoning")
    return errorResponse(400, "An item of type 'reasoning' was provided without its required following item.", {
      param: "input",
    });
  return undefined;
}

function findConflict(request: ResponsesRequestBody): ErrorResponse | undefined {
  const tools = functionTools(request);
  if (request.stream_options != null && request.stream !== true)
    return errorResponse(400, "'stream_options' is only allowed when 'stream' is set.", { param: "stream_options" });
  const unknown = chosenToolNames(request).find((name) => !tools.some((item) => item.name === name));
  if (unknown !== undefined)
    return errorResponse(400, `Tool choice '${unknown}' not found in 'tools' parameter.`, { param: "tool_choice" });
  if (request.tool_choice === "required" && (request.tools ?? []).length === 0)
    return errorResponse(400, "Tool choice 'required' must be specified with 'tools' parameter.", {
      param: "tool_choice",
    });
  const { effort } = request.reasoning ?? {};
  const effortError = effort == null ? undefined : unsupportedEffort(request.model, effort, "reasoning.effort");
  if (effortError !== undefined) return effortError;
  const acceptsImages = typeof request.input === "string" || VISION_MODELS.has(request.model);
  const at =
    acceptsImages || typeof request.input === "string" ? -1 : request.input.findIndex((item) => imagesIn(item) > 0);
  if (at < 0) return undefined;
  return errorResponse(400, `The model ${request.model} does not support images.`, { param: `input[${at}].content` });
}

function chosenToolNames({ tool_choice: choice }: ResponsesRequestBody): string[] {
  if (choice == null || typeof choice === "string") return [];
  return choice.type === "function" ? [choice.name] : choice.tools.map((item) => item.name);
}

function functionTools({ tools }: ResponsesRequestBody): z.infer<typeof FunctionTool>[] {
  return (tools ?? []).flatMap((item) => {
    const parsed = FunctionTool.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}

function toSandboxRequest(
  request: ResponsesRequestBody,
  items: readonly ResponsesInputItem[],
): SandboxResponsesRequest {
  const effort = request.reasoning?.effort ?? "none";
  const encryptedReasoning = items.flatMap((item, at) =>
    item.type === "reasoning" && item.encrypted_content != null
      ? [{ param: `input[${at}].encrypted_content`, content: item.encrypted_content }]
      : [],
  );
  return {
    is: "request",
    model: request.model,
    mode: request.stream === true ? "stream" : "json",
    hasObfuscation: request.stream_options?.include_obfuscation !== false,
    includesSummary: request.reasoning?.summary != null,
    includesEncryptedReasoning: request.include?.includes("reasoning.encrypted_content") === true,
    encryptedReasoning,
    echo: echoedFields(request),
    prompt: {
      turns: turnsOf(request, items),
      tools: toolsOf(request),
      toolChoice: toolChoiceOf(request),
      maxToolCalls: request.parallel_tool_calls === false ? 1 : 8,
      format: formatOf(request),
      effort: effort === "none" ? null : effort,
      stop: [],
      maxOutputTokens: request.max_output_tokens ?? null,
    },
  };
}

function echoedFields(request: ResponsesRequestBody): Record<string, unknown> {
  const { effort = null, summary = null } = request.reasoning ?? {};
  return {
    background: false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort, summary },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: servedTier(request.service_tier),
    store: false,
    temperature: request.temperature ?? 1,
    text: { format: request.text?.format ?? { type: "text" }, verbosity: request.text?.verbosity ?? "medium" },
    tool_choice: request.tool_choice ?? "auto",
    tools: request.tools ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? "disabled",
    user: request.user ?? null,
  };
}

function toolsOf(request: ResponsesRequestBody): SandboxTool[] {
  const choice = request.tool_choice;
  const allowed = choice != null && typeof choice !== "string" && choice.type === "allowed_tools" ? choice.tools : null;
  return functionTools(request)
    .filter(({ name }) => allowed?.some((item) => item.name === name) ?? true)
    .map(({ name, description, parameters }) => ({
      name,
      description: description ?? "",
      schema: parameters ?? { type: "object", properties: {} },
    }));
}

function toolChoiceOf({ tool_choice: choice }: ResponsesRequestBody): SandboxToolChoice {
  if (choice == null) return { is: "auto" };
  if (typeof choice === "string") return { is: choice };
  return choice.type === "function" ? { is: "named", name: choice.name } : { is: choice.mode };
}

function formatOf({ text }: ResponsesRequestBody): SandboxFormat {
  const format = text?.format;
  if (format == null || format.type === "text") return { is: "text" };
  if (format.type === "json_object") return { is: "json" };
  return { is: "schema", name: format.name, schema: format.schema };
}

function turnsOf(request: ResponsesRequestBody, items: readonly ResponsesInputItem[]): SandboxTurn[] {
  const plain = { images: 0, tool: null, toolCallText: "" };
  const turns: SandboxTurn[] = [];
  if (request.instructions != null) turns.push({ ...plain, role: "system", text: request.instructions });
  if (typeof request.input === "string") return [...turns, { ...plain, role: "user", text: request.input }];
  const toolByCall = new Map<string, string>();
  for (const item of items) {
    if (item.type === "reasoning" || item.type === "item_reference") continue;
    if (item.type === "function_call" || item.type === "custom_tool_call") {
      toolByCall.set(item.call_id, item.name);
      const callInput = item.type === "function_call" ? item.arguments : item.input;
      turns.push({ ...plain, role: "assistant", text: "", toolCallText: item.name + callInput });
    } else if ("output" in item) {
      const tool = toolByCall.get(item.call_id) ?? null;
      turns.push({ role: "tool", text: textIn(item.output), images: imagesIn(item), tool, toolCallText: "" });
    } else {
      const role = item.role === "developer" ? "system" : item.role;
      turns.push({ role, text: textIn(item.content), images: imagesIn(item), tool: null, toolCallText: "" });
    }
  }
  return turns;
}

function textIn(value: string | ResponsesContentParts): string {
  if (typeof value === "string") return value;
  return value
    .map((part) => ("text" in part ? part.text : part.type === "refusal" ? part.refusal : ""))
    .filter((text) => text !== "")
    .join("\n");
}

function imagesIn(item: ResponsesInputItem): number {
  const value = "role" in item ? item.content : "output" in item ? item.output : "";
  if (typeof value === "string") return 0;
  return value.reduce((sum, part) => sum + (part.type === "input_image" ? 1 : 0), 0);
}
