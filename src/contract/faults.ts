import { DISABLED_SURFACE_FAULTS } from "./disabled-surface-faults.ts";
import type { UpstreamError } from "./upstream-error.ts";

/**
 * The closed catalogue of everything the gateway refuses with. A code is API: it never changes its meaning.
 * `says` (cause) and `next` (what to do) are the generic sentences of the documentation and of the log; the message of a
 * response is written where the fault is thrown.
 */
export type FaultType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "billing_error"
  | "upstream_error"
  | "api_error";

type Entry = { readonly status: number; readonly type: FaultType; readonly says: string; readonly next: string };

const LOOSEN =
  "Use another model, or have the policy relaxed. The candidates of the request in the log name the rule that excluded each endpoint.";
const AGAIN = "Retry. If it keeps failing, check the attempts in the request log, or use a model with more endpoints.";

export const FAULTS = {
  unsupported_parameter: {
    status: 400,
    type: "invalid_request_error",
    says: "A field is unknown, or the serving dialect or model does not support it.",
    next: "Remove the field named in `param`, or use a model that supports it.",
  },
  invalid_value: {
    status: 400,
    type: "invalid_request_error",
    says: "A required field is missing, or a value has the wrong type or is out of range.",
    next: "Correct the field named in `param`.",
  },
  context_length_exceeded: {
    status: 400,
    type: "invalid_request_error",
    says: "The prompt exceeds the context length of every endpoint of the model.",
    next: "Shorten the prompt, or use a model with a longer context.",
  },
  previous_response_not_found: {
    status: 400,
    type: "invalid_request_error",
    says: "The previous response, or one before it, was never stored, was deleted or has expired.",
    next: "Send the whole conversation as `input`, without `previous_response_id`.",
  },
  invalid_json: {
    status: 400,
    type: "invalid_request_error",
    says: "The body is not a valid JSON object.",
    next: "Send one JSON object in UTF-8. The message states the problem.",
  },
  invalid_request: {
    status: 400,
    type: "invalid_request_error",
    says: "The HTTP request itself is malformed.",
    next: "Correct the request line or the header named in the message.",
  },
  router_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "`auto` and routers are available on the chat surfaces only.",
    next: "Send a model id. `GET /models` lists the models of each surface.",
  },
  image_input_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "The request contains images, but no endpoint of the decision model supports them.",
    next: "Remove the images, or use a decision model that supports them.",
  },
  speech_format_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "No endpoint of the model can produce or meter this audio format.",
    next: "Use one of the formats listed in the message.",
  },
  missing_api_key: {
    status: 401,
    type: "authentication_error",
    says: "The request has no API key.",
    next: "Send an API key as `Authorization: Bearer <key>`.",
  },
  invalid_api_key: {
    status: 401,
    type: "authentication_error",
    says: "The key is unknown or revoked, or was not issued by this gateway.",
    next: "Check the key, or create a new one. A revoked key cannot be restored.",
  },
  expired_api_key: {
    status: 401,
    type: "authentication_error",
    says: "The key has expired, or its rotation grace period has ended.",
    next: "Use the key that replaced it, or create a new one.",
  },
  invalid_admin_token: {
    status: 401,
    type: "authentication_error",
    says: "The management API requires a valid operator token, management token or session.",
    next: "Send the operator token or a management token as `Authorization: Bearer`, or sign in.",
  },
  invalid_node_token: {
    status: 401,
    type: "authentication_error",
    says: "The node token is missing, unknown or was rotated, or the node was removed.",
    next: "Start the node with its current token, or register it again.",
  },
  insufficient_credits: {
    status: 402,
    type: "billing_error",
    says: "The wallet does not cover this request.",
    next: "Add funds to the wallet, then retry.",
  },
  spend_limit_reached: {
    status: 402,
    type: "billing_error",
    says: "A spend limit does not cover this request.",
    next: "Raise the limit named in the message, or wait until it resets.",
  },
  not_signed_in: {
    status: 401,
    type: "authentication_error",
    says: "The session has expired.",
    next: "Sign in again.",
  },
  invalid_sign_in: {
    status: 401,
    type: "authentication_error",
    says: "The email address, password, code or passkey is wrong.",
    next: "Try again, or reset the password.",
  },
  fresh_sign_in_needed: {
    status: 403,
    type: "permission_error",
    says: "This action requires a recent sign-in.",
    next: "Sign in again, then repeat the action.",
  },
  insufficient_role: {
    status: 403,
    type: "permission_error",
    says: "Your role in the workspace does not permit this, or it is reserved for the operator.",
    next: "Ask an owner or the operator to do it, or to change your role.",
  },
  cross_site_request: {
    status: 403,
    type: "permission_error",
    says: "A request with a session cookie came from another site.",
    next: "Send it from the portal, or authenticate with a token.",
  },
  insufficient_scope: {
    status: 403,
    type: "permission_error",
    says: "The key does not have the scope of this endpoint.",
    next: "Use a key with the scope named in the message.",
  },
  ip_not_allowed: {
    status: 403,
    type: "permission_error",
    says: "The client IP address is not on the IP allowlist of the key or its workspace.",
    next: "Add the IP address to the allowlist.",
  },
  model_not_permitted: {
    status: 403,
    type: "permission_error",
    says: "The policy does not allow this model.",
    next: LOOSEN,
  },
  data_class_not_permitted: {
    status: 403,
    type: "permission_error",
    says: "The request, or the reply, contains data of a class that the policy blocks. A blocked reply is charged.",
    next: "Remove the data at the path and offset of the message, or change the rules of data classes in the policy of the workspace or key.",
  },
  sovereignty_floor_not_met: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model meets the sovereignty floor.",
    next: LOOSEN,
  },
  compute_country_not_allowed: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model computes in the allowed countries only.",
    next: LOOSEN,
  },
  zero_data_retention_required: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model guarantees zero data retention, or the request would store content.",
    next: LOOSEN,
  },
  no_training_required: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model excludes training on request data.",
    next: LOOSEN,
  },
  provider_blocked: {
    status: 403,
    type: "permission_error",
    says: "The policy blocks every provider of the model.",
    next: LOOSEN,
  },
  simulated_provider_required: {
    status: 403,
    type: "permission_error",
    says: "The workspace restricts its test keys to simulated providers, and none serves the model.",
    next: "Use a live key, or a model of a simulated provider: GET /v1/models lists those that the key reaches.",
  },
  no_eligible_endpoint: {
    status: 403,
    type: "permission_error",
    says: "The combined policy rules, or the preferences in the request, exclude every endpoint.",
    next: "Relax the preferences or use another model. The candidates of the request in the log name the reason for each excluded endpoint.",
  },
  not_allowed: {
    status: 403,
    type: "permission_error",
    says: "The caller does not have permission for this.",
    next: "Follow the message, or ask the operator.",
  },
  not_found: {
    status: 404,
    type: "not_found_error",
    says: "The path or id does not exist, or belongs to another workspace.",
    next: "Check the path and the id, and that the key or token belongs to the same workspace.",
  },
  model_not_found: {
    status: 404,
    type: "not_found_error",
    says: "The model is unknown, or no connected provider serves it.",
    next: "Check the model id. `GET /models` lists all models that the key can use.",
  },
  router_not_found: {
    status: 404,
    type: "not_found_error",
    says: "The workspace has no router with this name.",
    next: "Create the router, or correct its name.",
  },
  ...DISABLED_SURFACE_FAULTS,
  rerank_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Reranking is disabled on this deployment.",
    next: "Ask the operator to enable reranking.",
  },
  moderations_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Moderations are disabled on this deployment.",
    next: "Ask the operator to enable moderations.",
  },
  method_not_allowed: {
    status: 405,
    type: "invalid_request_error",
    says: "The path does not support this method.",
    next: "Use a method listed in the `Allow` header.",
  },
  request_timeout: {
    status: 408,
    type: "invalid_request_error",
    says: "The request was not received in time.",
    next: "Retry over a faster connection, or send a smaller body.",
  },
  conflict: {
    status: 409,
    type: "invalid_request_error",
    says: "The object already exists, or its state does not permit this change.",
    next: "Read its current state, then decide whether the change still applies.",
  },
  idempotency_key_in_use: {
    status: 409,
    type: "invalid_request_error",
    says: "A request with this `Idempotency-Key` is still running.",
    next: "Wait until it has finished, then retry with the same key.",
  },
  idempotent_replay: {
    status: 409,
    type: "invalid_request_error",
    says: "A request with this `Idempotency-Key` was already charged, and its response cannot be replayed.",
    next: "Nothing more was charged. To run the request again, use a new `Idempotency-Key`.",
  },
  speech_input_too_long: {
    status: 413,
    type: "invalid_request_error",
    says: "The text is longer than every endpoint of the speech model supports.",
    next: "Split the text and send one request per part.",
  },
  request_too_large: {
    status: 413,
    type: "invalid_request_error",
    says: "The body exceeds the size limit, or has more text than the patterns of data classes may read.",
    next: "Send a smaller body, or split it into several requests.",
  },
  unsupported_media_type: {
    status: 415,
    type: "invalid_request_error",
    says: "The endpoint does not support this content type.",
    next: "Use the content type named in the message.",
  },
  decision_refused: {
    status: 422,
    type: "invalid_request_error",
    says: "The provider declined a question. The input tokens are billed.",
    next: "Rephrase the question or the input.",
  },
  content_policy_violation: {
    status: 400,
    type: "invalid_request_error",
    says: "The provider's content filter refused the prompt or the images. Input tokens are billed if it reports any.",
    next: "Change the prompt or the images, or use another model.",
  },
  idempotency_key_reused: {
    status: 422,
    type: "invalid_request_error",
    says: "The `Idempotency-Key` was used for a different request.",
    next: "Use a new `Idempotency-Key` for each request.",
  },
  upgrade_required: {
    status: 426,
    type: "invalid_request_error",
    says: "The endpoint requires another protocol. Nodes connect over WebSocket with a common subprotocol; all other requests use plain HTTP.",
    next: "Send the request with POST over HTTP. For a node, update the node or the gateway to compatible versions.",
  },
  responses_websocket_not_enabled: {
    status: 426,
    type: "invalid_request_error",
    says: "Responses over WebSocket are disabled on this deployment.",
    next: "Send the request with POST over HTTP, as Codex does after this error.",
  },
  websocket_connection_limit_reached: {
    status: 426,
    type: "invalid_request_error",
    says: "The key has as many open WebSocket connections as it may have.",
    next: "Close connections, or send the request with POST over HTTP.",
  },
  rate_limit_exceeded: {
    status: 429,
    type: "rate_limit_error",
    says: "The rate limit of the key, the IP address, the queue or the provider is exceeded.",
    next: "Wait for the time in `Retry-After`, reduce concurrency, or have the key's rate limit raised.",
  },
  headers_too_large: {
    status: 431,
    type: "invalid_request_error",
    says: "The request headers exceed the size limit.",
    next: "Send fewer or shorter headers.",
  },
  internal_error: {
    status: 500,
    type: "api_error",
    says: "The gateway failed unexpectedly.",
    next: "Report the request id to the operator.",
  },
  decisions_not_supported: {
    status: 501,
    type: "api_error",
    says: "No provider of the model has a decisions interface.",
    next: "Use a decision model. `GET /models` lists them.",
  },
  speech_not_supported: {
    status: 501,
    type: "api_error",
    says: "No provider of the model has a speech interface.",
    next: "Use a speech model. `GET /models` lists them.",
  },
  upstream_invalid_answer: {
    status: 502,
    type: "upstream_error",
    says: "No provider endpoint answered every question with the requested type.",
    next: AGAIN,
  },
  upstream_error: {
    status: 502,
    type: "upstream_error",
    says: "No provider endpoint returned a usable response.",
    next: AGAIN,
  },
  service_unavailable: {
    status: 503,
    type: "api_error",
    says: "The gateway cannot serve the request at the moment.",
    next: "Retry after the number of seconds in `Retry-After`.",
  },
  data_class_detector_failed: {
    status: 503,
    type: "api_error",
    says: "An external detector of a data class could not read the request, so no provider received it.",
    next: "Retry after the number of seconds in `Retry-After`, and check that the detector of the workspace responds.",
  },
  upstream_timeout: {
    status: 504,
    type: "upstream_error",
    says: "No provider endpoint responded in time, or the client read the response too slowly.",
    next: AGAIN,
  },
  loop_detected: {
    status: 508,
    type: "api_error",
    says: "The request came from this gateway itself, or passed through too many gateways.",
    next: "Set the base URL of the provider or node to a model server, not to a gateway.",
  },
  provider_error: {
    status: 400,
    type: "upstream_error",
    says: "The provider rejected the request. Its status and message are passed on.",
    next: "Read the provider's message and change the request.",
  },
} as const satisfies Record<string, Entry>;

