import { FIELDS as CHAT_FIELDS } from "./chat/fields.ts";
import { FIELDS as CONVERSE_FIELDS } from "./converse/fields.ts";
import { FIELDS as GEMINI_FIELDS } from "./gemini/fields.ts";
import { FIELDS as MESSAGES_FIELDS } from "./messages/fields.ts";
import type { FieldTable } from "./upstream-dialect.ts";

/** Parameter tables of the upstream dialects, in the column order of docs/parameters.md. */
export const FIELD_TABLES = {
  D1: { title: "chat completions", fields: CHAT_FIELDS },
  D2: { title: "messages (Claude)", fields: MESSAGES_FIELDS },
  D3: { title: "generateContent (Gemini)", fields: GEMINI_FIELDS },
  D4: { title: "Converse (Amazon Bedrock)", fields: CONVERSE_FIELDS },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly fields: FieldTable }>>;
