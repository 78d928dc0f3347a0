import { z } from "zod";
import { isJsonObject } from "../kit/json.ts";
import { VISION_MODELS } from "./provider-profiles.ts";
import type { SandboxFormat, SandboxPrompt, SandboxTool, SandboxToolChoice, SandboxTurn } from "./reply.ts";
import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** Blank text is rejected, as by the real service. */
const nonBlankText = z.string().regex(/\S/, "The text field is blank");
const cachePoint = z.strictObject({
  cachePoint: z.strictObject({ type: z.literal("default"), ttl: z.enum(["5m", "1h"]).optional() }),
});
const text = z.strictObject({ text: nonBlankText });
const base64 = z.base64().min(1);
const image = z.strictObject({
  image: z.strictObject({
    format: z.enum(["png", "jpeg", "gif", "webp"]),
    source: z.strictObject({ bytes: base64 }),
  }),
});
const toolUseId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

const userBlock = z.union([
  text,
  image,
  cachePoint,
  z.strictObject({
    toolResult: z.strictObject({
      toolUseId,
      content: z.array(z.union([text, image, z.strictObject({ json: z.looseObject({}) })])).min(1),
      status: z.enum(["success", "error"]).optional(),
    }),
  }),
]);
const assistantBlock = z.union([
  text,
  cachePoint,
  z.strictObject({ toolUse: z.strictObject({ toolUseId, name: toolName, input: z.looseObject({}) }) }),
  z.strictObject({
    reasoningContent: z.union([
      z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string().optional() }) }),
      z.strictObject({ redactedContent: base64 }),
    ]),
  }),
]);
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("user"), content: z.array(userBlock).min(1) }),
  z.strictObject({ role: z.literal("assistant"), content: z.array(assistantBlock).min(1) }),
]);

const toolSpec = z.strictObject({
  toolSpec: z.strictObject({
    name: toolName,
    description: z.string().min(1).optional(),
    inputSchema: z.strictObject({ json: z.looseObject({ type: z.literal("object") }) }),
    strict: z.boolean().optional(),
  }),
});

/** All fields of the API; any other is rejected. */
const body = z.strictObject({
  messages: z.array(message).min(1),
  system: z.array(z.union([text, cachePoint])).optional(),
  inferenceConfig: z
    .strictObject({
      maxTokens: z.int().min(1).optional(),
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(z.string().min(1)).optional(),
    })
    .optional(),
  toolConfig: z
    .strictObject({
      tools: z.array(z.union([toolSpec, cachePoint])).min(1),
      toolChoice: z
        .union([
          z.strictObject({ auto: z.strictObject({}) }),
          z.strictObject({ any: z.strictObject({}) }),
          z.strictObject({ tool: z.strictObject({ name: toolName }) }),
        ])
        .optional(),
    })
    .optional(),
  additionalModelRequestFields: z
    .strictObject({
      reasoningConfig: z.strictObject({
        type: z.literal("enabled"),
        maxReasoningEffort: z.enum(["low", "medium", "high"]),
      }),
    })
    .optional(),
  outputConfig: z
    .strictObject({
      textFormat: z.strictObject({
        type: z.literal("json_schema"),
        structure: z.strictObject({
          jsonSchema: z.strictObject({ name: z.string(), description: z.string().optional(), schema: z.string() }),
        }),
      }),
    })
    .optional(),
});
type ConverseBody = z.infer<typeof body>;
type ConverseMessage = ConverseBody["messages"][number];
type ConverseInputBlock = ConverseMessage["content"][number];

export function parseConverse(bytes: Buffer, model: string): SandboxPrompt | ErrorResponse {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return errorResponse(400, "The request body is not valid JSON.");
  }
  if (!isJsonObject(value)) return errorResponse(400, "The request body must be an object.");
  const parsed = body.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return errorResponse(400, `Malformed input request at ${issue?.path.join(".")}: ${issue?.message}.`);
  }
  const request = parsed.data;
  const problem = findTurnProblem(request) ?? findToolMismatch(request) ?? findUnsupportedImage(request, model);
  return problem === undefined ? toPrompt(request) : errorResponse(400, problem);
}

/** Turns alternate strictly and start with the user. */
function findTurnProblem({ messages, system = [], toolConfig }: ConverseBody): string | undefined {
  if (messages[0]?.role !== "user") return "A conversation must start with a user message.";
  const repeatedAt = messages.findIndex(({ role }, index) => role === messages[index - 1]?.role);
  if (repeatedAt > 0) return `messages.${repeatedAt}: roles must alternate between "user" and "assistant".`;
  const lists: readonly (readonly object[])[] = [
    system,
    toolConfig?.tools ?? [],
    ...messages.map((item) => item.content),
  ];
  const cachePoints = lists.flat().filter((block) => "cachePoint" in block);
  return cachePoints.length > 4 ? "A request can have at most 4 cache points." : undefined;
}

