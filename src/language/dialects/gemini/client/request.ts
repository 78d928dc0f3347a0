import { fault } from "../../../../contract/faults.ts";
import type { GenerateContentRequest } from "../../../../contract/schemas/gemini.ts";
import type { Call } from "../../../canon/call.ts";
import type { Parameter } from "../../../canon/parameters.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { decodeRoutingHints } from "../../../canon/routing-hints.ts";
import { extrasOf } from "../../extras.ts";
import { FieldNotes, type FieldRules, onlyAs, onlyEmpty } from "../../field-notes.ts";
import {
  ALLOWED_NAMES_PATH,
  classifyConfig,
  classifySafety,
  decodeFormat,
  decodeReasoning,
  decodeToolConfig,
  decodeTools,
} from "./settings.ts";
import { ContentsDecoder } from "./turns.ts";

/** How each field is handled if the endpoint speaks another dialect. */
const FIELDS: FieldRules = {
  model: "echo",
  contents: "read",
  systemInstruction: "read",
  tools: "read",
  toolConfig: "read",
  generationConfig: "read",
  safetySettings: "read",
  serviceTier: onlyAs("echo", "unspecified", "standard"),
  // Names for the caller's own bill at Google.
  labels: onlyEmpty,
  provider: "read",
  session_id: "read",
  cost_tier: "read",
  remaining_turns: "read",
  data_classes: "read",
  cache: "read",
};

/** The path names what the body does not. */
export type GeminiOperation = { readonly model: string; readonly stream: boolean };

export type DecodedGemini = {
  readonly call: Call;
  /** Path of each tool of the call in the request. */
  readonly toolPaths: readonly string[];
};

export function decodeRequest(request: GenerateContentRequest, { model, stream }: GeminiOperation): DecodedGemini {
  if (request.cachedContent) throw cachedContentUnsupported();
  const notes = new FieldNotes();
  notes.classify(request, FIELDS, "");
  const contents = new ContentsDecoder(notes);
  const turns = [
    ...instructionTurns(request, contents),
    ...request.contents.map((content, at) => contents.decode(content, `contents.${at}`)),
  ];
  const { tools, paths } = decodeTools(request.tools ?? [], notes);
  const { choice, allowed } = decodeToolConfig(request.toolConfig, tools, notes);
  const config = classifyConfig(request.generationConfig, notes);
  classifySafety(request, notes);
  const reasoning = decodeReasoning(config.thinkingConfig, notes);
  const { format, field: formatField } = decodeFormat(config, notes);
  const stop = (config.stopSequences ?? []).filter((sequence) => sequence !== "");
  const passed: Partial<Record<Parameter, unknown>> = {
    ...(config.seed == null ? {} : { seed: config.seed }),
    ...(config.presencePenalty == null ? {} : { presence_penalty: config.presencePenalty }),
    ...(config.frequencyPenalty == null ? {} : { frequency_penalty: config.frequencyPenalty }),
    ...(allowed === undefined ? {} : { allowed_tools: allowed }),
  };
  const rows: Readonly<Partial<Record<Parameter, boolean>>> = {
    max_tokens: config.maxOutputTokens != null,
    tools: tools.length > 0,
    tool_choice: choice !== undefined,
    allowed_tools: allowed !== undefined,
    response_format: format.is !== "text",
    stop: stop.length > 0,
    // temperature, top_p and top_k are not required: clients send them for every model, and those without omit them.
    seed: config.seed != null,
    presence_penalty: config.presencePenalty != null && config.presencePenalty !== 0,
    frequency_penalty: config.frequencyPenalty != null && config.frequencyPenalty !== 0,
  };
  const routingHints = decodeRoutingHints(request);
  const { uploadPaths } = contents;
  const call: Call = {
    model,
    turns,
    tools,
    toolChoice: choice,
    responseFormat: format,
    reasoning: reasoning?.settings,
    maxOutputTokens: config.maxOutputTokens ?? undefined,
    temperature: config.temperature ?? undefined,
    topP: config.topP ?? undefined,
    topK: config.topK ?? undefined,
    stop,
    stream,
    includeUsage: true,
    parameters: PARAMETER_ORDER.filter((row) => rows[row] === true),
    parameterNames: {
      ...PARAMETER_NAMES,
      response_format: formatField,
      reasoning_effort: reasoning?.field ?? "generationConfig.thinkingConfig",
    },
    openAiParameters: passed,
    native: notes.native,
    advisory: notes.advisory,
    ...extrasOf("gemini", request),
    ...(uploadPaths.length > 0 ? { uploadPaths } : {}),
    ...(routingHints === undefined ? {} : { routingHints }),
  };
  return { call, toolPaths: paths };
}

const PARAMETER_ORDER: readonly Parameter[] = [
  "max_tokens",
  "tools",
  "tool_choice",
  "allowed_tools",
  "response_format",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
];

const PARAMETER_NAMES: Readonly<Partial<Record<Parameter, string>>> = {
  temperature: "generationConfig.temperature",
  top_p: "generationConfig.topP",
  top_k: "generationConfig.topK",
  max_tokens: "generationConfig.maxOutputTokens",
  stop: "generationConfig.stopSequences",
  seed: "generationConfig.seed",
  presence_penalty: "generationConfig.presencePenalty",
  frequency_penalty: "generationConfig.frequencyPenalty",
  tool_choice: "toolConfig.functionCallingConfig.mode",
  allowed_tools: ALLOWED_NAMES_PATH,
};

/** The role of instructions has no meaning in this format. */
function instructionTurns(
  { systemInstruction }: GenerateContentRequest,
  contents: ContentsDecoder,
): ConversationTurn[] {
  if (systemInstruction == null) return [];
  const { role: _, ...content } = systemInstruction;
  const turn = contents.decodeInstructions(content, "systemInstruction");
  return turn.parts.length === 0 ? [] : [turn];
}

function cachedContentUnsupported() {
  return fault("unsupported_parameter", {
    message:
      "cachedContent: cached content is stored in one Google account, which the gateway does not share. Send the content itself in contents or systemInstruction.",
    param: "cachedContent",
  });
}
