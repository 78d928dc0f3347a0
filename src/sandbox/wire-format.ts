import type { IncomingHttpHeaders } from "node:http";

/** An error before it is rendered in a wire format. */
export type ErrorResponse = {
  readonly is: "error";
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
};

/** A response before pacing and fault injection. */
export type SimulatedResponse =
  /** `tokens` is the number of stream pieces, which sets how long the response takes. */
  | { readonly is: "body"; readonly contentType: string; readonly body: string | Buffer; readonly tokens: number }
  | {
      readonly is: "frames";
      readonly contentType: string;
      readonly frames: readonly (string | Buffer)[];
      /** The connection is cut in the middle of the stream. */
      readonly isCutShort?: true;
    };

export type SimulatedProvider = {
  readonly slug: string;
  readonly listedModels: readonly string[];
  readonly nowSeconds: () => number;
  readonly nextId: (prefix: string) => string;
};

type SandboxRequest = {
  readonly path: string;
  /** Query string without the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** A parsed request. The model may trigger an injected fault before `respond` is called. */
type AcceptedRequest = {
  readonly is: "accepted";
  readonly model: string;
  readonly respond: (provider: SimulatedProvider) => SimulatedResponse | ErrorResponse;
};

/** One wire format; to add one, add a file and an entry in the server's list. */
export type WireFormat = {
  readonly method: "GET" | "POST";
  matches(path: string): boolean;
  readCredential(headers: IncomingHttpHeaders): string | undefined;
  parse(incoming: SandboxRequest): AcceptedRequest | ErrorResponse;
  errorBody(refusal: ErrorResponse): string;
  errorHeaders?(refusal: ErrorResponse): Record<string, string>;
};

export function errorResponse(
  status: number,
  message: string,
  at?: { readonly param?: string; readonly code?: string },
): ErrorResponse {
  return { is: "error", status, message, param: at?.param ?? null, code: at?.code ?? null };
}

export function bearerToken(headers: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}
