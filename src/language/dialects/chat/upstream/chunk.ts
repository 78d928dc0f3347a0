import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/problem.ts";
import { decodeProblem } from "./errors.ts";
import { isAborted } from "./normalize.ts";

export const END_MARKER = "[DONE]";
const ABORTED_MESSAGE = "the model gave its answer up";

/** An error in the place of an answer, or an answer that was given up: both come with a status of 200. */
export function problemInChunk(chunk: JsonObject, event: string | null): UpstreamProblem | undefined {
  const { choices, error, object } = chunk;
  if (isJsonObject(error) || typeof error === "string" || object === "error" || event === "error")
    return decodeProblem(chunk, null);
  return Array.isArray(choices) && isAborted(choices) ? decodeProblem({ message: ABORTED_MESSAGE }, null) : undefined;
}
