import { type Fault, fault } from "../../../../contract/faults.ts";
import type { CountTokensRequest, InputMessage } from "../../../../contract/schemas/messages.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { parseLosslessJson } from "../../../../kit/lossless-json.ts";
import type { Call } from "../../../canon/call.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import { decodeRoutingHints } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { echoedList, FieldNotes, type FieldRules, onlyAs, onlyEmpty } from "../../field-notes.ts";
import { fileReferencesIn, storedResourcesInContainer } from "../../uploads.ts";
import { decodeCompaction, decodeFormat, decodeReasoning, decodeToolChoice, decodeTools } from "./settings.ts";
import { classifyCacheControl, decodeCacheControl, decodeMessage } from "./turns.ts";

/** How each field is handled if the endpoint speaks another dialect. */
const FIELDS: FieldRules = {
  model: "read",
  messages: "read",
  max_tokens: "read",
  stream: "read",
  system: "read",
  temperature: "read",
  top_p: "read",
  top_k: "read",
  stop_sequences: "read",
  tools: "read",
  tool_choice: "read",
  thinking: "read",
  output_config: "read",
  output_format: "read",
  provider: "read",
  session_id: "read",
  cost_tier: "read",
  remaining_turns: "read",
  data_classes: "read",
  cache: "read",
  // These do not change the reply.
  metadata: "advisory",
  cache_control: "advisory",
  context_management: "advisory",
  diagnostics: "advisory",
  speed: "advisory",
  user_profile_id: "advisory",
  workspace_id: "advisory",
  service_tier: onlyAs("advisory", "auto", "standard_only"),
  // Data location is the workspace's policy; a value of the request's own must not be dropped silently.
  inference_geo: onlyAs("advisory", "global"),
  mcp_servers: onlyEmpty,
  container: "native",
  // The reply is only a summary of the conversation.
  compaction: "native",
  fallbacks: onlyEmpty,
  fallback_credit_token: "native",
  thread: "read",
};

export function decodeRequest(request: CountTokensRequest): Call {
  if (request["thread"] != null) throw threadsUnsupported();
  const notes = new FieldNotes();
  notes.classify(request, FIELDS, "");
  const turns = decodeTurns(request, notes);
  const tools = decodeTools(request.tools ?? [], notes);
  const toolChoice = decodeToolChoice(request.tool_choice, tools, notes);
  const reasoning = decodeReasoning(request, notes);
  const responseFormat = decodeFormat(request.output_config, request["output_format"], notes);
  const stop = request.stop_sequences ?? [];
  const serial = request.tool_choice?.disable_parallel_tool_use === true && tools.length > 0;
  const rows: Readonly<Partial<Record<Parameter, boolean>>> = {
    max_tokens: request.max_tokens != null,
    tools: tools.length > 0,
    tool_choice: toolChoice !== undefined,
    response_format: responseFormat.is !== "text",
    reasoning_effort: reasoning !== undefined && reasoning.settings.isOptional !== true,
    stop: stop.length > 0,
    // temperature and top_p are not required: requests to models without sampling omit them.
    top_k: request.top_k != null,
  };
  const routingHints = decodeRoutingHints(request);
  const uploadPaths = [
    ...fileReferencesIn(request.messages, (at, inside) => `messages.${at}${inside}`),
    ...storedResourcesInContainer(request["container"]),
  ];
  return {
    model: request.model,
    turns,
    tools,
    toolChoice,
    responseFormat,
    reasoning: reasoning?.settings,
    maxOutputTokens: request.max_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    stop,
    stream: request.stream === true,
    includeUsage: true,
    parameters: PARAMETER_ORDER.filter((row) => rows[row] === true),
    parameterNames: {
      stop: "stop_sequences",
      response_format: request.output_config?.format ? "output_config.format" : "output_format",
      reasoning_effort: reasoning?.field ?? "thinking",
    },
    // Sent where the dialect supports it; the reply writer enforces it everywhere.
    ...(serial ? { openAiParameters: { parallel_tool_calls: false } } : {}),
    native: notes.native,
    advisory: notes.advisory,
    ...extrasOf("messages", request),
    ...(uploadPaths.length > 0 ? { uploadPaths } : {}),
    ...decodeCompaction(request["context_management"]),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

/**
 * Threads refer to provider-side reply ids, which callers do not have, and would pin the conversation to one
 * provider.
 */
function threadsUnsupported(): Fault {
  return fault("unsupported_parameter", {
    message: "thread: the gateway does not keep conversations at providers. Send the whole conversation without it.",
    param: "thread",
  });
}

const PARAMETER_ORDER: readonly Parameter[] = [
  "max_tokens",
  "tools",
  "tool_choice",
  "response_format",
  "reasoning_effort",
  "stop",
  "top_k",
];

function decodeTurns({ system, messages }: CountTokensRequest, notes: FieldNotes): ConversationTurn[] {
  const turns = messages.map((message, at) => decodeMessage(message, `messages.${at}`, notes));
  const instructions = decodeSystem(system, notes);
  return instructions.length === 0 ? turns : [{ role: "system", parts: instructions }, ...turns];
}

/** Bookkeeping line of a well-known client that changes with every request and would defeat prompt caches. */
const CLIENT_BILLING_LINE = /^x-anthropic-billing-header:/;
const SYSTEM_ROWS: FieldRules = { type: "read", text: "read", cache_control: "read", citations: echoedList };

function decodeSystem(system: CountTokensRequest["system"], notes: FieldNotes): Part[] {
  if (typeof system === "string") return system === "" ? [] : [{ is: "text", text: system }];
  return (system ?? []).flatMap((block, at): Part[] => {
    const path = `system.${at}`;
    if (block.type !== "text" || typeof block["text"] !== "string") {
      notes.note("native", path);
      return [];
    }
    notes.classify(block, SYSTEM_ROWS, path);
    if (at === 0 && CLIENT_BILLING_LINE.test(block["text"])) {
      notes.note("advisory", path);
      return [];
    }
    const control = block["cache_control"];
    classifyCacheControl(control, path, notes);
    return [
      {
        is: "text",
        text: block["text"],
        ...(isJsonObject(control) ? decodeCacheControl({ type: "", ...control }) : {}),
      },
    ];
  });
}

/** A number that JSON.parse and stringify would change: many digits, an exponent or trailing zeros. */
const LOSSY_NUMBER = /[[:,]\s*-?(?:\d{16,}|\d[\d.]*[eE]|\d+\.\d*0[\s,\]}]|\d+\.\d{16,})/;

/** Tool inputs are objects in this dialect and text in others; lossless parsing keeps their numbers unchanged. */
export function withExactInputs<Request extends CountTokensRequest>(request: Request, text: string): Request {
  if (!text.includes('"tool_use"') || !LOSSY_NUMBER.test(text)) return request;
  const exact = parseLosslessJson(text);
  const messages = isJsonObject(exact) && Array.isArray(exact["messages"]) ? exact["messages"] : [];
  return { ...request, messages: request.messages.map((message, at) => withInputs(message, messages[at])) };
}

function withInputs(message: InputMessage, exact: unknown): InputMessage {
  const blocks = isJsonObject(exact) && Array.isArray(exact["content"]) ? exact["content"] : [];
  if (typeof message.content === "string") return message;
  return {
    ...message,
    content: message.content.map((block, at) => {
      const input = block.type === "tool_use" ? inputOf(blocks[at]) : undefined;
      return input === undefined ? block : { ...block, input };
    }),
  };
}

function inputOf(block: unknown): JsonObject | undefined {
  return isJsonObject(block) && isJsonObject(block["input"]) ? block["input"] : undefined;
}
