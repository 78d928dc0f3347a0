import { NON_OPENAI_FIELDS } from "../non-openai-fields.ts";
import type { FieldTable } from "../upstream-dialect.ts";

/** The parameter table of the Gemini dialect (D3). */
export const FIELDS: FieldTable = NON_OPENAI_FIELDS;
