import type { ResponsesRequest, ResponseTool } from "../../../../contract/schemas/responses.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { strictOf } from "./tools.ts";

/** Values that the gateway decided if the request left them open. */
type EchoFacts = { readonly store: boolean; readonly background: boolean };

/** With the dialect's defaults for absent fields. */
export function echoOf(request: ResponsesRequest, { store, background }: EchoFacts): JsonObject {
  const { format, verbosity } = request.text ?? {};
  return {
    background,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: request.service_tier ?? "auto",
    store,
    temperature: request.temperature ?? 1,
    text: { format: format ?? { type: "text" }, verbosity: verbosity ?? "medium" },
    tool_choice: request.tool_choice ?? "auto",
    tools: (request.tools ?? []).map(echoTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? "disabled",
    ...(request.user ? { user: request.user } : {}),
    metadata: request.metadata ?? {},
  };
}

function echoTool(tool: ResponseTool): JsonObject {
  if (tool.type !== "function") return tool;
  const { strict, parameters, description, ...rest } = tool;
  const schema = isJsonObject(parameters) ? parameters : null;
  return {
    ...rest,
    description: description ?? null,
    parameters: schema,
    strict: strictOf({ strict: typeof strict === "boolean" ? strict : undefined, parameters: schema }),
  };
}
