import type { Posting } from "./outgoing.ts";

export type Signal = "traces" | "metrics" | "logs";

type Post = (message: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}) => Promise<{ readonly is: "answered"; readonly status: number } | { readonly is: "refused" | "failed" }>;

export type OtlpSettings = {
  /** Without the path of a signal. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: Post;
};

/** What a receiver asks to be sent again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends to a receiver of OTLP over HTTP, in its JSON form. */
export class Otlp {
  readonly #settings: OtlpSettings;

  constructor(settings: OtlpSettings) {
    this.#settings = settings;
  }

  async send(signal: Signal, body: string, abort: AbortSignal): Promise<Posting> {
    const { endpoint, headers, post } = this.#settings;
    const posted = await post({
      url: `${endpoint}/v1/${signal}`,
      headers: { ...headers, "content-type": "application/json", "user-agent": "inference-gateway" },
      body,
      signal: abort,
    });
    if (posted.is !== "answered") return posted.is === "refused" ? "refused" : "later";
    if (posted.status >= 200 && posted.status < 300) return "sent";
    return AGAIN.has(posted.status) ? "later" : "refused";
  }
}
