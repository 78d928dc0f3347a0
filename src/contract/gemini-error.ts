import type { ErrorEnvelope } from "./error-envelope.ts";
import { FAULTS, type FaultCode } from "./faults.ts";

/** Codes of google.rpc by HTTP status; others are by class of status. */
const RPC_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  413: "OUT_OF_RANGE",
  422: "FAILED_PRECONDITION",
  426: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
  508: "ABORTED",
};

/** Reasons that Google's clients know; every other code is its own reason, in upper case. */
const REASONS: Readonly<Partial<Record<FaultCode, string>>> = {
  invalid_api_key: "API_KEY_INVALID",
  expired_api_key: "API_KEY_INVALID",
  ip_not_allowed: "API_KEY_IP_ADDRESS_BLOCKED",
  insufficient_scope: "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
};

const DOMAIN = "inference-gateway";
const TYPE_PREFIX = "type.googleapis.com/google.rpc.";

type ErrorBody = {
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly status: string;
    readonly details: readonly ({ readonly "@type": string } & Readonly<Record<string, unknown>>)[];
  };
};

/** An error in Google's shape. `status` absent: by the error code. `retryAfter`: the header, in seconds. */
export function geminiErrorOf({ error }: ErrorEnvelope, sent?: { status: number; retryAfter?: unknown }): ErrorBody {
  const { message, code, type, param, request_id, upstream } = error;
  const status = sent?.status ?? FAULTS[code].status;
  const metadata = {
    code,
    type,
    request_id,
    ...(param === undefined ? {} : { param }),
    ...(upstream === undefined ? {} : upstreamMetadata(upstream)),
  };
  const reason = REASONS[code] ?? code.toUpperCase();
  const seconds = Number(sent?.retryAfter);
  return {
    error: {
      code: status,
      message,
      status: rpcStatus(status),
      details: [
        { "@type": `${TYPE_PREFIX}ErrorInfo`, reason, domain: DOMAIN, metadata },
        ...(param === undefined
          ? []
          : [{ "@type": `${TYPE_PREFIX}BadRequest`, fieldViolations: [{ field: param, description: message }] }]),
        ...(seconds > 0 ? [{ "@type": `${TYPE_PREFIX}RetryInfo`, retryDelay: `${seconds}s` }] : []),
      ],
    },
  };
}

function rpcStatus(status: number): string {
  return RPC_STATUSES[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}

/** Metadata values are strings in this shape. */
function upstreamMetadata(upstream: NonNullable<ErrorEnvelope["error"]["upstream"]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(upstream).flatMap(([name, value]) => (value == null ? [] : [[`upstream_${name}`, String(value)]])),
  );
}
