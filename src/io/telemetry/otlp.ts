import { type PostedAnswer, type Posting, type PostMessage, postingOf } from "./posting.ts";

export const SIGNALS = ["traces", "metrics", "logs"] as const;
export type Signal = (typeof SIGNALS)[number];

export type OtlpSettings = {
  /** Without the path of a signal. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: (message: PostMessage) => Promise<PostedAnswer>;
};

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
    return postingOf(posted);
  }
}
