import { fault, invalidValue } from "../../../../contract/faults.ts";
import type { ResponsesRequest } from "../../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat } from "../../../canon/call.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { decodeRoutingHints, ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { offeredTools } from "../../offered-tools.ts";
import { firstUnreadPath } from "../../unread-members.ts";
import { fileReferencesIn, storedResourcesInTools } from "../../uploads.ts";
import { READ_IN_SETTINGS } from "./read-shape.ts";
import { decodeTools } from "./tools.ts";
import { decodeItems, HISTORY_PATH, inputItems } from "./turns.ts";

/** `items` is the whole conversation: stored history, then the new input. */
export function decodeRequest(request: ResponsesRequest, items: readonly JsonObject[]): Call {
  rejectConversation(request);
  const earlier = items.length - inputItems(request).length;
  const pathOf = (index: number) => (index < earlier ? HISTORY_PATH : `input.${index - earlier}`);
  const placeOf = (index: number, inside: string) => (index < earlier ? HISTORY_PATH : `${pathOf(index)}${inside}`);
  const conversation = decodeItems(items, pathOf);
  if (items.length === 0 && !request.prompt)
    throw invalidValue("input", "is required, and must have at least one item");
  const { tools, choice, native: nativeTools, advisory: droppedTools } = decodeTools(request);
  const settings = decodeSettings(request);
  const { effort } = request.reasoning ?? {};
  const routingHints = decodeRoutingHints(request);
  const expanded = { ...request, input: items };
  const callerPath = (field: string) => field.replace(/^input\.(\d+)/, (_, index) => pathOf(Number(index)));
  const uploadPaths = [
    ...fileReferencesIn(items, placeOf),
    ...storedResourcesInTools(offeredTools(expanded)).map(callerPath),
    // The template is stored at the provider and its content is unknown here.
    ...(request.prompt ? ["prompt"] : []),
  ];
  return {
    model: request.model,
    turns: [...instructionTurns(request), ...conversation.turns],
    tools,
    toolChoice: choice,
    responseFormat: decodeFormat(request),
    reasoning: effort ? { effort, budgetTokens: null } : undefined,
    maxOutputTokens: request.max_output_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: undefined,
    stop: [],
    stream: request.stream === true,
    includeUsage: true,
    parameters: [
      ...settings.parameters,
      ...(tools.length > 0 ? (["tools"] as const) : []),
      ...(choice === undefined ? [] : (["tool_choice"] as const)),
    ],
    parameterNames: PARAMETER_NAMES,
    openAiParameters: settings.openAiParameters,
    native: [...settings.native, ...nativeTools, ...conversation.native],
    advisory: [...settings.advisory, ...droppedTools, ...conversation.advisory],
    ...extrasIn(expanded, callerPath),
    ...(uploadPaths.length > 0 ? { uploadPaths } : {}),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

/** Server tools can also occur in stored history. */
function extrasIn(expanded: JsonObject, callerPath: (field: string) => string) {
  const { extras } = extrasOf("responses", expanded);
  return extras === undefined ? {} : { extras: extras.map((extra) => ({ ...extra, field: callerPath(extra.field) })) };
}

function rejectConversation({ conversation }: ResponsesRequest): void {
  if (conversation === undefined || conversation === null) return;
  throw fault("unsupported_parameter", {
    message: 'Field "conversation" is not supported. Continue a stored response with previous_response_id.',
    param: "conversation",
  });
}

function instructionTurns({ instructions }: ResponsesRequest): ConversationTurn[] {
  return instructions ? [{ role: "system", parts: [{ is: "text", text: instructions }] }] : [];
}

function decodeFormat({ text }: ResponsesRequest): ResponseFormat {
  const format = text?.format;
  if (format?.type !== "json_schema") return { is: format?.type ?? "text" };
  const { name, description, schema, strict } = format;
  return { is: "json_schema", name, description: description ?? null, schema, strict: strict ?? null };
}

/** How request fields are handled in translation. */
type RequestSettings = {
  /** Parameters that restrict the eligible endpoints. */
  readonly parameters: readonly Parameter[];
  readonly openAiParameters: Readonly<Partial<Record<Parameter, unknown>>>;
  readonly native: readonly string[];
  readonly advisory: readonly string[];
};

const PARAMETER_NAMES: Readonly<Partial<Record<Parameter, string>>> = {
  max_tokens: "max_output_tokens",
  response_format: "text.format",
  reasoning_effort: "reasoning.effort",
  verbosity: "text.verbosity",
};

/** Fields that are decoded elsewhere or addressed to the gateway. */
const READ_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "previous_response_id",
  "store",
  "background",
  "max_output_tokens",
  "temperature",
  "top_p",
  "top_logprobs",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "include",
  "truncation",
  "service_tier",
  "conversation",
  ...ROUTING_HINT_FIELDS,
]);

/** Fields that do not change the reply. */
const ADVISORY_FIELDS: ReadonlySet<string> = new Set([
  "metadata",
  "client_metadata",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "safety_identifier",
  "user",
]);

/** Advisory fields that OpenAI's dialects can carry. */
const OPENAI_HINTS = ["prompt_cache_key", "safety_identifier", "user"] as const;

/** Includes that are absent from translated replies, or never removed from them. */
const HARMLESS_INCLUDES: ReadonlySet<string> = new Set([
  "reasoning.encrypted_content",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
]);

const LOGPROBS = "message.output_text.logprobs";

/** Other members of `reasoning` with their no-op values. */
const REASONING_DEFAULTS: Readonly<Record<string, readonly unknown[]>> = {
  context: ["auto", "current_turn"],
  mode: ["standard"],
};

const REASONING_READ: ReadonlySet<string> = new Set(["effort", "summary", "generate_summary"]);

const STANDARD_TIERS: readonly unknown[] = ["auto", "default"];

function decodeSettings(request: ResponsesRequest): RequestSettings {
  const parameters: Parameter[] = [];
  const openAiParameters: Partial<Record<Parameter, unknown>> = {};
  const native = nativeFields(request);
  const advisory = Object.keys(request).filter((field) => ADVISORY_FIELDS.has(field) && isSent(request[field]));
  for (const field of OPENAI_HINTS) if (isSent(request[field])) openAiParameters[field] = request[field];
  if (isSent(request.max_output_tokens)) parameters.push("max_tokens");
  if (isSent(request.reasoning?.effort)) parameters.push("reasoning_effort");
  if (request.top_logprobs) parameters.push("top_logprobs");
  if (request.include?.includes(LOGPROBS)) parameters.push("logprobs");
  const { format, verbosity } = request.text ?? {};
  if (format && format.type !== "text") parameters.push("response_format");
  if (verbosity && verbosity !== "medium") {
    parameters.push("verbosity");
    openAiParameters.verbosity = verbosity;
  }
  if (isSent(request.service_tier) && !STANDARD_TIERS.includes(request.service_tier)) {
    parameters.push("service_tier");
    openAiParameters.service_tier = request.service_tier;
  }
  // Sent where the dialect supports it; the reply writer enforces it everywhere.
  if (request.parallel_tool_calls === false && request.tools?.length) openAiParameters.parallel_tool_calls = false;
  return { parameters, openAiParameters, native, advisory };
}

/** Limits field names invented by callers, which errors and records repeat. */
const NAME_CHARS_MAX = 200;

const STRUCTURED_SETTINGS = ["tools", "tool_choice", "text", "stream_options"] as const;

function nativeFields(request: ResponsesRequest): string[] {
  const native = Object.keys(request).filter(
    (field) => isSent(request[field]) && !READ_FIELDS.has(field) && !ADVISORY_FIELDS.has(field),
  );
  if (request.truncation === "auto") native.push("truncation");
  // Translated replies carry no logprobs.
  if (request.top_logprobs) native.push("top_logprobs");
  for (const [index, name] of (request.include ?? []).entries())
    if (!HARMLESS_INCLUDES.has(name)) native.push(`include.${index}`);
  for (const [member, value] of Object.entries(request.reasoning ?? {})) {
    if (!isSent(value) || REASONING_READ.has(member)) continue;
    if (!REASONING_DEFAULTS[member]?.includes(value)) native.push(`reasoning.${member}`);
  }
  for (const name of STRUCTURED_SETTINGS) {
    const unread = firstUnreadPath(request[name], READ_IN_SETTINGS[name], name);
    if (unread !== undefined) native.push(unread);
  }
  return native.map((name) => name.slice(0, NAME_CHARS_MAX));
}

function isSent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
