import { fault, invalidValue } from "../../../../contract/faults.ts";
import type { ResponsesRequest } from "../../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, ResponseFormat } from "../../../canon/call.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { decodeRoutingHints } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { offeredTools } from "../../offered-tools.ts";
import { fileReferencesIn, storedResourcesInTools } from "../../uploads.ts";
import { decodeSettings, PARAMETER_NAMES } from "./settings.ts";
import { decodeTools } from "./tools.ts";
import { decodeItems, HISTORY_PATH, inputItems } from "./turns.ts";

/** The canonical call behind a request; `items` is the whole conversation: what came before, then the new input. */
export function decodeRequest(request: ResponsesRequest, items: readonly JsonObject[]): Call {
  rejectConversation(request);
  const earlier = items.length - inputItems(request).length;
  const pathOf = (index: number) => (index < earlier ? HISTORY_PATH : `input.${index - earlier}`);
  const placeOf = (index: number, inside: string) => (index < earlier ? HISTORY_PATH : `${pathOf(index)}${inside}`);
  const said = decodeItems(items, pathOf);
  if (items.length === 0 && !request.prompt)
    throw invalidValue("input", "it is required, and must have at least one item");
  const { tools, choice, native: nativeTools, advisory: leftOutTools } = decodeTools(request);
  const settings = decodeSettings(request);
  const { effort } = request.reasoning ?? {};
  const routingHints = decodeRoutingHints(request);
  const asked = { ...request, input: items };
  const named = (field: string) => field.replace(/^input\.(\d+)/, (_, index) => pathOf(Number(index)));
  const uploadPaths = [
    ...fileReferencesIn(items, placeOf),
    ...storedResourcesInTools(offeredTools(asked)).map(named),
    // What stands in a template is not seen here, and the template itself is kept there.
    ...(request.prompt ? ["prompt"] : []),
  ];
  return {
    model: request.model,
    turns: [...instructionTurns(request), ...said.turns],
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
    native: [...settings.native, ...nativeTools, ...said.native],
    advisory: [...settings.advisory, ...leftOutTools, ...said.advisory],
    ...extrasIn(asked, named),
    ...(uploadPaths.length > 0 ? { uploadPaths } : {}),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
}

/** Tools of the provider's can also stand in what was stored before. */
function extrasIn(asked: JsonObject, named: (field: string) => string) {
  const { extras } = extrasOf("responses", asked);
  return extras === undefined ? {} : { extras: extras.map((extra) => ({ ...extra, field: named(extra.field) })) };
}

function rejectConversation({ conversation }: ResponsesRequest): void {
  if (conversation === undefined || conversation === null) return;
  throw fault("unsupported_parameter", {
    message: 'Field "conversation" is not offered: go on from a stored response with previous_response_id.',
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
