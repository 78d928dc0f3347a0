import { type Fault, fault } from "../contract/faults.ts";
import type { Route, Switch } from "../contract/route.ts";
import { GEMINI_ROUTES } from "../contract/routes/inference/gemini.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";

export function missingHostFault(): Fault {
  return fault("invalid_request", {
    message: "The request has no Host header, which HTTP/1.1 requires. Send one.",
    headers: { connection: "close" },
  });
}

/** Every path of the Gemini dialect. */
export const GEMINI_PREFIX = "/v1beta/";
const GEMINI_ACTIONS = GEMINI_ROUTES.flatMap(({ path }) => /:\w+$/.exec(path) ?? []);
/** An action of a model that the gateway does not have. */
const UNKNOWN_ACTION = /^\/v1beta\/models\/.*:\w+$/;
const MESSAGES_PATH = /\/messages(?:\/|$)/;

/** Hints for paths that official clients use and the gateway does not serve; the first match wins. */
const ALTERNATIVES: readonly (readonly [at: RegExp, hint: string])[] = [
  [
    /^\/openai\/deployments\//,
    "Azure's client is not supported: use the plain client with a base URL that ends in /v1",
  ],
  [/^\/v1beta\/v1beta\//, "The base URL of a Gemini client must not end in /v1beta: the client adds it"],
  [
    /^\/v1(?:alpha|beta1)?\/(?:tunedModels|publishers)\/.*:\w+$/,
    "POST /v1beta/models/{model}:generateContent generates content; tuned models are not supported",
  ],
  [
    /^\/v1beta\/(?:files|cachedContents|batches|tunedModels|corpora)(?:\/|:|$)/,
    "Nothing is stored at Google through the gateway: send content inline",
  ],
  [UNKNOWN_ACTION, `The actions of a model are ${GEMINI_ACTIONS.join(", ")}`],
  [
    /\/messages\/batches(?:\/|$)/,
    "POST /v1/messages/batches runs many messages; most clients need the base URL without /v1",
  ],
  [/\/batches(?:\/|$)/, "POST /v1/batches runs the requests of a file; clients need the base URL with /v1"],
  [/\/uploads(?:\/|$)/, "POST /v1/files stores a file for a batch in one request"],
  [/\/files(?:\/|$)/, "POST /v1/files stores a file for a batch; clients need the base URL with /v1"],
  [
    /\/(?:conversations|threads|assistants)(?:\/|$)/,
    "Conversations are not supported: continue a stored response with previous_response_id in POST /v1/responses",
  ],
  [
    /\/chat\/completions\/./,
    "Chat completions are not stored: use responses, which GET /v1/responses/{response_id} returns",
  ],
  [/\/responses\/input_tokens$/, "POST /v1/messages/count_tokens counts tokens for every chat model"],
  [/\/moderations$/, "POST /v1/moderations judges texts; clients need the base URL with /v1"],
  [/\/audio\/translations$/, "POST /v1/audio/transcriptions transcribes; a chat model can translate the transcript"],
  [/\/realtime(?:\/|$)/, "POST /v1/responses with stream: true streams the response"],
  [
    /\/messages\/count_tokens$/,
    "POST /v1/messages/count_tokens counts tokens; most clients need the base URL without /v1",
  ],
  [/\/messages$/, "POST /v1/messages creates a message; most clients need the base URL without /v1"],
  [/\/responses$/, "POST /v1/responses creates a response; clients need the base URL with /v1"],
  [/\/chat\/completions$/, "POST /v1/chat/completions creates a chat completion; clients need the base URL with /v1"],
  [/\/embeddings$/, "POST /v1/embeddings creates embeddings; clients need the base URL with /v1"],
  [/\/audio\/transcriptions$/, "POST /v1/audio/transcriptions transcribes audio; clients need the base URL with /v1"],
  [/\/audio\/speech$/, "POST /v1/audio/speech generates speech; clients need the base URL with /v1"],
];

const alternativeFor = (path: string) => ALTERNATIVES.find(([at]) => at.test(path))?.[1];

export function unknownPathFault(method: string, path: string): Fault {
  const create = MESSAGES_PATH.test(path)
    ? "POST /v1/messages creates a message"
    : "POST /v1/chat/completions creates a chat completion";
  const hint = alternativeFor(path) ?? (method === "POST" ? create : "GET /docs lists every endpoint");
  return fault("not_found", { message: `There is nothing at ${method} ${path.slice(0, 200)}. ${hint}.` });
}

/** Error shape for an unknown path: clients of these dialects expect their own. */
export function errorShapeAt(path: string): Route["errors"] {
  if (path.startsWith(GEMINI_PREFIX)) return "gemini";
  return MESSAGES_PATH.test(path) ? "messages" : undefined;
}

export function methodFault(
  { method = "", headers }: Pick<InboundHttpRequest, "method" | "headers">,
  path: string,
  allow: readonly string[],
): Fault {
  // Only reading a model makes such a path known, so its error would name GET alone.
  if (method === "POST" && UNKNOWN_ACTION.test(path) && !allow.includes("POST")) return unknownPathFault(method, path);
  const wantsWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  return wantsWebSocket && allow.includes("POST") ? noWebSocketFault(allow) : wrongMethodFault(method, path, allow);
}

function wrongMethodFault(method: string, path: string, allow: readonly string[]): Fault {
  const list = allow.join(", ");
  const hint = allow.includes("POST") ? undefined : alternativeFor(path);
  return fault("method_not_allowed", {
    message: `${method.slice(0, 20)} is not allowed here. Allowed: ${list}.${hint === undefined ? "" : ` ${hint}.`}`,
    headers: { allow: list },
  });
}

/** Codex may try a WebSocket first: it falls back to HTTP only on status 426. */
function noWebSocketFault(allow: readonly string[]): Fault {
  return fault("upgrade_required", {
    message:
      "This endpoint does not support WebSocket: send the request with POST over HTTP and read the response as a stream.",
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
    message: "This gateway is stopping. Reconnect to reach another instance.",
    headers: { "retry-after": "1" },
  });
}

const enableHint = (setting: string) => `The operator can enable it (${setting}).`;

export const SWITCHED_OFF_FAULTS: Readonly<Record<Switch, Fault>> = {
  decisions: fault("decisions_not_enabled", {
    message: `Decisions are not enabled on this deployment. ${enableHint("GATEWAY_DECISIONS")}`,
  }),
  gemini: fault("gemini_not_enabled", {
    message: `The Gemini API is not enabled on this deployment. ${enableHint("GATEWAY_GEMINI")}`,
  }),
  rerank: fault("rerank_not_enabled", {
    message: `Reranking is not enabled on this deployment. ${enableHint("GATEWAY_RERANK")}`,
  }),
  moderations: fault("moderations_not_enabled", {
    message: `Moderations are not enabled on this deployment. ${enableHint("GATEWAY_MODERATIONS")}`,
  }),
  images: fault("images_not_enabled", {
    message: `Images are not enabled on this deployment. ${enableHint("GATEWAY_IMAGES")}`,
  }),
  batches: fault("batches_not_enabled", {
    message: `Files and batches are not enabled on this deployment. ${enableHint("GATEWAY_BATCHES")}`,
  }),
  speech: fault("audio_not_enabled", {
    message: `Text-to-speech is not enabled on this deployment. ${enableHint("GATEWAY_SPEECH")}`,
  }),
};

export function addressRateLimitFault(waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `Too many requests from this IP address. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}

export function changedRightsFault(): Fault {
  return fault("insufficient_role", {
    message: "Your permissions changed while the request was being sent. Reload the page.",
  });
}

export function managerRateLimitFault(perMinute: number, waitSeconds: number): Fault {
  return fault("rate_limit_exceeded", {
    message: `You exceeded the management API limit of ${perMinute} calls per minute. Try again in ${waitSeconds} s.`,
    headers: { "retry-after": String(waitSeconds) },
  });
}
