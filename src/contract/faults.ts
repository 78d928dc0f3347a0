/**
 * The closed catalogue of everything the gateway refuses with. A code is API: it never changes its meaning.
 * `says` and `next` (what to do) are the generic sentences of the documentation and of the log; the message of a response
 * is written where it is thrown.
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
  "Ask for a model that fits, or have the policy loosened: the request's candidates in the log say which rule each endpoint fell to.";
const AGAIN =
  "Send it again; if it keeps failing, look at the attempts in the log, or ask for a model with more endpoints.";

export const FAULTS = {
  unsupported_parameter: {
    status: 400,
    type: "invalid_request_error",
    says: "A field is unknown, or the serving dialect or model does not take it.",
    next: "Remove the field that `param` names, or ask for a model that takes it.",
  },
  invalid_value: {
    status: 400,
    type: "invalid_request_error",
    says: "A required field is missing, or a value is out of range or shape.",
    next: "Correct the field that `param` names.",
  },
  context_length_exceeded: {
    status: 400,
    type: "invalid_request_error",
    says: "The prompt is longer than any endpoint of the model takes.",
    next: "Send a shorter prompt, or ask for a model with a longer context.",
  },
  previous_response_not_found: {
    status: 400,
    type: "invalid_request_error",
    says: "The response to go on from, or one before it, is not stored here (any more).",
    next: "Send the whole conversation as `input`, without `previous_response_id`.",
  },
  invalid_json: {
    status: 400,
    type: "invalid_request_error",
    says: "The body is not one well-formed JSON object.",
    next: "Send one JSON object in UTF-8; the message says what is wrong with this one.",
  },
  invalid_request: {
    status: 400,
    type: "invalid_request_error",
    says: "The HTTP request itself is malformed.",
    next: "Correct the request line or the header that the message names.",
  },
  router_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "`auto` and routers work on the chat surfaces only.",
    next: "Name a model: the list of models says which have this surface.",
  },
  image_input_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "Images were sent to a decision model whose endpoints take none.",
    next: "Leave the images out, or ask for a decision model that takes them.",
  },
  speech_format_not_supported: {
    status: 400,
    type: "invalid_request_error",
    says: "No endpoint of the model can produce the format, or meter it.",
    next: "Ask for one of the formats that the message names.",
  },
  missing_api_key: {
    status: 401,
    type: "authentication_error",
    says: "No key was sent.",
    next: "Send `Authorization: Bearer` with a key of the workspace.",
  },
  invalid_api_key: {
    status: 401,
    type: "authentication_error",
    says: "The key is unknown, revoked or not a key of this service.",
    next: "Create a key, or correct the one that is sent; a revoked one never comes back.",
  },
  expired_api_key: {
    status: 401,
    type: "authentication_error",
    says: "The key is past its expiry or its rotation grace.",
    next: "Use the key that took its place, or create another.",
  },
  invalid_admin_token: {
    status: 401,
    type: "authentication_error",
    says: "The management API needs the operator token, a management token or a session, and got none that opens anything.",
    next: "Send the operator token or a management token as `Authorization: Bearer`, or sign in.",
  },
  invalid_node_token: {
    status: 401,
    type: "authentication_error",
    says: "The token of a node is missing, unknown, or was replaced; or its node was removed.",
    next: "Start the node with its newest token, or register it again.",
  },
  insufficient_credits: {
    status: 402,
    type: "billing_error",
    says: "The wallet does not cover this request.",
    next: "Top up the wallet, then send it again.",
  },
  spend_limit_reached: {
    status: 402,
    type: "billing_error",
    says: "A spend limit does not cover this request.",
    next: "Raise the limit that the message names, or wait until its period resets.",
  },
  not_signed_in: {
    status: 401,
    type: "authentication_error",
    says: "The session is over: sign in again.",
    next: "Sign in.",
  },
  invalid_sign_in: {
    status: 401,
    type: "authentication_error",
    says: "The address, the password, the code or the passkey is not right.",
    next: "Try again, or have the password reset.",
  },
  fresh_sign_in_needed: {
    status: 403,
    type: "permission_error",
    says: "The sign-in is too long ago for this: sign in again first.",
    next: "Sign in again, then repeat what you were about to do.",
  },
  insufficient_role: {
    status: 403,
    type: "permission_error",
    says: "The role in the workspace is not enough for this, or only the operator may do it.",
    next: "Ask an owner or the operator to do it, or to give you the role.",
  },
  cross_site_request: {
    status: 403,
    type: "permission_error",
    says: "A change with a session cookie came from another site's page.",
    next: "Send it from the portal's own pages, or with a token in the place of a session.",
  },
  insufficient_scope: {
    status: 403,
    type: "permission_error",
    says: "The key lacks the scope of this endpoint.",
    next: "Use a key that has the scope that the message names.",
  },
  ip_not_allowed: {
    status: 403,
    type: "permission_error",
    says: "The caller's address is not on the key's allowlist.",
    next: "Add the caller's address to the key's allowlist.",
  },
  model_not_permitted: {
    status: 403,
    type: "permission_error",
    says: "The policy does not allow this model.",
    next: LOOSEN,
  },
  sovereignty_floor_not_met: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model reaches the sovereignty floor.",
    next: LOOSEN,
  },
  compute_country_not_allowed: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model computes in an allowed country only.",
    next: LOOSEN,
  },
  zero_data_retention_required: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model promises zero data retention, or the request would store content.",
    next: LOOSEN,
  },
  no_training_required: {
    status: 403,
    type: "permission_error",
    says: "No endpoint of the model promises not to train on the data.",
    next: LOOSEN,
  },
  provider_blocked: {
    status: 403,
    type: "permission_error",
    says: "Every provider of the model is blocked by the policy.",
    next: LOOSEN,
  },
  no_eligible_endpoint: {
    status: 403,
    type: "permission_error",
    says: "Several policy rules together, or the preferences in the request, leave no endpoint.",
    next: "Ask for less, or for another model: the request's candidates in the log state why each endpoint was excluded.",
  },
  not_allowed: {
    status: 403,
    type: "permission_error",
    says: "The caller may not do this.",
    next: "Do what the message says is missing, or ask the operator.",
  },
  not_found: {
    status: 404,
    type: "not_found_error",
    says: "There is nothing at this path, or it belongs to another workspace.",
    next: "Check the path and the id, and that the key or token is of the workspace that has it.",
  },
  model_not_found: {
    status: 404,
    type: "not_found_error",
    says: "The model is unknown, or no connected provider serves it.",
    next: "Check the model's id: `GET /models` has all of them.",
  },
  router_not_found: {
    status: 404,
    type: "not_found_error",
    says: "The router is unknown in this workspace.",
    next: "Create the router, or correct its name.",
  },
  decisions_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Decisions are switched off on this deployment.",
    next: "Ask the operator to switch decisions on.",
  },
  audio_not_enabled: {
    status: 404,
    type: "not_found_error",
    says: "Text-to-speech is switched off on this deployment.",
    next: "Ask the operator to switch text-to-speech on.",
  },
  method_not_allowed: {
    status: 405,
    type: "invalid_request_error",
    says: "The path exists, but not with this method.",
    next: "Use a method that the header `Allow` names.",
  },
  request_timeout: {
    status: 408,
    type: "invalid_request_error",
    says: "The request did not arrive in time.",
    next: "Send it again, over a connection that is fast enough for its body.",
  },
  conflict: {
    status: 409,
    type: "invalid_request_error",
    says: "It exists already, or its state does not allow this.",
    next: "Read its present state, then decide whether the change is still wanted.",
  },
  idempotency_key_in_use: {
    status: 409,
    type: "invalid_request_error",
    says: "The same request is still running under this `Idempotency-Key`.",
    next: "Wait until the first has ended, then send it again under the same key.",
  },
  idempotent_replay: {
    status: 409,
    type: "invalid_request_error",
    says: "The request was charged before under this `Idempotency-Key`, and there is no whole answer to repeat.",
    next: "Nothing more was charged. To make the call again, send another `Idempotency-Key`.",
  },
  speech_input_too_long: {
    status: 413,
    type: "invalid_request_error",
    says: "The text is longer than any endpoint of the speech model takes.",
    next: "Split the text, and ask once for each piece.",
  },
  request_too_large: {
    status: 413,
    type: "invalid_request_error",
    says: "The body is over its limit.",
    next: "Send a smaller body, or split the work into several calls.",
  },
  unsupported_media_type: {
    status: 415,
    type: "invalid_request_error",
    says: "The content type is not one this endpoint reads.",
    next: "Send the body as the message says.",
  },
  decision_refused: {
    status: 422,
    type: "invalid_request_error",
    says: "The provider declined a question; its reading of the input is billed.",
    next: "Put the question or the input in other words.",
  },
  idempotency_key_reused: {
    status: 422,
    type: "invalid_request_error",
    says: "The `Idempotency-Key` belongs to another request.",
    next: "Use a new `Idempotency-Key` for each new request.",
  },
  upgrade_required: {
    status: 426,
    type: "invalid_request_error",
    says: "Another protocol is spoken here: nodes connect over WebSocket in one that both know, all others send plain HTTP.",
    next: "Send it with POST over HTTP; a node and its gateway must be of versions that know each other.",
  },
  rate_limit_exceeded: {
    status: 429,
    type: "rate_limit_error",
    says: "Too many requests: per key, per address, in the queue or at the provider.",
    next: "Wait as long as `Retry-After` says, send fewer at once, or have the key's rate raised.",
  },
  headers_too_large: {
    status: 431,
    type: "invalid_request_error",
    says: "The request headers are over their limit.",
    next: "Send fewer or shorter headers.",
  },
  internal_error: {
    status: 500,
    type: "api_error",
    says: "A fault of the gateway itself.",
    next: "Tell the operator the request id.",
  },
  decisions_not_supported: {
    status: 501,
    type: "api_error",
    says: "No provider of the model has a decisions interface.",
    next: "Ask for a decision model: the list of models says which are.",
  },
  speech_not_supported: {
    status: 501,
    type: "api_error",
    says: "No provider of the model has a speech interface.",
    next: "Ask for a speech model: the list of models says which are.",
  },
  upstream_invalid_answer: {
    status: 502,
    type: "upstream_error",
    says: "No provider endpoint answered every question in the type asked.",
    next: AGAIN,
  },
  upstream_error: {
    status: 502,
    type: "upstream_error",
    says: "No provider endpoint gave a usable answer.",
    next: AGAIN,
  },
  service_unavailable: {
    status: 503,
    type: "api_error",
    says: "The gateway cannot take the request right now.",
    next: "Send it again after as many seconds as `Retry-After` says.",
  },
  upstream_timeout: {
    status: 504,
    type: "upstream_error",
    says: "No provider endpoint answered in time, or its answer was taken too slowly.",
    next: AGAIN,
  },
  loop_detected: {
    status: 508,
    type: "api_error",
    says: "The request was sent by this gateway itself, or has passed too many gateways.",
    next: "Point the provider's or node's base address at a model server, and not back at a gateway.",
  },
  provider_error: {
    status: 400,
    type: "upstream_error",
    says: "The provider refused the request; its status and message are passed on.",
    next: "Read the provider's own words in the message, and change the request.",
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
};

/** What refusals of a status always say, for who knows no better: how to authenticate, and when to come back. */
const ALWAYS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  503: { "retry-after": "5" },
};

