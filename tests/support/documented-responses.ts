import { apiDocumentText, manageDocumentText } from "../../src/contract/documents.ts";
import type { Route } from "../../src/contract/route.ts";
import { faultsOf } from "../../src/contract/route-faults.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import { IdempotentReplay } from "../../src/contract/schemas/idempotency.ts";
import { findRoute } from "../../src/edge/request-router.ts";
import { RouteTable } from "../../src/edge/route-table.ts";
import type { Called } from "./gateway.ts";

const routeTable = new RouteTable(ROUTES);

type Answers = Readonly<Record<string, { $ref?: string; headers?: object; content?: object }>>;
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId?: string; responses?: Answers }>>>>;
  readonly components: { readonly responses: Answers };
};

const deployment = { version: "0.0.0", serverUrl: "https://gateway.example.eu" };
const documents = [apiDocumentText(deployment), manageDocumentText(deployment)].map(
  (text): Document => JSON.parse(text),
);
const answers = new Map(documents.flatMap(answersByRoute));

/** Documented headers among those sent; the two other names of X-Svc-Request-Id are only in the guides. */
const NAMED = /^(x-svc-|x-ratelimit-|x-should-retry$|retry-after$|www-authenticate$|idempotent-replayed$)/;

function answersByRoute({ paths, components }: Document): [string, Answers][] {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  return operations.map(({ operationId = "", responses = {} }) => {
    const whole = Object.entries(responses).map(([status, answer]) => {
      const name = answer.$ref?.split("/").at(-1);
      return [status, name === undefined ? answer : components.responses[name]];
    });
    return [operationId, Object.fromEntries(whole)];
  });
}

/** Checks every response of a test against the OpenAPI document. */
export function expectDocumented(method: string, where: string, answer: Called): void {
  const lookup = findRoute(routeTable, method, where.split("?")[0] ?? where);
  if (lookup.is !== "found" || method === "HEAD") return;
  const { route } = lookup.match;
  const wrong =
    (answer.status >= 400 ? wrongRefusal(route, answer) : wrongAnswer(route, answer)) ?? unnamedIn(route, answer);
  if (wrong === undefined) return;
  throw new Error(`${method} ${where}: the OpenAPI document has no such answer of ${route.id}: ${wrong}`);
}

/** Checks headers and content type of a response against the document. HTML pages are not in it. */
function unnamedIn({ id }: Route, { status, headers }: Called): string | undefined {
  // A provider's own status is relayed, whatever it is.
  const documented = answers.get(id)?.[status];
  if (documented === undefined) return undefined;
  const named = new Set(Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase()));
  const unnamed = [...headers.keys()].filter((name) => NAMED.test(name) && !named.has(name));
  if (unnamed.length > 0) return `${status} with ${unnamed.join(", ")}`;
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  return documented.content === undefined || type in documented.content ? undefined : `${status} of type ${type}`;
}

function wrongRefusal(route: Route, { status, headers, body }: Called): string | undefined {
  const code: unknown = route.errors === "gemini" ? geminiCode(body) : body?.error?.code;
  if (status === 401 && headers.get("www-authenticate") !== "Bearer") return "401 without WWW-Authenticate: Bearer";
  if ((status === 429 || status === 503) && !/^\d+$/.test(headers.get("retry-after") ?? ""))
    return `${status} without Retry-After`;
  return faultsOf(route).some((one) => one === code) ? undefined : `${status} ${code}`;
}

/** An array stands for a stream that failed before its first byte. */
function geminiCode(body: Called["body"]): unknown {
  return (Array.isArray(body) ? body[0] : body)?.error?.details?.[0]?.metadata?.code;
}

function wrongAnswer({ answer }: Route, { status, headers, body, text }: Called): string | undefined {
  if (answer.is === "bytes" || answer.is === "text") return undefined;
  const isTagged = answer.is === "json" && answer.tagged === true;
  if (status === 304 && isTagged) return undefined;
  if (status !== (answer.is === "json" ? answer.status : 200)) return `status ${status}`;
  if (status === 204) return undefined;
  if (isTagged && headers.get("etag") === null) return "no ETag";
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (type !== "application/json") return wrongType(answer, type);
  const isReplay = headers.get("idempotent-replayed") === "true" && IdempotentReplay.safeParse(body).success;
  const read = answer.schema.safeParse(body);
  return read.success || isReplay ? undefined : `${read.error.message} in ${text}`;
}

function wrongType(
  answer: Extract<Route["answer"], { is: "json" | "json_or_events" }>,
  type: string,
): string | undefined {
  if (answer.is === "json_or_events" && type === "text/event-stream") return undefined;
  return answer.or === type ? undefined : `content type ${type}`;
}