const toolUsesIn = (item: ConverseMessage | undefined) =>
  (item?.content ?? []).flatMap((block) => ("toolUse" in block ? [block.toolUse] : []));
const toolResultsIn = (item: ConverseMessage | undefined) =>
  (item?.content ?? []).flatMap((block) => ("toolResult" in block ? [block.toolResult] : []));

/** Every tool use has its result in the next message, and every result its tool use. */
function findToolMismatch({ messages, toolConfig }: ConverseBody): string | undefined {
  for (const [index, item] of messages.entries()) {
    const results = toolResultsIn(item);
    const calls = toolUsesIn(messages[index - 1]);
    if (toolConfig === undefined && (results.length > 0 || toolUsesIn(item).length > 0))
      return "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
    const ids = new Set(results.map((result) => result.toolUseId));
    if (ids.size !== results.length || results.length !== calls.length)
      return `messages.${index}: The number of toolResult blocks differs from the toolUse blocks of the previous turn.`;
    if (calls.some((call) => !ids.has(call.toolUseId))) return `messages.${index}: a toolUse has no toolResult.`;
  }
  return undefined;
}

function findUnsupportedImage({ messages }: ConverseBody, model: string): string | undefined {
  const sees = VISION_MODELS.has(model) || messages.every((item) => imagesIn(item) === 0);
  return sees ? undefined : "This model doesn't support the image content block that you provided.";
}

function imagesIn({ content }: ConverseMessage): number {
  return content.filter((block) => "image" in block).length;
}

function toPrompt(request: ConverseBody): SandboxPrompt {
  const { inferenceConfig = {}, additionalModelRequestFields: extra, system = [] } = request;
  return {
    turns: [...systemTurns(system), ...turnsOf(request.messages)],
    tools: toolsOf(request),
    toolChoice: toolChoiceOf(request),
    maxToolCalls: 8,
    format: formatOf(request),
    effort: extra?.reasoningConfig.maxReasoningEffort ?? null,
    stop: inferenceConfig.stopSequences ?? [],
    maxOutputTokens: inferenceConfig.maxTokens ?? null,
  };
}

function toolsOf({ toolConfig }: ConverseBody): SandboxTool[] {
  return (toolConfig?.tools ?? []).flatMap((item) =>
    "toolSpec" in item
      ? [
          {
            name: item.toolSpec.name,
            description: item.toolSpec.description ?? "",
            schema: item.toolSpec.inputSchema.json,
          },
        ]
      : [],
  );
}

function toolChoiceOf({ toolConfig }: ConverseBody): SandboxToolChoice {
  const choice = toolConfig?.toolChoice ?? { auto: {} };
  if ("tool" in choice) return { is: "named", name: choice.tool.name };
  return { is: "any" in choice ? "required" : "auto" };
}

/** The format has no field for "any JSON object", so the gateway asks for it in the system prompt. */
function formatOf({ outputConfig, system }: ConverseBody): SandboxFormat {
  if (outputConfig === undefined) {
    const wantsJson = (system ?? []).some((block) => "text" in block && /\bone JSON object\b/i.test(block.text));
    return { is: wantsJson ? "json" : "text" };
  }
  const { name, schema } = outputConfig.textFormat.structure.jsonSchema;
  const parsed: unknown = JSON.parse(schema);
  return { is: "schema", name, schema: parsed };
}

function systemTurns(blocks: NonNullable<ConverseBody["system"]>): SandboxTurn[] {
  const texts = blocks.flatMap((block) => ("text" in block ? [block.text] : []));
  return texts.map((words) => ({ role: "system", text: words, images: 0, tool: null, toolCallText: "" }));
}

/** Tool results become separate turns. */
function turnsOf(messages: readonly ConverseMessage[]): SandboxTurn[] {
  const names = new Map(messages.flatMap(toolUsesIn).map((call) => [call.toolUseId, call.name]));
  return messages.flatMap((item): SandboxTurn[] => {
    const calls = toolUsesIn(item).map((call) => call.name + JSON.stringify(call.input));
    const results = toolResultsIn(item).map((result): SandboxTurn => {
      const texts = result.content.map((block) =>
        "text" in block ? block.text : "json" in block ? JSON.stringify(block.json) : "",
      );
      return {
        role: "tool",
        text: texts.join("\n"),
        images: 0,
        tool: names.get(result.toolUseId) ?? null,
        toolCallText: "",
      };
    });
    const texts = item.content.flatMap((block: ConverseInputBlock) => ("text" in block ? [block.text] : []));
    const images = imagesIn(item);
    if (texts.length === 0 && images === 0 && calls.length === 0) return results;
    return [...results, { role: item.role, text: texts.join("\n"), images, tool: null, toolCallText: calls.join("") }];
  });
}
