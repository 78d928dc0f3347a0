import { isJsonObject, tryParseJsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";

const MESSAGE_CHARS_MAX = 2000;
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
  return problem(exceptionName(headers["x-amzn-errortype"] ?? fields["__type"]), messageIn(fields), status);
}

export function decodeException(name: string, data: string): UpstreamProblem {
  const fields = tryParseJsonObject(data) ?? {};
  const code = exceptionName(name);
  return problem(code, messageIn(fields), STATUSES.get(code?.toLowerCase() ?? "") ?? 500);
}

function problem(code: string | null, message: string | null, status: number | null): UpstreamProblem {
  const text = (message ?? "the provider gave no reason").replace(RESOURCE_NAME, "[a resource of the operator]");
  return { message: text.slice(0, MESSAGE_CHARS_MAX), code, type: null, status };
}

/** Handles `ValidationException:http://…` and `com.amazon.coral.service#ValidationException`. */
function exceptionName(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const [name = ""] = value.slice(value.lastIndexOf("#") + 1).split(":");
  return name === "" ? null : name;
}

function messageIn(body: { readonly [key: string]: unknown }): string | null {
  const text = [body["message"], body["Message"], body["originalMessage"]].find(
    (value) => typeof value === "string" && value !== "",
  );
  return typeof text === "string" ? text : null;
}
