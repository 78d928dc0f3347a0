import type { JsonObject } from "../../../../kit/json.ts";
import { percentEncode } from "../../../../kit/percent-encode.ts";
import type { Call, ResponseFormat } from "../../../canon/call.ts";
import { strictSchema } from "../../messages/upstream/schema.ts";
import { ONE_TOOL_CALL, wantsOneToolCall } from "../../tool-encoding.ts";
import type { CallFeature, ModelFacts } from "../../upstream-dialect.ts";
import { planReasoning, readsClaudeSignatures } from "./reasoning.ts";
import { stopSequencesOf } from "./reply-assembler.ts";
import { planTools } from "./tools.ts";
import { encodeTurns } from "./turns.ts";

/** The model id is one path segment: an ARN contains slashes and colons. */
export function encodePath(call: Call, { upstreamModel }: ModelFacts): string {
  return `/model/${percentEncode(upstreamModel)}/${call.stream ? "converse-stream" : "converse"}`;
}

export function lacks(facts: ModelFacts): ReadonlySet<CallFeature> {
  const missing = new Set<CallFeature>();
  if (!supportsCacheBreakpoints(facts)) missing.add("cache_breakpoints");
  if (facts.structuredOutput === "tool") missing.add("strict_tools");
  return missing;
}

function supportsCacheBreakpoints({ promptCaching }: ModelFacts): boolean {
  return promptCaching === true;
}

const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it, no code fence.";

export function encodeRequest(call: Call, facts: ModelFacts): string {
  const conversation = encodeTurns(call.turns, {
    readsClaudeSignatures: readsClaudeSignatures(facts),
    hasCachePoints: supportsCacheBreakpoints(facts),
  });
  const { toolConfig, instruction } = planTools(call, facts);
  const thinking = planReasoning(call, facts);
  const instructions = [
    instruction,
    wantsOneToolCall(call) ? ONE_TOOL_CALL : undefined,
    call.responseFormat.is === "json_object" ? JSON_ONLY : undefined,
  ];
  const system = [...conversation.system, ...instructions.flatMap((text) => (text === undefined ? [] : [{ text }]))];
  const limited = withCachePointLimit(
    toolConfig?.tools ?? [],
    system,
    ...conversation.messages.map(({ content }) => content),
  );
  const inferenceConfig = inferenceOf(call, thinking.maxTokens);
  const outputConfig = outputOf(call.responseFormat, facts);
  return JSON.stringify({
    messages: conversation.messages.map(({ role, content }) => ({ role, content: limited(content) })),
    ...(system.length === 0 ? {} : { system: limited(system) }),
    ...(isEmpty(inferenceConfig) ? {} : { inferenceConfig }),
    ...(toolConfig === undefined ? {} : { toolConfig: { ...toolConfig, tools: limited(toolConfig.tools) } }),
    ...(isEmpty(thinking.fields) ? {} : { additionalModelRequestFields: thinking.fields }),
    ...(outputConfig === undefined ? {} : { outputConfig }),
  });
}

export const CACHE_POINTS_MAX = 4;
type Blocks = readonly JsonObject[];

/** Too many cache points fail the request; the last ones cover the longest prefixes. */
function withCachePointLimit(...lists: readonly Blocks[]): (blocks: Blocks) => Blocks {
  const marks = lists.flat().filter(({ cachePoint }) => cachePoint !== undefined);
  const spare = new Set(marks.slice(0, -CACHE_POINTS_MAX));
  return (blocks) => (spare.size === 0 ? blocks : blocks.filter((block) => !spare.has(block)));
}

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

function inferenceOf(call: Call, maxTokens: number | undefined): JsonObject {
  const { temperature, topP } = call;
  const stopSequences = stopSequencesOf(call);
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
  };
}

/** The schema is sent as a JSON string. */
function outputOf(format: ResponseFormat, { structuredOutput }: ModelFacts): JsonObject | undefined {
  if (format.is !== "json_schema" || structuredOutput === "tool") return undefined;
  const { name, description, schema } = format;
  const jsonSchema = {
    name,
    ...(description === null ? {} : { description }),
    schema: JSON.stringify(strictSchema(schema)),
  };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}
