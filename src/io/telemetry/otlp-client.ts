import { type ExportResult, exportResultOf, type PostRequest, type PostResult } from "./export-result.ts";

export const SIGNALS = ["traces", "metrics", "logs"] as const;
export type Signal = (typeof SIGNALS)[number];

export type OtlpClientOptions = {
  /** Without `/v1/<signal>`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: (message: PostRequest) => Promise<PostResult>;
};

/** Posts OTLP/JSON over HTTP. */
export class OtlpClient {
  readonly #options: OtlpClientOptions;

  constructor(settings: OtlpClientOptions) {
    this.#options = settings;
  }

  async send(signal: Signal, body: string, abort: AbortSignal): Promise<ExportResult> {
    const { endpoint, headers, post } = this.#options;
    const posted = await post({
      url: `${endpoint}/v1/${signal}`,
      headers: { ...headers, "content-type": "application/json", "user-agent": "inference-gateway" },
      body,
      signal: abort,
    });
    return exportResultOf(posted);
  }
}
