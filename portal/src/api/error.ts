/** What a call of the management API fails with: one shape for refusals, broken answers and a network that is away. */
export class ApiError extends Error {
  /** 0: there was no answer at all. */
  readonly status: number;
  readonly code: string;
  /** The field that is at fault, where there is one. */
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(said: {
    status: number;
    code: string;
    message: string;
    param?: string | null;
    requestId?: string | null;
  }) {
    super(said.message);
    this.name = "ApiError";
    this.status = said.status;
    this.code = said.code;
    this.param = said.param ?? null;
    this.requestId = said.requestId ?? null;
  }
}

/** Reads the gateway's envelope; whatever else comes back still becomes one error with a next step in it. */
export function errorOf(status: number, body: unknown, headerId: string | null): ApiError {
  const inner = field(body, "error") ?? body;
  const message = text(field(inner, "message"));
  return new ApiError({
    status,
    code: text(field(inner, "code")) ?? `http_${status}`,
    message: message ?? `The gateway answered ${status}. Try again; if it stays, tell your operator the request id.`,
    param: text(field(inner, "param")) ?? null,
    requestId: text(field(inner, "request_id")) ?? headerId,
  });
}

export function apiErrorOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError({ status: 0, code: "unexpected", message: said });
}

function field(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
