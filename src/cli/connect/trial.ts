import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { CliError } from "../command.ts";
import type { ClientKind, KnownModel } from "./client-kind.ts";
import { rankModels } from "./rank-models.ts";

const TIMEOUT_MS = 60_000;
const PROMPT = "Answer with the one word: connected";
/** Enough for a model that thinks before it answers. */
const OUTPUT_TOKENS = 512;

export type TrialResponse = {
  readonly request_id: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly country: string | null;
  readonly level: string | null;
  readonly cost: string | null;
  readonly currency: string | null;
};

/** The gateway as a client with a key sees it. */
export class Trial {
  readonly #base: string;
  readonly #key: string;

  constructor(base: string, key: string) {
    this.#base = base;
    this.#key = key;
  }

  /** The models this key can chat with, best first. */
  async models(): Promise<KnownModel[]> {
    const { body } = await this.#send("/v1/models");
    const rows = Array.isArray(body["data"]) ? body["data"] : [];
    return rankModels(
      rows
        .filter(isJsonObject)
        .filter(({ svc_surfaces }) => Array.isArray(svc_surfaces) && svc_surfaces.includes("chat")),
    );
  }

  /** One small request in the dialect of the client. */
  async send(client: ClientKind, model: string): Promise<TrialResponse> {
    const { body, headers } = await this.#send(...requestFor(client.surface, model));
    const usage = isJsonObject(body["usage"]) ? body["usage"] : {};
    const text = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : null);
    return {
      request_id: headers.get("x-svc-request-id"),
      model: headers.get("x-svc-model"),
      provider: headers.get("x-svc-provider"),
      country: headers.get("x-svc-compute-countries") ?? headers.get("x-svc-compute-country"),
      level: headers.get("x-svc-sovereignty-level"),
      cost: text(usage["cost"]),
      currency: text(usage["currency"]),
    };
  }

  async #send(target: string, body?: JsonObject): Promise<{ headers: Headers; body: JsonObject }> {
    const response = await fetch(`${this.#base}${target}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${this.#key}`,
        "x-title": "gateway connect",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new CliError(
        `Cannot reach the gateway at ${this.#base} (${cause instanceof Error ? cause.message : String(cause)}). Set GATEWAY_URL to its URL.`,
      );
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!isJsonObject(answer))
      throw new CliError(`${this.#base} does not respond like a gateway (HTTP ${response.status}).`);
    if (!response.ok) throw new CliError(refusal(answer, response.status));
    return { headers: response.headers, body: answer };
  }
}

function refusal(answer: JsonObject, status: number): string {
  const error = isJsonObject(answer["error"]) ? answer["error"] : {};
  const code = typeof error["code"] === "string" ? ` (${error["code"]})` : "";
  return `${typeof error["message"] === "string" ? error["message"] : `HTTP ${status}`}${code}`;
}

function requestFor(surface: ClientKind["surface"], model: string): [string, JsonObject] {
  const messages = [{ role: "user", content: PROMPT }];
  switch (surface) {
    case "messages":
      return ["/v1/messages", { model, max_tokens: OUTPUT_TOKENS, messages }];
    case "responses":
      return ["/v1/responses", { model, input: PROMPT, max_output_tokens: OUTPUT_TOKENS, store: false }];
    case "chat":
      return ["/v1/chat/completions", { model, messages, max_tokens: OUTPUT_TOKENS }];
  }
}
