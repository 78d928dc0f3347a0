/** One error type for API errors, invalid responses and network failures. */
export class ApiError extends Error {
  /** 0: no response. */
  readonly status: number;
  readonly code: string;
  /** The invalid field, if the error is about one. */
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(details: {
    status: number;
    code: string;
    message: string;
    param?: string | null;
    requestId?: string | null;
  }) {
    super(details.message);
    this.name = "ApiError";
    this.status = details.status;
    this.code = details.code;
    this.param = details.param ?? null;
    this.requestId = details.requestId ?? null;
  }
}

/** Reads the error envelope; any other body becomes a generic message. */
export function errorOf(status: number, body: unknown, headerId: string | null): ApiError {
  const inner = field(body, "error") ?? body;
  const message = text(field(inner, "message"));
  return new ApiError({
    status,
    code: text(field(inner, "code")) ?? `http_${status}`,
    message:
      message ??
      `The gateway responded with ${status}. Try again. If the problem persists, send your operator the request ID.`,
    param: text(field(inner, "param")) ?? null,
    requestId: text(field(inner, "request_id")) ?? headerId,
  });
}

export function apiErrorOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError({ status: 0, code: "unexpected", message });
}

function field(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
