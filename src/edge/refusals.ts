import { type Fault, fault } from "../contract/faults.ts";
import type { Route, Switch } from "../contract/route.ts";
import { awayFault } from "../io/store/sql/store-error.ts";

export function noHost(): Fault {
  return fault("invalid_request", {
    message: "The request has no Host header, which HTTP/1.1 demands.",
    headers: { connection: "close" },
  });
}

const OF_MESSAGES = /\/messages(?:\/|$)/;

/** What somebody meant whose client put its own path behind a wrong base address. */
const MEANT: readonly (readonly [ending: string, hint: string])[] = [
  ["/messages/count_tokens", "POST /v1/messages/count_tokens counts; most clients want the base address without /v1"],
  ["/messages", "POST /v1/messages creates a message; most clients want the base address without /v1"],
  ["/responses", "POST /v1/responses creates a response; clients want the base address with /v1 at its end"],
  ["/chat/completions", "POST /v1/chat/completions creates a chat completion; clients want the base address with /v1"],
];

export function unknownPath(method: string, path: string): Fault {
  const meant = method === "POST" ? MEANT.find(([ending]) => path.endsWith(ending))?.[1] : undefined;
  const create = OF_MESSAGES.test(path)
    ? "POST /v1/messages creates a message"
    : "POST /v1/chat/completions creates a chat completion";
  const hint = meant ?? (method === "POST" ? create : "GET /docs lists every endpoint");
  return fault("not_found", { message: `There is nothing at ${method} ${path.slice(0, 200)}. ${hint}.` });
}

/** The shape of refusals where no route answers: who knocks there has a client of that dialect. */
export function errorsAt(path: string): Route["errors"] {
  return OF_MESSAGES.test(path) ? "messages" : undefined;
}

export function wrongMethod(method: string, allow: readonly string[]): Fault {
  const list = allow.join(", ");
  return fault("method_not_allowed", {
    message: `${method.slice(0, 20)} is not allowed here; allowed: ${list}.`,
    headers: { allow: list },
  });
}

export function starting(): Fault {
  return fault("service_unavailable", {
    message: "The gateway is starting. Try again in a second.",
    headers: { "retry-after": "1" },
  });
}

export function stopping(): Fault {
  return fault("service_unavailable", {
    message: "This gateway is stopping. Connect again: another instance, or the next one, takes over.",
    headers: { "retry-after": "1" },
  });
}

const SWITCHED_OFF: Readonly<Record<Switch, Fault>> = {
  decisions: fault("decisions_not_enabled", { message: "Decisions are not enabled on this deployment." }),
  speech: fault("audio_not_enabled", { message: "Text-to-speech is not enabled on this deployment." }),
};

export function switchedOffFault({ switchedBy }: Route, off: ReadonlySet<Switch>): Fault | undefined {
  return switchedBy !== undefined && off.has(switchedBy) ? SWITCHED_OFF[switchedBy] : undefined;
}

export function tooManyFromAddress(waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `Too many requests from this address. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}

export function tooManyCalls(perMinute: number, waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `You are over the limit of ${perMinute} calls of the management API a minute. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}

export function internalFault(error: unknown): Fault {
  const away = awayFault(error);
  if (away !== undefined) return away;
  const detail = { cause: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return fault("internal_error", {
    message: "The gateway failed on this request. Try again; if it stays, tell the operator the request id.",
    detail,
  });
}
