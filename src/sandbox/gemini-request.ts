import { z } from "zod";
import { isJsonObject } from "../kit/json.ts";
import { sha256Hex } from "../kit/secret.ts";
import type { SandboxFormat, SandboxPrompt, SandboxToolChoice, SandboxTurn } from "./reply.ts";
import { type ErrorResponse, errorResponse } from "./wire-format.ts";

/** A parsed generateContent request. */
export type SandboxGeminiRequest = {
  readonly is: "request";
  readonly prompt: SandboxPrompt;
};

/** A content signature, so that a part that changed on its way back is detected. */
export function signatureOf(part: SignedPart): string {
  const content = "text" in part ? part.text : part.functionCall.name + JSON.stringify(part.functionCall.args);
  return Buffer.from(`sim ${sha256Hex(content)}`).toString("base64");
}
type SignedPart =
  | { readonly text: string }
  | { readonly functionCall: { readonly name: string; readonly args: unknown } };

/** Documented placeholder for a lost signature. */
const SKIP_SIGNATURE_CHECK = "skip_thought_signature_validator";

const thoughtSignature = z.string().min(1).optional();
const struct = z.record(z.string(), z.unknown());
const text = z.strictObject({ text: z.string(), thought: z.boolean().optional(), thoughtSignature });
const inlineData = z.strictObject({
  inlineData: z.strictObject({
    mimeType: z.string().regex(/^(image|audio|video|application|text)\/[\w.+-]+$/),
    data: z.base64(),
  }),
});
const functionCall = z.strictObject({
  functionCall: z.strictObject({ id: z.string().min(1).optional(), name: z.string().min(1), args: struct.default({}) }),
  thoughtSignature,
});
const functionResponse = z.strictObject({
  functionResponse: z.strictObject({ id: z.string().min(1).optional(), name: z.string().min(1), response: struct }),
});

const content = z.union([
  z.strictObject({
    role: z.literal("user").default("user"),
    parts: z.array(z.union([text, inlineData, functionResponse])).min(1),
  }),
  z.strictObject({ role: z.literal("model"), parts: z.array(z.union([text, functionCall])).min(1) }),
]);

/** Google's subset of OpenAPI schemas writes types in capitals. */
const openApiSchema = z
  .looseObject({})
  .transform(
    (schema): Record<string, unknown> =>
      JSON.parse(JSON.stringify(schema), (key, value) =>
        key === "type" && typeof value === "string" ? value.toLowerCase() : value,
      ),
  )
  .optional();

const declaration = z.strictObject({
  name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/),
  description: z.string().optional(),
  parametersJsonSchema: z.looseObject({}).optional(),
  parameters: openApiSchema,
});

const generationConfig = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.int().min(1).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stopSequences: z.array(z.string().min(1)).max(5).optional(),
  responseMimeType: z.enum(["text/plain", "application/json"]).optional(),
  responseJsonSchema: z.looseObject({}).optional(),
  responseSchema: openApiSchema,
  candidateCount: z.int().min(1).max(8).optional(),
  seed: z.int().optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  responseModalities: z.array(z.enum(["TEXT"])).optional(),
  thinkingConfig: z
    .strictObject({
      thinkingLevel: z
        .string()
        .transform((level) => level.toLowerCase())
        .pipe(z.enum(["minimal", "low", "medium", "high"]))
        .optional(),
      thinkingBudget: z.int().min(-1).optional(),
      includeThoughts: z.boolean().optional(),
    })
    .optional(),
});

/** All fields of the API; any other is rejected, as by the real service. */
const body = z.strictObject({
  contents: z.array(content).min(1),
  systemInstruction: z
    .strictObject({ role: z.string().optional(), parts: z.array(z.strictObject({ text: z.string() })).min(1) })
    .optional(),
  safetySettings: z.array(z.strictObject({ category: z.string(), threshold: z.string() })).optional(),
  tools: z
    .array(z.strictObject({ functionDeclarations: z.array(declaration).min(1) }))
    .max(1, "all functions belong into one tool")
    .optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z.strictObject({
        mode: z.enum(["AUTO", "ANY", "NONE"]),
        allowedFunctionNames: z.array(z.string()).min(1).optional(),
      }),
    })
    .optional(),
  generationConfig: generationConfig.optional(),
});
type GeminiBody = z.infer<typeof body>;
type GeminiContent = z.infer<typeof content>;

export function parseGemini(bytes: Buffer): SandboxGeminiRequest | ErrorResponse {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return errorResponse(400, "Invalid JSON payload received.");
  }
  if (!isJsonObject(value)) return errorResponse(400, "Invalid JSON payload received.");
  const parsed = body.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const unknown = issue?.code === "unrecognized_keys" ? `Unknown name "${issue.keys[0]}"` : issue?.message;
    return errorResponse(400, `Invalid value at '${issue?.path.map(String).join(".") ?? ""}': ${unknown ?? "invalid"}`);
  }
  const problem = findConflict(parsed.data) ?? findTurnProblem(parsed.data.contents);
  return problem === undefined ? { is: "request", prompt: toPrompt(parsed.data) } : errorResponse(400, problem);
}

function functionDeclarations({ tools }: GeminiBody) {
  return tools?.[0]?.functionDeclarations ?? [];
}

