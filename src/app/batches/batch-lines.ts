import type { BatchError, BatchHead } from "../../domain/batches/batch.ts";
import { isJsonObject, nestedBody, parseJsonText } from "../../kit/json.ts";

/** One request of a batch. `body` is the text as it was sent. */
export type BatchLine = { readonly customId: string; readonly body: string };

type LineProblem = Pick<BatchError, "code" | "message" | "param">;

const CUSTOM_ID_CHARS_MAX = 512;
const MESSAGES_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Reads one line of the input; a problem says what to correct. */
export function parseLine(
  text: string,
  { shape, endpoint }: Pick<BatchHead, "shape" | "endpoint">,
): BatchLine | LineProblem {
  const parsed = parseJsonText(text);
  if ("problem" in parsed) return problem("invalid_json_line", `is not a JSON object: ${parsed.problem}`, null);
  const line = parsed.value;
  const customId = line["custom_id"];
  if (customId === undefined) return problem("missing_required_parameter", "has no custom_id", "custom_id");
  if (typeof customId !== "string" || customId === "" || customId.length > CUSTOM_ID_CHARS_MAX)
    return problem("invalid_value", `must have a custom_id of 1 to ${CUSTOM_ID_CHARS_MAX} characters`, "custom_id");
  if (shape === "anthropic" && !MESSAGES_ID.test(customId))
    return problem("invalid_value", "must have a custom_id of 1 to 64 letters, digits, _ or -", "custom_id");
  const bodyField = shape === "anthropic" ? "params" : "body";
  if (shape === "openai") {
    if (line["method"] !== undefined && line["method"] !== "POST")
      return problem("invalid_value", 'must have the method "POST"', "method");
    if (line["url"] === undefined) return problem("missing_required_parameter", "has no url", "url");
    if (line["url"] !== endpoint)
      return problem("mismatched_endpoint", `must have the url "${endpoint}", the endpoint of the batch`, "url");
  }
  const body = nestedBody(parsed, bodyField);
  if (body === undefined || !isJsonObject(line[bodyField]))
    return problem("missing_required_parameter", `must have a JSON object in ${bodyField}`, bodyField);
  const unsupported = unsupportedField(body.value, bodyField);
  return unsupported ?? { customId, body: body.text };
}

/** What a request of a batch cannot have, because no client waits for it and nothing of it is stored elsewhere. */
function unsupportedField(body: Readonly<Record<string, unknown>>, field: string): LineProblem | undefined {
  for (const name of ["stream", "background", "store"])
    if (body[name] === true) return problem("invalid_value", `must not have ${field}.${name}`, `${field}.${name}`);
  if (body["previous_response_id"] != null)
    return problem(
      "invalid_value",
      `must not have ${field}.previous_response_id: send the whole conversation`,
      `${field}.previous_response_id`,
    );
  return undefined;
}

function problem(code: string, message: string, param: string | null): LineProblem {
  return { code, message, param };
}

export function isProblem(line: BatchLine | LineProblem): line is LineProblem {
  return "code" in line;
}
