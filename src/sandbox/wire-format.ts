import type { IncomingHttpHeaders } from "node:http";

/** A refusal before it is put into a wire format's own words. */
export type ErrorResponse = {
  readonly is: "error";
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
};

/** Bytes ready to be sent; how fast, and whether to the end, is decided by whoever sends them. */
export type SimulatedResponse =
  /** `tokens` is the number of pieces a stream would have had: it sets how long a whole answer takes. */
  | { readonly is: "body"; readonly contentType: string; readonly body: string | Buffer; readonly tokens: number }
  | {
      readonly is: "frames";
      readonly contentType: string;
      readonly frames: readonly (string | Buffer)[];
      /** The connection dies in the middle. */
      readonly isCutShort?: true;
    };

/** What a wire format needs from the provider that is simulated. */
export type SimulatedProvider = {
  readonly slug: string;
  readonly listedModels: readonly string[];
  readonly nowSeconds: () => number;
  readonly nextId: (prefix: string) => string;
};

type SandboxRequest = {
  readonly path: string;
  /** What stands behind the question mark, "" when nothing does. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** A request that was understood: the model decides first whether a mishap is scripted, then the answer is made. */
type AcceptedRequest = {
  readonly is: "accepted";
  readonly model: string;
  readonly respond: (provider: SimulatedProvider) => SimulatedResponse | ErrorResponse;
};

/** One wire format. A new one is a new file and a row in the server's list. */
export type WireFormat = {
  readonly method: "GET" | "POST";
  matches(path: string): boolean;
  /** The credential as this format carries it. */
  readCredential(headers: IncomingHttpHeaders): string | undefined;
  parse(incoming: SandboxRequest): AcceptedRequest | ErrorResponse;
  /** The body of an error, in this format's shape. */
  errorBody(refusal: ErrorResponse): string;
  /** Headers that go with it, where the format has some. */
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
