import { invalidValue } from "../../contract/faults.ts";
import { EMBEDDING_INPUTS_MAX } from "../../contract/schemas/embeddings.ts";

/** The inputs of a request as they were sent: one list of numbers, or many. */
export type RawEmbeddingInputs =
  | { readonly is: "texts"; readonly texts: readonly string[] }
  | { readonly is: "tokens"; readonly lists: readonly (readonly number[])[]; readonly shape: "one" | "many" };

const INPUT_SHAPES = "a text, a list of texts, a list of token numbers, or a list of such lists";

/**
 * Reads the field `input` of a request in any of its four forms. By hand: a list may hold hundreds of thousands of
 * numbers, and a schema of four forms would try each of them four times.
 */
export function decodeInputs(input: unknown): RawEmbeddingInputs {
  if (input === undefined || input === null) throw invalidValue("input", "it is required");
  if (typeof input === "string") return { is: "texts", texts: [requireText(input, "input")] };
  if (!Array.isArray(input)) throw invalidValue("input", `must be ${INPUT_SHAPES}`);
  const [first] = input;
  if (typeof first === "number") return { is: "tokens", lists: [requireTokens(input, "input")], shape: "one" };
  if (input.length > EMBEDDING_INPUTS_MAX)
    throw invalidValue("input", `must have at most ${EMBEDDING_INPUTS_MAX} items, and has ${input.length}`);
  if (typeof first === "string") return { is: "texts", texts: input.map((one, at) => requireText(one, `input.${at}`)) };
  if (!Array.isArray(first))
    throw invalidValue("input", input.length === 0 ? "must not be empty" : `must be ${INPUT_SHAPES}`);
  return { is: "tokens", lists: input.map((one, at) => requireTokens(one, `input.${at}`)), shape: "many" };
}

function requireText(value: unknown, param: string): string {
  if (typeof value !== "string") throw invalidValue(param, "must be a text, as the first item is");
  if (value === "") throw invalidValue(param, "must not be empty");
  return value;
}

function requireTokens(value: unknown, param: string): number[] {
  if (!Array.isArray(value)) throw invalidValue(param, "must be a list of token numbers, as the first item is");
  if (value.length === 0) throw invalidValue(param, "must not be empty");
  return value.map((one: unknown, at) => {
    if (typeof one === "number" && Number.isSafeInteger(one) && one >= 0) return one;
    throw invalidValue(`${param}.${at}`, "must be a token number, as the first item is");
  });
}
