import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { z } from "zod";
import type { NodeSurface } from "../../domain/tenancy/node.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { MODELS_MAX, NodeModel, SERVER_CHARS_MAX } from "./protocol.ts";

/** Says which surfaces a local model serves. */
type SurfaceSource = {
  refresh(ids: readonly string[]): Promise<void>;
  surfacesOf(id: string, type: string | undefined): readonly NodeSurface[];
};

/** The model server beside the agent: any that implements chat completions. */
export type LocalServer = {
  /** The base URL, such as `http://127.0.0.1:11434/v1`. */
  readonly base: URL;
  /** Null: the server needs none. */
  readonly key: string | null;
};

const LIST_BYTES_MAX = 4 * 1024 * 1024;
const LIST_TIMEOUT_MS = 10_000;

const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const agents = { "http:": new HttpAgent(keepAlive), "https:": new HttpsAgent(keepAlive) };

export function openLocalRequest(
  { base, key }: LocalServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
): ClientRequest {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  const isTls = url.protocol === "https:";
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  const agent = isTls ? agents["https:"] : agents["http:"];
  return (isTls ? httpsRequest : httpRequest)(url, { method, agent, headers: { ...headers, ...authorization } });
}

export type LocalModels =
  | {
      readonly server: string;
      readonly models: readonly NodeModel[];
      /** Which requested models cannot be announced, and why; null: none. */
      readonly leftOut: string | null;
    }
  | { readonly problem: string };

export async function listLocalModels(
  local: LocalServer,
  chosen: readonly string[],
  probe: SurfaceSource,
): Promise<LocalModels> {
  let response: LocalResponse;
  try {
    response = await readLocal(local, { method: "GET", path: "/models", timeoutMs: LIST_TIMEOUT_MS });
  } catch (error) {
    return { problem: `the server at ${local.base.origin} does not respond (${errorCodeOf(error)})` };
  }
  if (response.status !== 200) return { problem: listFailure(local, response.status) };
  const list = ModelList.safeParse(new JsonDocument(response.text).value);
  if (!list.success) return { problem: `the server at ${local.base.origin} lists its models in an unknown format` };
  const wanted = list.data.data.filter(({ id }) => chosen.length === 0 || chosen.includes(id));
  await probe.refresh(wanted.filter(({ type }) => type === undefined).map(({ id }) => id));
  const missing = chosen.filter((id) => !wanted.some((model) => model.id === id));
  return { server: response.server.slice(0, SERVER_CHARS_MAX), ...announceableModels(wanted, missing, probe) };
}

/** The most common mistake is a base URL without /v1. */
function listFailure({ base }: LocalServer, status: number): string {
  const advice = status === 404 ? ". Set --upstream to the server's base URL, usually with /v1 at the end" : "";
  return `the server at ${base.origin} responded with ${status} to ${base.pathname.replace(/\/+$/, "")}/models${advice}`;
}

/** Skips invalid entries: a single one would make the gateway reject the whole announcement. */
function announceableModels(
  entries: readonly z.infer<typeof ModelEntry>[],
  missing: readonly string[],
  probe: SurfaceSource,
) {
  const models = new Map<string, NodeModel>();
  const skipped: string[] = [];
  for (const entry of entries) {
    const model = NodeModel.safeParse(modelOf(entry, probe));
    if (model.success && models.size < MODELS_MAX) models.set(entry.id, model.data);
    else if (!models.has(entry.id)) skipped.push(quoteName(entry.id));
  }
  const problems = [
    ...(missing.length === 0 ? [] : [`the server has no ${shorten(missing.map(quoteName))}`]),
    ...(skipped.length === 0 ? [] : [`skipped: ${shorten(skipped)}. ${LIMITS}`]),
  ];
  return { models: [...models.values()], leftOut: problems.length === 0 ? null : problems.join("; ") };
}

function shorten(names: readonly string[]): string {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  return `${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
}

const quoteName = (name: string) => JSON.stringify(name.slice(0, NAME_CHARS_SHOWN));

const NAMES_SHOWN = 3;
const NAME_CHARS_SHOWN = 60;
const LIMITS = `At most ${MODELS_MAX} models are supported, with names of up to 200 ASCII characters without spaces`;

type LocalResponse = { readonly status: number; readonly text: string; readonly server: string };

type LocalCall = {
  readonly method: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: string;
};

/** A small request of the agent itself; rejects without a response. */
export function readLocal(local: LocalServer, call: LocalCall): Promise<LocalResponse> {
  const { method, path, timeoutMs, headers = {}, body } = call;
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const request = openLocalRequest(local, method, path, { accept: "application/json", ...type, ...headers });
    request.setTimeout(timeoutMs, () => request.destroy(new Error("ETIMEDOUT")));
    request.once("error", reject);
    request.once("response", (response) => {
      collect(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, text, server: String(response.headers.server ?? "") }),
        reject,
      );
    });
    request.end(body);
  });
}

async function collect(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > LIST_BYTES_MAX) throw new Error("too much");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const count = z.int().positive().max(1_000_000_000).optional().catch(undefined);

/** Fields that common servers add to the model list. */
const ModelEntry = z.object({
  id: z.string(),
  // vLLM and SGLang
  max_model_len: count,
  // LM Studio
  max_context_length: count,
  loaded_context_length: count,
  type: z.string().optional().catch(undefined),
  capabilities: z.array(z.string()).optional().catch(undefined),
  // llama.cpp
  meta: z.object({ n_ctx: count, n_ctx_train: count }).optional().catch(undefined),
});
const ModelList = z.object({ data: z.array(ModelEntry) });

function modelOf(entry: z.infer<typeof ModelEntry>, probe: SurfaceSource): NodeModel {
  const { id, type, capabilities, meta } = entry;
  const context =
    entry.max_model_len ?? entry.loaded_context_length ?? entry.max_context_length ?? meta?.n_ctx ?? meta?.n_ctx_train;
  const has = (name: string) => (capabilities === undefined ? null : capabilities.includes(name));
  return {
    id,
    surfaces: [...probe.surfacesOf(id, type)],
    context_tokens: context ?? null,
    max_output_tokens: null,
    tools: has("tool_use") ?? has("tools"),
    json_schema: null,
    image_input: type === "vlm" ? true : has("vision"),
    reasoning: has("thinking"),
  };
}

export function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "no connection";
}
