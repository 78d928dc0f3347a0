import type { Route } from "../../src/contract/route.ts";
import { faultsOf } from "../../src/contract/route-faults.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import { IdempotentReplay } from "../../src/contract/schemas/idempotency.ts";
import { Router } from "../../src/edge/router.ts";
import type { Called } from "./gateway.ts";

const router = new Router(ROUTES);

/** Whatever a test asks for: what comes back is what the OpenAPI document says can come back. */
export function expectDocumented(method: string, where: string, answer: Called): void {
  const lookup = router.find(method, where.split("?")[0] ?? where);
  if (lookup.is !== "found" || method === "HEAD") return;
  const { route } = lookup.match;
  const wrong = answer.status >= 400 ? wrongRefusal(route, answer) : wrongAnswer(route, answer);
  if (wrong === undefined) return;
  throw new Error(`${method} ${where}: the OpenAPI document has no such answer of ${route.id}: ${wrong}`);
}

function wrongRefusal(route: Route, { status, headers, body }: Called): string | undefined {
  const code: unknown = body?.error?.code;
  if (status === 401 && headers.get("www-authenticate") !== "Bearer") return "401 without WWW-Authenticate: Bearer";
  return faultsOf(route).some((one) => one === code) ? undefined : `${status} ${code}`;
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

function wrongType(answer: Route["answer"], type: string): string | undefined {
  if (answer.is === "json_or_events" && type === "text/event-stream") return undefined;
  return answer.is === "json" && answer.or === type ? undefined : `content type ${type}`;
}
