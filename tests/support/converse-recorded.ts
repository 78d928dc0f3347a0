import type { Json } from "./gateway.ts";

/** The recorded request as a chat client would have sent it. */
export function chatRequest(recorded: Json, model: string, stream: boolean): Json {
  const {
    system = [],
    messages,
    inferenceConfig = {},
    toolConfig,
    outputConfig,
    additionalModelRequestFields,
  } = recorded;
  const budget = (additionalModelRequestFields?.thinking ?? additionalModelRequestFields?.reasoning_config)
    ?.budget_tokens;
  const { maxTokens, temperature, topP } = inferenceConfig;
  const format = outputConfig?.textFormat.structure.jsonSchema;
  return {
    model,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    messages: [
      ...(system.length === 0 ? [] : [{ role: "system", content: textParts(system) }]),
      ...messages.flatMap(chatMessages),
    ],
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(budget === undefined ? {} : { thinking: { type: "enabled", budget_tokens: budget } }),
    ...(toolConfig === undefined ? {} : { tools: toolConfig.tools.map(chatTool) }),
    ...(toolConfig?.toolChoice === undefined ? {} : { tool_choice: "required" }),
    ...(format === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { ...format, schema: JSON.parse(format.schema) } } }),
  };
}

function chatTool({ toolSpec: { name, description, inputSchema } }: Json): Json {
  return { type: "function", function: { name, description, parameters: inputSchema.json } };
}

/** A cache point marks the text before it. */
function textParts(blocks: Json[]): Json[] {
  return blocks.flatMap(({ text }, index) => {
    if (text === undefined) return [];
    const marked = blocks[index + 1]?.cachePoint !== undefined;
    return [{ type: "text", text, ...(marked ? { cache_control: { type: "ephemeral" } } : {}) }];
  });
}

export function chatMessages({ role, content }: Json): Json[] {
  if (role === "assistant") return [messageOf(content)];
  const results = content.flatMap(({ toolResult }: Json) => (toolResult === undefined ? [] : [toolResult]));
  const texts = textParts(content);
  return [
    ...results.map((result: Json) => ({
      role: "tool",
      tool_call_id: result.toolUseId,
      content: result.content[0].text,
    })),
    ...(texts.length === 0 ? [] : [{ role: "user", content: texts }]),
  ];
}

/** The message that a chat client gets, assembled independently. */
export function messageOf(blocks: Json[]): Json {
  const text = blocks.map((block) => block.text ?? "").join("");
  const calls = blocks.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [toolUse]));
  const thoughts = blocks.flatMap(({ reasoningContent }) => (reasoningContent === undefined ? [] : [reasoningContent]));
  const words = thoughts.map(({ reasoningText }) => reasoningText?.text ?? "").join("");
  const sealed = thoughts.filter(({ reasoningText, redactedContent }) => reasoningText?.signature ?? redactedContent);
  const format = "anthropic-claude-v1";
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(words === "" ? {} : { reasoning_content: words }),
    ...(sealed.length === 0
      ? {}
      : {
          reasoning_details: sealed.map(({ reasoningText, redactedContent }, index) =>
            redactedContent === undefined
              ? { type: "reasoning.text", ...reasoningText, format, index }
              : { type: "reasoning.encrypted", data: Buffer.from(redactedContent, "base64").toString(), format, index },
          ),
        }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ toolUseId, name, input }) => ({
            id: toolUseId,
            type: "function",
            function: { name, arguments: typeof input === "string" ? input || "{}" : JSON.stringify(input) },
          })),
        }),
  };
}

type RecordedReply = { readonly blocks: Json[]; readonly stopReason: string; readonly usage: Json };

/** The recording, read from the decoded frames beside the bytes; none of the gateway's decoders is used. */
export function recordedAnswer(response: Json): RecordedReply {
  if (response.framesDecoded === undefined) {
    const { output, stopReason, usage } = response.bodyJson ?? JSON.parse(response.bodyText);
    return { blocks: output.message.content, stopReason, usage };
  }
  const blocks: Json[] = [];
  const ends: Json = {};
  for (const { payload } of response.framesDecoded) {
    const { contentBlockIndex: index, start, delta } = payload;
    Object.assign(ends, payload.stopReason === undefined ? {} : { stopReason: payload.stopReason });
    Object.assign(ends, payload.usage === undefined ? {} : { usage: payload.usage });
    if (start?.toolUse !== undefined) blocks[index] = { toolUse: { ...start.toolUse, input: "" } };
    if (delta?.text !== undefined) blocks[index] = { text: (blocks[index]?.text ?? "") + delta.text };
    if (delta?.toolUse !== undefined) blocks[index].toolUse.input += delta.toolUse.input;
    if (delta?.reasoningContent === undefined) continue;
    const { text = "", signature, redactedContent } = delta.reasoningContent;
    if (redactedContent !== undefined) blocks[index] = { reasoningContent: { redactedContent } };
    else {
      const before = blocks[index]?.reasoningContent.reasoningText ?? { text: "" };
      const reasoningText = { ...before, text: before.text + text, ...(signature === undefined ? {} : { signature }) };
      blocks[index] = { reasoningContent: { reasoningText } };
    }
  }
  return { blocks, stopReason: ends.stopReason, usage: ends.usage };
}

/** Normalizes equivalent requests: drops empty fields, guardrails and a limit that a budget needs. */
export function plain(body: Json): Json {
  const { guardrailConfig: _guardrail, ...rest } = structuredClone(body);
  const extra = rest.additionalModelRequestFields;
  if (extra?.reasoning_config !== undefined) rest.additionalModelRequestFields = { thinking: extra.reasoning_config };
  if (extra !== undefined) delete rest.inferenceConfig?.maxTokens;
  if (rest.inferenceConfig?.stopSequences?.length === 0) delete rest.inferenceConfig.stopSequences;
  const format = rest.outputConfig?.textFormat.structure.jsonSchema;
  if (format !== undefined) format.schema = JSON.parse(format.schema);
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => Object.keys(Object(value)).length > 0));
}