export type FaultCode = keyof typeof FAULTS;

export type FaultDetail = {
  /** The public sentence: what is wrong and what to do next. */
  readonly message: string;
  readonly param?: string | undefined;
  /** Overrides the catalogue's status: only for `provider_error`. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For the log, never for the caller. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
  /** For the caller, never for the log: the provider's own error. */
  readonly upstream?: UpstreamError | undefined;
  /** The error type of the messages dialect, where it is more specific than the catalogue's. */
  readonly messagesType?: MessagesErrorType | undefined;
};

/** Types that clients of the messages dialect distinguish and the catalogue does not. */
export type MessagesErrorType = "overloaded_error";

/** Default headers of a status: how to authenticate, and when to retry. */
const ALWAYS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  429: { "retry-after": "5" },
  503: { "retry-after": "5" },
};

export class Fault extends Error {
  readonly code: FaultCode;
  readonly status: number;
  readonly type: FaultType;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly detail: Readonly<Record<string, unknown>> | undefined;
  readonly messagesType: MessagesErrorType | undefined;
  /** Private, because loggers serialize the properties of an error. */
  readonly #upstream: UpstreamError | undefined;

  constructor(code: FaultCode, options: FaultDetail) {
    super(options.message);
    this.name = "Fault";
    const entry: Entry = FAULTS[code];
    this.code = code;
    this.status = options.status ?? entry.status;
    this.type = entry.type;
    this.param = options.param;
    this.headers = this.status in ALWAYS ? { ...ALWAYS[this.status], ...options.headers } : options.headers;
    this.detail = options.detail;
    this.messagesType = options.messagesType;
    this.#upstream = options.upstream;
  }

  get upstream(): UpstreamError | undefined {
    return this.#upstream;
  }

  /** The same fault with another message. */
  reworded(words: Pick<FaultDetail, "message" | "param" | "upstream">): Fault {
    const { code, status, param, headers, detail, upstream, messagesType } = this;
    return new Fault(code, { status, param, headers, detail, upstream, messagesType, ...words });
  }
}

export function fault(code: FaultCode, options: FaultDetail): Fault {
  return new Fault(code, options);
}

const PREDICATE = /^(?:must|is|has|needs|requires) /;

/** `problem` is a predicate ("must be a number") or a sentence of its own. */
export function invalidValue(param: string, problem: string): Fault {
  const separator = PREDICATE.test(problem) ? "" : ":";
  return fault("invalid_value", { message: `Field "${param}"${separator} ${problem}.`, param });
}

export function unknownField(param: string): Fault {
  return fault("unsupported_parameter", { message: `Field "${param}" is unknown. Remove it.`, param });
}
