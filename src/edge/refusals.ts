import { type Fault, fault } from "../contract/faults.ts";

export function noHost(): Fault {
  return fault("invalid_request", {
    message: "The request has no Host header, which HTTP/1.1 demands.",
    headers: { connection: "close" },
  });
}

export function unknownPath(method: string, path: string): Fault {
  const hint =
    method === "POST" ? "POST /v1/chat/completions creates a chat completion" : "GET /docs lists every endpoint";
  return fault("not_found", { message: `There is nothing at ${method} ${path.slice(0, 200)}. ${hint}.` });
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

export function tooManyFromAddress(waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `Too many requests from this address. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}

export function internalFault(error: unknown): Fault {
  const detail = { cause: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return fault("internal_error", {
    message: "The gateway failed on this request. Try again; if it stays, tell the operator the request id.",
    detail,
  });
}
