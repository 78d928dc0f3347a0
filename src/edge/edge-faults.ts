import { type Fault, fault } from "../contract/faults.ts";
import type { Route, Switch } from "../contract/route.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";

export function missingHostFault(): Fault {
  return fault("invalid_request", {
    message: "The request has no Host header, which HTTP/1.1 demands. Send one.",
    headers: { connection: "close" },
  });
}

const MESSAGES_PATH = /\/messages(?:\/|$)/;

/** Hints for paths that official clients use and the gateway does not serve; the first match wins. */
const ALTERNATIVES: readonly (readonly [at: RegExp, hint: string])[] = [
  [
    /^\/openai\/deployments\//,
    "Azure's client is not served: take the plain client, with a base address ending in /v1",
  ],
  [/\/messages\/batches(?:\/|$)/, "Batches are not offered: send the messages one by one to POST /v1/messages"],
  [
    /\/batches(?:\/|$)/,
    "Batches are not offered: send the requests one by one; POST /v1/responses with background: true answers later",
  ],
  [/\/(?:files|uploads)(?:\/|$)/, "Files are not kept here: send them inside the request, as data URLs or in base64"],
  [
    /\/(?:conversations|threads|assistants)(?:\/|$)/,
    "Conversations are stored responses: POST /v1/responses with previous_response_id goes on from one",
  ],
  [
    /\/chat\/completions\/./,
    "Chat completions are not stored: responses are, and GET /v1/responses/{response_id} gives them back",
  ],
  [/\/responses\/input_tokens$/, "POST /v1/messages/count_tokens counts for every chat model"],
  [/\/moderations$/, "POST /v1/decisions answers typed questions about a text"],
  [/\/audio\/translations$/, "POST /v1/audio/transcriptions writes what was said; a chat model translates it"],
  [/\/realtime(?:\/|$)/, "POST /v1/responses with stream: true answers word by word"],
  [
    /\/messages\/count_tokens$/,
    "POST /v1/messages/count_tokens counts; most clients want the base address without /v1",
  ],
  [/\/messages$/, "POST /v1/messages creates a message; most clients want the base address without /v1"],
  [/\/responses$/, "POST /v1/responses creates a response; clients want the base address with /v1 at its end"],
  [
    /\/chat\/completions$/,
    "POST /v1/chat/completions creates a chat completion; clients want the base address with /v1",
  ],
  [/\/embeddings$/, "POST /v1/embeddings creates embeddings; clients want the base address with /v1 at its end"],
  [
    /\/audio\/transcriptions$/,
    "POST /v1/audio/transcriptions transcribes; clients want the base address with /v1 at its end",
  ],
  [/\/audio\/speech$/, "POST /v1/audio/speech speaks; clients want the base address with /v1 at its end"],
];

const alternativeFor = (path: string) => ALTERNATIVES.find(([at]) => at.test(path))?.[1];

export function unknownPathFault(method: string, path: string): Fault {
  const create = MESSAGES_PATH.test(path)
    ? "POST /v1/messages creates a message"
    : "POST /v1/chat/completions creates a chat completion";
  const hint = alternativeFor(path) ?? (method === "POST" ? create : "GET /docs lists every endpoint");
  return fault("not_found", { message: `There is nothing at ${method} ${path.slice(0, 200)}. ${hint}.` });
}

/** Error shape for an unknown path: clients of the messages dialect expect their own. */
export function errorShapeAt(path: string): Route["errors"] {
  return MESSAGES_PATH.test(path) ? "messages" : undefined;
}

export function methodFault(
  { method = "", headers }: Pick<InboundHttpRequest, "method" | "headers">,
  path: string,
  allow: readonly string[],
): Fault {
  const wantsWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  return wantsWebSocket && allow.includes("POST") ? noWebSocketFault(allow) : wrongMethodFault(method, path, allow);
}

function wrongMethodFault(method: string, path: string, allow: readonly string[]): Fault {
  const list = allow.join(", ");
  const hint = allow.includes("POST") ? undefined : alternativeFor(path);
  return fault("method_not_allowed", {
    message: `${method.slice(0, 20)} is not allowed here; allowed: ${list}.${hint === undefined ? "" : ` ${hint}.`}`,
    headers: { allow: list },
  });
}

/** Codex may try a WebSocket first: it falls back to HTTP only on status 426. */
function noWebSocketFault(allow: readonly string[]): Fault {
  return fault("upgrade_required", {
    message: "There is no WebSocket here: send the request with POST over HTTP, and read its answer as a stream.",
    headers: { allow: allow.join(", "), upgrade: "HTTP/1.1", connection: "close, upgrade" },
  });
}

export function startingFault(): Fault {
  return fault("service_unavailable", {
    message: "The gateway is starting. Try again in a second.",
    headers: { "retry-after": "1" },
  });
}

export function stoppingFault(): Fault {
  return fault("service_unavailable", {
    message: "This gateway is stopping. Connect again: another instance, or the next one, takes over.",
    headers: { "retry-after": "1" },
  });
}

const enableHint = (setting: string) => `Whoever runs it can switch it on (${setting}).`;

export const SWITCHED_OFF_FAULTS: Readonly<Record<Switch, Fault>> = {
  decisions: fault("decisions_not_enabled", {
    message: `Decisions are not enabled on this deployment. ${enableHint("GATEWAY_DECISIONS")}`,
  }),
  speech: fault("audio_not_enabled", {
    message: `Text-to-speech is not enabled on this deployment. ${enableHint("GATEWAY_SPEECH")}`,
  }),
};

export function addressRateLimitFault(waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `Too many requests from this address. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}

export function changedRightsFault(): Fault {
  return fault("insufficient_role", {
    message: "What you may do was changed while this was being sent. Load the page again.",
  });
}

export function managerRateLimitFault(perMinute: number, waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `You are over the limit of ${perMinute} calls of the management API a minute. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}