export class Fault extends Error {
  readonly code: FaultCode;
  readonly status: number;
  readonly type: FaultType;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly detail: Readonly<Record<string, unknown>> | undefined;

  constructor(code: FaultCode, options: FaultDetail) {
    super(options.message);
    this.name = "Fault";
    const entry: Entry = FAULTS[code];
    this.code = code;
    this.status = options.status ?? entry.status;
    this.type = entry.type;
    this.param = options.param;
    const always = ALWAYS[this.status];
    this.headers = always === undefined ? options.headers : { ...always, ...options.headers };
    this.detail = options.detail;
  }

  /** The same fault with another message. */
  reworded(words: Pick<FaultDetail, "message" | "param">): Fault {
    const { code, status, param, headers, detail } = this;
    return new Fault(code, { status, param, headers, detail, ...words });
  }
}

export function fault(code: FaultCode, options: FaultDetail): Fault {
  return new Fault(code, options);
}

export function invalidValue(param: string, problem: string): Fault {
  return fault("invalid_value", { message: `Field "${param}": ${problem}.`, param });
}

export function unknownField(param: string): Fault {
  return fault("unsupported_parameter", { message: `Field "${param}" is not known here: remove it.`, param });
}

export type ErrorEnvelope = {
  readonly error: {
    readonly message: string;
    readonly type: FaultType;
    readonly code: FaultCode;
    readonly param?: string;
    readonly request_id: string;
  };
};

export function envelopeOf(problem: Fault, requestId: string): ErrorEnvelope {
  const { message, type, code, param } = problem;
  return { error: { message, type, code, ...(param === undefined ? {} : { param }), request_id: requestId } };
}

/** Words of the messages dialect by which its clients know how to go on, by the field that is at fault. */
const MESSAGES_DETAILS: Readonly<Record<string, { readonly error_code: string }>> = {
  // They then send the whole conversation instead of asking for it to be held.
  thread: { error_code: "thread_unsupported_request" },
};

/** The envelope as clients of the messages dialect look for it: the same, with that dialect's own words around it. */
export function messagesEnvelopeOf({ error }: ErrorEnvelope): {
  type: "error";
  error: ErrorEnvelope["error"] & { details?: { readonly error_code: string } };
  request_id: string;
} {
  const details = error.code === "unsupported_parameter" ? MESSAGES_DETAILS[error.param ?? ""] : undefined;
  return {
    type: "error",
    error: details === undefined ? error : { ...error, details },
    request_id: error.request_id,
  };
}
