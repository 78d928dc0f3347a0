import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { z } from "zod";
import { tryParseJson } from "../../kit/json.ts";
import { MODELS_MAX, NodeModel, SERVER_CHARS_MAX } from "./protocol.ts";

/** The server beside the agent: any that speaks the chat-completions dialect. */
export type LocalServer = {
  /** Its base address, such as `http://127.0.0.1:11434/v1`. */
  readonly base: URL;
  /** Null: it asks for none. */
  readonly key: string | null;
};

const LIST_BYTES_MAX = 4 * 1024 * 1024;
const LIST_TIMEOUT_MS = 10_000;

const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const agents = { "http:": new HttpAgent(keepAlive), "https:": new HttpsAgent(keepAlive) };

/** Opens a request to the local server; the caller writes and reads it. */
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
      /** What is said of models that are wanted and cannot be announced; null: all of them are. */
      readonly leftOut: string | null;
    }
  | { readonly problem: string };

/** Which models the server has, as far as it says so. */
export async function listLocalModels(local: LocalServer, chosen: readonly string[]): Promise<LocalModels> {
  let answer: { status: number; text: string; server: string };
  try {
    answer = await readList(local);
  } catch (error) {
    return { problem: `the server at ${local.base.origin} does not answer (${errorCodeOf(error)})` };
  }
  if (answer.status !== 200) return { problem: unlisted(local, answer.status) };
  const listed = List.safeParse(tryParseJson(answer.text));
  if (!listed.success)
    return { problem: `the server at ${local.base.origin} lists its models in a form that is not known` };
  const wanted = listed.data.data.filter(({ id }) => chosen.length === 0 || chosen.includes(id));
  const lacking = chosen.filter((id) => !wanted.some((one) => one.id === id));
  return { server: answer.server.slice(0, SERVER_CHARS_MAX), ...announced(wanted, lacking) };
}

/** The address is most often wrong in its end. */
function unlisted({ base }: LocalServer, status: number): string {
  const advice = status === 404 ? ". Write --upstream as the server's clients do, most often with /v1 at its end" : "";
  return `the server at ${base.origin} answered ${status} to ${base.pathname.replace(/\/+$/, "")}/models${advice}`;
}

/** One that the gateway could not read would keep it from reading all the others. */
function announced(listed: readonly z.infer<typeof Listed>[], lacking: readonly string[]) {
  const models = new Map<string, NodeModel>();
  const others: string[] = [];
  for (const one of listed) {
    const model = NodeModel.safeParse(modelOf(one));
    if (model.success && models.size < MODELS_MAX) models.set(one.id, model.data);
    else if (!models.has(one.id)) others.push(shown(one.id));
  }
  const said = [
    ...(lacking.length === 0 ? [] : [`the server has no ${some(lacking.map(shown))}`]),
    ...(others.length === 0 ? [] : [`left out: ${some(others)}. ${LIMITS}`]),
  ];
  return { models: [...models.values()], leftOut: said.length === 0 ? null : said.join("; ") };
}

function some(names: readonly string[]): string {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  return `${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
}

const shown = (name: string) => JSON.stringify(name.slice(0, NAME_CHARS_SHOWN));

const NAMES_SHOWN = 3;
const NAME_CHARS_SHOWN = 60;
const LIMITS = `At most ${MODELS_MAX} models are announced, with names of up to 200 ASCII characters without spaces`;

function readList(local: LocalServer): Promise<{ status: number; text: string; server: string }> {
  return new Promise((resolve, reject) => {
    const asked = openLocalRequest(local, "GET", "/models", { accept: "application/json" });
    asked.setTimeout(LIST_TIMEOUT_MS, () => asked.destroy(new Error("ETIMEDOUT")));
    asked.once("error", reject);
    asked.once("response", (response) => {
      collect(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, text, server: String(response.headers.server ?? "") }),
        reject,
      );
    });
    asked.end();
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

/** What the common servers say of a model beyond its id, each in its own field. */
const Listed = z.object({
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
const List = z.object({ data: z.array(Listed) });

function modelOf(listed: z.infer<typeof Listed>): NodeModel {
  const { id, type, capabilities, meta } = listed;
  const context =
    listed.max_model_len ??
    listed.loaded_context_length ??
    listed.max_context_length ??
    meta?.n_ctx ??
    meta?.n_ctx_train;
  const has = (name: string) => (capabilities === undefined ? null : capabilities.includes(name));
  const isEmbedding = type === "embeddings" || type === "embedding" || /\bembed/i.test(id);
  return {
    id,
    surfaces: isEmbedding ? ["embeddings"] : ["chat"],
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
