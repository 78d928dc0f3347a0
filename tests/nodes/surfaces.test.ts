import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { agentForTest, chatAnswer, createNode, waitForNodeState } from "../support/nodes.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

type Reply = { readonly status?: number; readonly json: unknown };
type LocalCall = { readonly path: string; readonly model: string | undefined };

/** A local server that lists these models; `reply` answers everything else, undefined is a 404. */
async function localServer(models: readonly Json[], reply: (calls: LocalCall) => Reply | undefined) {
  const calls: LocalCall[] = [];
  const server = createServer(async (request, response) => {
    const one: LocalCall = { path: request.url ?? "", model: (await bodyOf(request))?.model };
    const isList = one.path === "/v1/models";
    if (!isList) calls.push(one);
    const { status = 200, json } = (isList ? { json: { data: models } } : reply(one)) ?? { status: 404, json: {} };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/v1`, calls };
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? undefined : JSON.parse(text);
}

const VECTORS: Reply = {
  json: { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1 } },
};

async function connected(url: string, options: Parameters<typeof agentForTest>[3] = {}, node: Json = {}) {
  const tenant = await gateway.tenant();
  const { token } = await createNode(gateway, tenant.slug, "rack", node);
  agentForTest(gateway.url, token, url, options);
  const shown = await waitForNodeState(gateway, tenant.slug, "rack", "connected");
  const surfaces = Object.fromEntries(shown.served.map((one: Json) => [one.id, one.surfaces]));
  return { tenant, shown, surfaces };
}

const listing = (...ids: string[]) => ids.map((id) => ({ id }));

test("NODE-05 embedding servers are found by probing them, whatever their models are named", async () => {
  const vectors = ["BAAI/bge-m3", "intfloat/multilingual-e5-large", "gte-large", "our-vectors"];
  const { url, calls } = await localServer(
    listing(...vectors, "llama3:8b", "embedder-chat"),
    ({ path, model = "" }) => {
      if (path === "/v1/embeddings") return vectors.includes(model) ? VECTORS : { status: 501, json: {} };
      return vectors.includes(model) ? { status: 400, json: {} } : { json: chatAnswer(model) };
    },
  );
  const { tenant, surfaces } = await connected(url);
  expect(surfaces).toEqual({
    ...Object.fromEntries(vectors.map((id) => [id, ["embeddings"]])),
    "llama3:8b": ["chat"],
    "embedder-chat": ["chat"],
  });
  const served = await gateway.call(tenant.key, "/v1/embeddings", {
    body: { model: "node/rack/our-vectors", input: "hi" },
  });
  expect([served.status, served.body.data[0].embedding]).toEqual([200, [0.5]]);
  // A chat model gets the embeddings probe only, so that it generates nothing.
  expect(calls.filter(({ model }) => model === "llama3:8b").map(({ path }) => path)).not.toContain(
    "/v1/chat/completions",
  );
});

test("NODE-05 a model that answers both serves both", async () => {
  const { url } = await localServer(listing("both"), ({ path }) =>
    path === "/v1/embeddings" ? VECTORS : path === "/v1/chat/completions" ? { json: chatAnswer("both") } : undefined,
  );
  expect((await connected(url)).surfaces).toEqual({ both: ["chat", "embeddings"] });
});

test("NODE-05 Ollama and LM Studio state what a model is, so no model is loaded to find out", async () => {
  const ollama = await localServer(listing("bge-m3:latest", "qwen3:4b"), ({ path, model }) =>
    path === "/api/show"
      ? { json: { capabilities: model === "qwen3:4b" ? ["completion"] : ["embedding"] } }
      : undefined,
  );
  expect((await connected(ollama.url)).surfaces).toEqual({ "bge-m3:latest": ["embeddings"], "qwen3:4b": ["chat"] });
  const studio = await localServer(listing("vectors", "writer"), ({ path }) =>
    path === "/api/v0/models"
      ? {
          json: {
            data: [
              { id: "vectors", type: "embeddings" },
              { id: "writer", type: "llm" },
            ],
          },
        }
      : undefined,
  );
  expect((await connected(studio.url)).surfaces).toEqual({ vectors: ["embeddings"], writer: ["chat"] });
  for (const { calls } of [ollama, studio]) expect(calls.filter(({ path }) => path.startsWith("/v1/"))).toEqual([]);
});

test("NODE-05 surfaces set in the agent are not probed, and those set on the node replace what the agent found", async () => {
  const { url, calls } = await localServer(listing("mystery", "tiny"), () => undefined);
  const { tenant, surfaces } = await connected(url, { surfaces: { mystery: ["embeddings"] } });
  expect(surfaces).toEqual({ mystery: ["embeddings"], tiny: ["chat"] });
  expect(calls.filter(({ model }) => model === "mystery")).toEqual([]);
  const path = `/workspaces/${tenant.slug}/nodes/rack`;
  const changed = await gateway.manage("PATCH", path, { surfaces: { tiny: ["chat", "embeddings"] } });
  expect(changed["served"].find(({ id }: Json) => id === "tiny")).toMatchObject({
    surfaces: ["chat", "embeddings"],
    announced_surfaces: ["chat"],
  });
  const listed = await gateway.call(tenant.key, "/v1/models/node/rack/tiny");
  expect(listed.body.svc_surfaces).toContain("embeddings");
  const cli = await gateway.cli("node", "set", tenant.slug, "rack", "--surfaces", "tiny=embeddings", "--json");
  expect(cli.json).toMatchObject({ surfaces: { tiny: ["embeddings"] } });
  expect((await gateway.cli("node", "set", tenant.slug, "rack", "--surfaces", "tiny=song")).code).toBe(2);
  expect(await gateway.manage("PATCH", path, { surfaces: null })).toMatchObject({ surfaces: {} });
});

test("NODE-05 while a server starts, the name decides", async () => {
  const { url } = await localServer(listing("bge-m3", "e5-mistral", "gte_base", "llama"), () => ({
    status: 503,
    json: {},
  }));
  expect((await connected(url)).surfaces).toEqual({
    "bge-m3": ["embeddings"],
    "e5-mistral": ["embeddings"],
    gte_base: ["embeddings"],
    llama: ["chat"],
  });
});