function findConflict(request: GeminiBody): string | undefined {
  const { thinkingConfig: thinking, responseMimeType, ...schemas } = request.generationConfig ?? {};
  const responseJsonSchema = schemas.responseJsonSchema ?? schemas.responseSchema;
  if (thinking?.thinkingLevel !== undefined && thinking.thinkingBudget !== undefined)
    return "You can only set only one of thinking budget and thinking level.";
  if (responseJsonSchema !== undefined && responseMimeType !== "application/json")
    return "A response schema needs the response mime type application/json.";
  const calling = request.toolConfig?.functionCallingConfig;
  const names = new Set(functionDeclarations(request).map(({ name }) => name));
  if (calling !== undefined && names.size === 0) return "Function calling config is set without function_declarations.";
  if (calling?.allowedFunctionNames?.some((name) => !names.has(name)) === true)
    return "allowed_function_names should be a subset of the declared functions.";
  if (calling?.allowedFunctionNames !== undefined && calling.mode !== "ANY")
    return "allowed_function_names is only allowed with the mode ANY.";
  return undefined;
}

/** Turns alternate, calls and responses match in order, and signed parts come back signed. */
function findTurnProblem(contents: readonly GeminiContent[]): string | undefined {
  let open: readonly { readonly id?: string | undefined; readonly name: string }[] = [];
  for (const [at, turn] of contents.entries()) {
    if (at > 0 && contents[at - 1]?.role === turn.role)
      return "Please ensure that turns alternate between user and model.";
    if (turn.role === "model") {
      const signatureProblem = findSignatureProblem(turn);
      if (signatureProblem !== undefined) return signatureProblem;
      open = turn.parts.flatMap((part) => ("functionCall" in part ? [part.functionCall] : []));
      continue;
    }
    const answers = turn.parts.flatMap((part) => ("functionResponse" in part ? [part.functionResponse] : []));
    if (answers.length !== open.length)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    if (answers.some(({ id, name }, index) => (id && id !== open[index]?.id) || name !== open[index]?.name))
      return "Please ensure that function responses have the ids and names of their calls.";
    open = [];
  }
  return open.length === 0
    ? undefined
    : "Please ensure that a function call turn is followed by its function responses.";
}

function findSignatureProblem({ parts }: Extract<GeminiContent, { role: "model" }>): string | undefined {
  let calls = 0;
  let written = "";
  for (const part of parts) {
    const { thoughtSignature: signature } = part;
    if ("text" in part) written = part.thought === true ? written : written + part.text;
    if ("functionCall" in part) {
      calls += 1;
      if (calls === 1 && signature === undefined)
        return `Function call is missing a thought_signature in functionCall parts: ${part.functionCall.name}.`;
    }
    // A stream signs its text on an empty part after it.
    const signed = "text" in part && part.text === "" ? { text: written } : part;
    if (signature !== undefined && signature !== SKIP_SIGNATURE_CHECK && signature !== signatureOf(signed))
      return "Corrupted thought signature.";
  }
  return undefined;
}

function toPrompt(request: GeminiBody): SandboxPrompt {
  const config = request.generationConfig ?? {};
  const { thinkingLevel, includeThoughts } = config.thinkingConfig ?? {};
  return {
    turns: turnsOf(request),
    tools: functionDeclarations(request).map(({ name, description, parametersJsonSchema, parameters }) => ({
      name,
      description: description ?? "",
      schema: parametersJsonSchema ?? parameters ?? { type: "object", properties: {} },
    })),
    toolChoice: toolChoiceOf(request),
    maxToolCalls: 8,
    format: formatOf(config),
    effort: includeThoughts === true ? (thinkingLevel ?? "medium") : null,
    stop: config.stopSequences ?? [],
    maxOutputTokens: config.maxOutputTokens ?? null,
  };
}

function toolChoiceOf({ toolConfig }: GeminiBody): SandboxToolChoice {
  const { mode, allowedFunctionNames } = toolConfig?.functionCallingConfig ?? { mode: "AUTO" };
  if (mode !== "ANY") return { is: mode === "AUTO" ? "auto" : "none" };
  const [name] = allowedFunctionNames ?? [];
  return name === undefined ? { is: "required" } : { is: "named", name };
}

function formatOf({ responseMimeType, ...schemas }: z.infer<typeof generationConfig>): SandboxFormat {
  const responseJsonSchema = schemas.responseJsonSchema ?? schemas.responseSchema;
  if (responseMimeType !== "application/json") return { is: "text" };
  return responseJsonSchema === undefined
    ? { is: "json" }
    : { is: "schema", name: "response", schema: responseJsonSchema };
}

function turnsOf({ systemInstruction, contents }: GeminiBody): SandboxTurn[] {
  const system = systemInstruction?.parts.map((part) => part.text).join("\n");
  const turns: SandboxTurn[] =
    system === undefined ? [] : [{ role: "system", text: system, images: 0, tool: null, toolCallText: "" }];
  for (const turn of contents) {
    const messageText = turn.parts
      .flatMap((part) => ("text" in part && part.text !== "" && part.thought !== true ? [part.text] : []))
      .join("\n");
    if (turn.role === "model") {
      const calls = turn.parts.flatMap((part) =>
        "functionCall" in part ? [part.functionCall.name + JSON.stringify(part.functionCall.args)] : [],
      );
      turns.push({ role: "assistant", text: messageText, images: 0, tool: null, toolCallText: calls.join("") });
      continue;
    }
    for (const part of turn.parts) {
      if (!("functionResponse" in part)) continue;
      const { name, response } = part.functionResponse;
      turns.push({ role: "tool", text: toolResultText(response), images: 0, tool: name, toolCallText: "" });
    }
    const images = turn.parts.filter((part) => "inlineData" in part && part.inlineData.mimeType.startsWith("image/"));
    if (messageText !== "" || images.length > 0)
      turns.push({ role: "user", text: messageText, images: images.length, tool: null, toolCallText: "" });
  }
  return turns;
}

/** The gateway wraps a text result in an object. */
function toolResultText(response: Readonly<Record<string, unknown>>): string {
  const { result, output = result, ...others } = response;
  return typeof output === "string" && Object.keys(others).length === 0 ? output : JSON.stringify(response);
}
