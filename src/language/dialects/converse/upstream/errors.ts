import { isJsonObject, type JsonObject, tryParseJsonObject } from "../../../../kit/json.ts";
import { NO_REASON_STATED, problemText, type UpstreamProblem } from "../../../canon/upstream-problem.ts";

/** ARNs contain the operator's account number. */
const RESOURCE_NAME = /\barn:[\w-]+:[^\s"',)]*/g;

/** Statuses of exceptions inside a stream. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ["validationexception", 400],
  ["accessdeniedexception", 403],
  ["expiredtokenexception", 403],
  ["unrecognizedclientexception", 403],
  ["resourcenotfoundexception", 404],
  ["modeltimeoutexception", 408],
  ["modelerrorexception", 424],
  ["modelstreamerrorexception", 424],
  ["throttlingexception", 429],
  ["servicequotaexceededexception", 429],
  ["modelnotreadyexception", 429],
  ["internalserverexception", 500],
  ["serviceunavailableexception", 503],
]);

/** AWS errors: the message is in the body, the exception name in a header or in the body. */
export function decodeProblem(
  body: unknown,
  status: number | null,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): UpstreamProblem {
  const fields = isJsonObject(body) ? body : {};
  return problem(exceptionName(headers["x-amzn-errortype"] ?? fields["__type"]), fields, status);
}

export function decodeException(name: string, data: string): UpstreamProblem {
  const fields = tryParseJsonObject(data) ?? {};
  const code = exceptionName(name);
  return problem(code, fields, STATUSES.get(code?.toLowerCase() ?? "") ?? 500);
}

function problem(code: string | null, fields: JsonObject, status: number | null): UpstreamProblem {
  const { message, Message, originalMessage, fieldList } = fields;
  const text = problemText(message, Message, originalMessage) ?? NO_REASON_STATED;
  const [field]: unknown[] = Array.isArray(fieldList) ? fieldList : [];
  return {
    message: text.replace(RESOURCE_NAME, "[a resource of the operator]"),
    code,
    type: null,
    param: (isJsonObject(field) ? problemText(field["path"], field["name"]) : null) ?? undefined,
    status,
  };
}

/** Handles `ValidationException:http://…` and `com.amazon.coral.service#ValidationException`. */
function exceptionName(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const [name = ""] = value.slice(value.lastIndexOf("#") + 1).split(":");
  return name === "" ? null : name;
}
