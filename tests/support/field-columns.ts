import type { WireFormatName } from "../../src/language/dialects/no-op-fields.ts";
import { DIALECT_SCRIPTS, type DialectScript } from "./dialect-scripts.ts";
import type { FieldColumn } from "./field-outcomes.ts";
import { responseFrames, responseJson } from "./responses-native.ts";
import { RESPONSES_COLUMN, responsesAlone } from "./responses-script.ts";
import type { Provider } from "./scene.ts";

const { D1, D2, D3, D4 } = DIALECT_SCRIPTS;
const HELLO = { text: "Hello." };

function column(
  adapter: string,
  format: WireFormatName,
  script: DialectScript,
  at: { provider?: Provider; model?: string } = {},
): FieldColumn {
  const { provider, model } = { ...script, ...at };
  return { adapter, format, provider, model, whole: script.whole(HELLO), streamed: script.streamed(HELLO) };
}

/** One endpoint of every upstream adapter for text, by the name of the adapter. */
export const TEXT_COLUMNS = {
  chat: column("chat completions", "chat", D1),
  strictChat: column("chat completions (strict)", "chat", D1, {
    provider: "mistral",
    model: "mistral/mistral-medium-2604",
  }),
  messages: column("messages", "messages", D2),
  gemini: column("Gemini", "gemini", D3, { model: "google/gemini-3.5-flash" }),
  nova: column("Converse (Nova)", "converse", D4),
  claudeOnBedrock: column("Converse (Claude)", "converse", D4, { model: "anthropic/claude-sonnet-4-6" }),
  responses: {
    ...column("responses", "responses", RESPONSES_COLUMN),
    whole: { json: responseJson() },
    streamed: { frames: responseFrames(["Hello."]) },
    env: responsesAlone,
  },
  // Bedrock takes bodies of messages callers for Claude.
  invoke: {
    ...column("InvokeModel (Claude)", "messages", D2, { provider: "aws-bedrock" }),
  },
} as const;
