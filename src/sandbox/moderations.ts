import { isJsonObject, type JsonObject, tryParseJsonObject } from "../kit/json.ts";
import { openAiErrorBody } from "./chat.ts";
import { countTokens } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

/** The words of a category; a text with one of them is in it. */
type Categories = Readonly<Record<string, RegExp | null>>;

const VIOLENCE = /\b(kill|hurt|attack|shoot|stab)/i;
const HARASSMENT = /\b(idiot|stupid|hurt you|kill you)/i;
const HATE = /\bi hate\b/i;
const SELF_HARM = /\b(suicide|hurt myself|kill myself)/i;
const CRIME = /\b(bomb|steal|drugs)\b/i;

const OPENAI: Categories = {
  harassment: HARASSMENT,
  "harassment/threatening": /\b(hurt|kill) you\b/i,
  hate: HATE,
  "hate/threatening": null,
  illicit: CRIME,
  "illicit/violent": /\bbomb\b/i,
  "self-harm": SELF_HARM,
  "self-harm/instructions": null,
  "self-harm/intent": /\b(hurt|kill) myself\b/i,
  sexual: /\bnude\b/i,
  "sexual/minors": null,
  violence: VIOLENCE,
  "violence/graphic": /\bblood\b/i,
};
/** Categories that OpenAI judges images by. */
const WITH_IMAGES: ReadonlySet<string> = new Set([
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "violence",
  "violence/graphic",
]);
const MISTRAL: Categories = {
  sexual: /\bnude\b/i,
  hate_and_discrimination: HATE,
  violence_and_threats: VIOLENCE,
  dangerous: /\bbomb\b/i,
  criminal: CRIME,
  selfharm: SELF_HARM,
  health: /\bdiagnosis\b/i,
  financial: /\binvest\b/i,
  law: /\blawsuit\b/i,
  pii: /\S+@\S+\.\w+/,
  jailbreaking: /\bignore (all|your) (previous )?instructions\b/i,
};

const HIT = 0.93;
const MISS = 0.002;

/** Moderations in OpenAI's format, with texts and images; at `sandbox-de` in Mistral's, with texts only. */
export const moderationsFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/moderations",
  readCredential: bearerToken,
  parse({ body }) {
    const value = tryParseJsonObject(body);
    if (value === undefined) return errorResponse(400, "The request body must be a JSON object.");
    const unknownField = Object.keys(value).find((key) => key !== "model" && key !== "input");
    if (unknownField !== undefined)
      return errorResponse(400, `Unknown parameter: ${unknownField}`, { param: unknownField });
    const { model } = value;
    if (typeof model !== "string") return errorResponse(400, "model is required", { param: "model" });
    return { is: "accepted", model, respond: ({ slug, nextId }) => moderation(value, model, slug, nextId("modr")) };
  },
  errorBody: openAiErrorBody,
};

function moderation({ input }: JsonObject, model: string, slug: string, id: string): SimulatedResponse | ErrorResponse {
  const items: readonly unknown[] = Array.isArray(input) ? input : [input];
  const texts = items.filter((item) => typeof item === "string");
  const isMistral = slug === "sandbox-de";
  if (texts.length > 0 && texts.length === items.length) {
    const results = texts.map((text) => (isMistral ? mistralResult(text) : openaiResult(text, ["text"])));
    const prompt_tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
    return json({
      id,
      model,
      results,
      ...(isMistral ? { usage: { prompt_tokens, total_tokens: prompt_tokens } } : {}),
    });
  }
  const parts = items.filter(isJsonObject);
  if (isMistral || parts.length === 0 || parts.length !== items.length)
    return errorResponse(400, "input must be a string or strings", { param: "input" });
  const text = parts.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("\n");
  return json({
    id,
    model,
    results: [openaiResult(text, parts.some(({ type }) => type === "image_url") ? ["text", "image"] : ["text"])],
  });
}

const json = (body: JsonObject): SimulatedResponse => ({
  is: "body",
  contentType: "application/json",
  body: JSON.stringify(body),
  tokens: 1,
});

function judged(categories: Categories, text: string): { categories: JsonObject; category_scores: JsonObject } {
  const verdicts = Object.entries(categories).map(([name, words]) => [name, words?.test(text) ?? false] as const);
  return {
    categories: Object.fromEntries(verdicts),
    category_scores: Object.fromEntries(verdicts.map(([name, isHit]) => [name, isHit ? HIT : MISS])),
  };
}

function openaiResult(text: string, types: readonly string[]): JsonObject {
  const verdicts = judged(OPENAI, text);
  const applied = Object.keys(OPENAI).map((name) => [name, WITH_IMAGES.has(name) ? types : ["text"]]);
  return {
    flagged: Object.values(verdicts.categories).includes(true),
    ...verdicts,
    category_applied_input_types: Object.fromEntries(applied),
  };
}

/** Mistral has no flag for the whole text. */
const mistralResult = (text: string): JsonObject => judged(MISTRAL, text);
