import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Clock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { createServer } from "../kit/node-http.ts";
import { chatFormat, modelsFormat } from "./chat.ts";
import { converseFormat } from "./converse.ts";
import { openaiDecisionsFormat, systemOneFormat } from "./decisions.ts";
import { embeddingsFormat, geminiEmbeddingsFormat } from "./embeddings.ts";
import { FAULT_MODELS, injectedFaultFor, SPEECH_FAULT_MODELS } from "./fault-injection.ts";
import { geminiFormat } from "./gemini.ts";
import { imagesFormat } from "./images.ts";
import { countTokensFormat, messagesFormat } from "./messages.ts";
import { moderationsFormat } from "./moderations.ts";
import { PROVIDER_PROFILES, type SandboxSlug } from "./provider-profiles.ts";
import { rerankFormat } from "./rerank.ts";
import { responsesFormat } from "./responses.ts";
import { sendResponse } from "./send-response.ts";
import { geminiSpeechFormat, speechFormat } from "./speech.ts";
import { transcriptionsFormat } from "./transcriptions.ts";
import { type ErrorResponse, errorResponse, type SimulatedProvider, type WireFormat } from "./wire-format.ts";

export type Sandbox = {
  /** `http://127.0.0.1:port` of each simulated provider, without a path. */
  readonly origins: Readonly<Record<SandboxSlug, string>>;
  /** Closes all connections immediately. */
  close(): Promise<void>;
};

const WIRE_FORMATS: readonly WireFormat[] = [
  chatFormat,
  converseFormat,
  geminiSpeechFormat,
  geminiFormat,
  messagesFormat,
  countTokensFormat,
  embeddingsFormat,
  geminiEmbeddingsFormat,
  rerankFormat,
  moderationsFormat,
  imagesFormat,
  modelsFormat,
  responsesFormat,
  systemOneFormat,
  openaiDecisionsFormat,
  speechFormat,
  transcriptionsFormat,
];
const BODY_MAX_BYTES = 64 * 1024 * 1024;
/** Longer than the gateway's idle timeout, so that it never reuses a connection that is closing. */
const KEEP_ALIVE_MS = 120_000;

/** Starts one loopback HTTP server per simulated provider. */
export async function startSandbox(deps: { readonly clock: Clock; readonly ids: IdGenerator }): Promise<Sandbox> {
  const us = await startProvider("sandbox-us", deps);
  const de = await startProvider("sandbox-de", deps);
  const fr = await startProvider("sandbox-fr", deps);
  return {
    origins: { "sandbox-us": us.origin, "sandbox-de": de.origin, "sandbox-fr": fr.origin },
    async close() {
      await Promise.all([us.close(), de.close(), fr.close()]);
    },
  };
}

async function startProvider(
  slug: SandboxSlug,
  { clock, ids }: { readonly clock: Clock; readonly ids: IdGenerator },
): Promise<{ origin: string; close(): Promise<void> }> {
  const provider: SimulatedProvider = {
    slug: slug,
    listedModels: PROVIDER_PROFILES[slug].models,
    nowSeconds: () => Math.floor(clock.nowMs() / 1000),
    nextId: (prefix) => ids.next(prefix),
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    handleRequest(provider, slug, request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, close: () => close(server) };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // Exclusive, because cluster workers would otherwise share the port.
    server.listen({ port: 0, host: "127.0.0.1", exclusive: true }, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the sandbox has no port");
  return address.port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function handleRequest(
  provider: SimulatedProvider,
  slug: SandboxSlug,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
  const headers = sharedHeaders(provider);
  const format = WIRE_FORMATS.find((candidate) => candidate.matches(path)) ?? chatFormat;
  const sendError = (error: ErrorResponse, extraHeaders: Record<string, string> = {}) => {
    const body = format.errorBody(error);
    const formatHeaders = format.errorHeaders?.(error) ?? {};
    response.writeHead(error.status, {
      ...headers,
      ...formatHeaders,
      ...extraHeaders,
      "content-type": "application/json",
    });
    response.end(body);
  };
  const body = await readBody(request);
  if (body === undefined) return sendError(errorResponse(413, "The request is too large."), { connection: "close" });
  if (!WIRE_FORMATS.some((candidate) => candidate.matches(path)))
    return sendError(errorResponse(404, `Invalid URL (${request.method} ${path})`));
  if (request.method !== format.method)
    return sendError(errorResponse(405, `Not allowed to ${request.method} on ${path}.`), { allow: format.method });
  if (format.readCredential(request.headers) === undefined)
    return sendError(
      errorResponse(401, "No API key was provided: send it as a Bearer token.", { code: "invalid_api_key" }),
    );

  const accepted = format.parse({ path, query, headers: request.headers, body });
  if (accepted.is === "error") return sendError(accepted);
  const { models } = PROVIDER_PROFILES[slug];
  const has = [...models, ...FAULT_MODELS, ...SPEECH_FAULT_MODELS].includes(accepted.model);
  if (accepted.model !== "" && !has)
    return sendError(
      errorResponse(404, `The model \`${accepted.model}\` does not exist or you do not have access to it.`, {
        code: "model_not_found",
      }),
    );
  const fault = injectedFaultFor(slug, accepted.model);
  if (fault?.is === "status") {
    const retryAfter = fault.retryAfterSeconds === null ? {} : { "retry-after": String(fault.retryAfterSeconds) };
    return sendError(errorResponse(fault.status, fault.message), retryAfter);
  }
  const simulated = accepted.respond(provider);
  if (simulated.is === "error") return sendError(simulated);
  await sendResponse(response, headers, simulated, PROVIDER_PROFILES[slug].pace, fault);
}

/** Headers of real providers, including rate limits that are not the gateway's. */
function sharedHeaders(provider: SimulatedProvider): Record<string, string> {
  return {
    "x-request-id": provider.nextId("req_sim"),
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-reset-requests": "6ms",
    "x-simulated": "true",
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  // An oversized request still gets a response, so reading must not destroy the connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > BODY_MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
