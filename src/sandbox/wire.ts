import type { IncomingHttpHeaders } from "node:http";

/** A refusal before it is put into a wire format's own words. */
export type Refusal = {
  readonly is: "refusal";
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
};

/** Bytes ready to be sent; how fast, and whether to the end, is decided by whoever sends them. */
export type Delivery =
  /** `tokens` is the number of pieces a stream would have had: it sets how long a whole answer takes. */
  | { readonly is: "whole"; readonly contentType: string; readonly body: string | Buffer; readonly tokens: number }
  | {
      readonly is: "frames";
      readonly contentType: string;
      readonly frames: readonly (string | Buffer)[];
      /** The connection dies in the middle. */
      readonly breaks?: true;
    };

/** What a wire format needs from the provider that is simulated. */
export type Desk = {
  readonly provider: string;
  readonly listedModels: readonly string[];
  readonly nowSeconds: () => number;
  readonly nextId: (prefix: string) => string;
};

type Incoming = {
  readonly path: string;
  /** What stands behind the question mark, "" when nothing does. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** A request that was understood: the model decides first whether a mishap is scripted, then the answer is made. */
type Opened = {
  readonly is: "opened";
  readonly model: string;
  readonly deliver: (desk: Desk) => Delivery | Refusal;
};

/** One wire format. A new one is a new file and a row in the server's list. */
export type WireFormat = {
  readonly method: "GET" | "POST";
  claims(path: string): boolean;
  /** The credential as this format carries it. */
  tokenOf(headers: IncomingHttpHeaders): string | undefined;
  open(incoming: Incoming): Opened | Refusal;
  /** The body of an error, in this format's shape. */
  refusalBody(refusal: Refusal): string;
  /** Headers that go with it, where the format has some. */
  refusalHeaders?(refusal: Refusal): Record<string, string>;
};

export function refusal(
  status: number,
  message: string,
  at?: { readonly param?: string; readonly code?: string },
): Refusal {
  return { is: "refusal", status, message, param: at?.param ?? null, code: at?.code ?? null };
}

export function bearerOf(headers: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}
