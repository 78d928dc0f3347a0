import { invalidValue } from "../../contract/faults.ts";
import { EMBEDDING_INPUTS_MAX } from "../../contract/schemas/embeddings.ts";

/** The `input` field as sent; `shape` distinguishes one token list from several. */
export type RawEmbeddingInputs =
  | { readonly is: "texts"; readonly texts: readonly string[] }
  | { readonly is: "tokens"; readonly lists: readonly (readonly number[])[]; readonly shape: "one" | "many" };

const INPUT_SHAPES = "a string, an array of strings, an array of token ids, or an array of such arrays";

/**
 * Decodes the four shapes of `input`. Not a schema, because a union would check hundreds of thousands of tokens once
 * per shape.
 */
export function decodeInputs(input: unknown): RawEmbeddingInputs {
  if (input === undefined || input === null) throw invalidValue("input", "is required");
  if (typeof input === "string") return { is: "texts", texts: [requireText(input, "input")] };
  if (!Array.isArray(input)) throw invalidValue("input", `must be ${INPUT_SHAPES}`);
  const [first] = input;
  if (typeof first === "number") return { is: "tokens", lists: [requireTokens(input, "input")], shape: "one" };
  if (input.length > EMBEDDING_INPUTS_MAX)
    throw invalidValue("input", `must have at most ${EMBEDDING_INPUTS_MAX} items, but has ${input.length}`);
  if (typeof first === "string")
    return { is: "texts", texts: input.map((item, index) => requireText(item, `input.${index}`)) };
  if (!Array.isArray(first))
    throw invalidValue("input", input.length === 0 ? "must not be empty" : `must be ${INPUT_SHAPES}`);
  return { is: "tokens", lists: input.map((item, index) => requireTokens(item, `input.${index}`)), shape: "many" };
}

function requireText(value: unknown, param: string): string {
  if (typeof value !== "string") throw invalidValue(param, "must be a string, like the first item");
  if (value === "") throw invalidValue(param, "must not be empty");
  return value;
}

function requireTokens(value: unknown, param: string): number[] {
  if (!Array.isArray(value)) throw invalidValue(param, "must be an array of token ids, like the first item");
  if (value.length === 0) throw invalidValue(param, "must not be empty");
  return value.map((item: unknown, index) => {
    if (typeof item === "number" && Number.isSafeInteger(item) && item >= 0) return item;
    throw invalidValue(`${param}.${index}`, "must be a token id, like the first item");
  });
}
