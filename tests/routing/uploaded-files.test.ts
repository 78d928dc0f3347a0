import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { messageJson } from "../support/messages.ts";
import { catalogueWithExtras, perUse } from "../support/priced-extras.ts";
import { responseJson } from "../support/responses-native.ts";
import { credentialOf, openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const ID = "id-of-something-of-somebody-else";
const GPT = "openai/gpt-4.1";
const CLAUDE = "anthropic/claude-sonnet-4-5";

const chat = (part: Json) => ({
  model: GPT,
  messages: [{ role: "user", content: [{ type: "text", text: "x" }, part] }],
});
const response = (...input: Json[]) => ({ model: GPT, input: [{ role: "user", content: "x" }, ...input] });
const message = (...content: Json[]) => ({ model: CLAUDE, max_tokens: 9, messages: [{ role: "user", content }] });
const PAGE = "https://page.example";
const source = { type: "file", file_id: ID };
const tools = (...offered: Json[]) => ({ ...response(), tools: offered });
const code = (container: unknown) => ({ type: "code_interpreter", container });
const shell = (environment: Json) => ({ type: "shell", environment });
const files = { type: "auto", file_ids: [ID] };
const inContainer = (container: unknown) => ({ ...message({ type: "text", text: "x" }), container });
const called = { type: "function_call", call_id: "c", name: "look", arguments: "{}" };

/** Path, the field that names the file, the request. */
const NAMED: readonly [string, string, Json][] = [
  ["/v1/chat/completions", "messages.0.content.1", chat({ type: "file", file: { file_id: ID } })],
  ["/v1/responses", "input.1.content.0", response({ role: "user", content: [{ type: "input_file", file_id: ID }] })],
  ["/v1/responses", "input.1.content.0", response({ role: "user", content: [{ type: "input_image", file_id: ID }] })],
  [
    "/v1/responses",
    "input.2",
    response(called, { type: "function_call_output", call_id: "c", output: [{ type: "input_file", file_id: ID }] }),
  ],
  [
    "/v1/responses",
    "input.1",
    response({ type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", file_id: ID } }),
  ],
  [
    "/v1/responses",
    "input.1.content.0",
    response({ role: "assistant", content: [{ type: "input_file", file_id: ID }] }),
  ],
  ["/v1/messages", "messages.0.content.0", message({ type: "document", source })],
  ["/v1/messages", "messages.0.content.0", { ...message({ type: "image", source }), system: "Be brief." }],
  ["/v1/messages", "messages.0.content.0", message({ type: "container_upload", file_id: ID })],
  [
    "/v1/messages",
    "messages.0.content.0",
    message({ type: "tool_result", tool_use_id: "t", content: [{ type: "document", source }] }),
  ],
  [
    "/v1/messages",
    "messages.1.content.1",
    {
      ...message(),
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: [
            { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url: PAGE } },
            {
              type: "web_fetch_tool_result",
              tool_use_id: "srvtoolu_1",
              content: { type: "web_fetch_result", url: PAGE, content: { type: "document", source } },
            },
          ],
        },
        { role: "user", content: "Repeat it." },
      ],
    },
  ],
  ["/v1/messages/count_tokens", "messages.0.content.0", message({ type: "document", source })],
  ["/v1/responses", "tools.0.container.file_ids", tools(code(files))],
  ["/v1/responses", "tools.0.container", tools(code(ID))],
  ["/v1/responses", "tools.0.environment.file_ids", tools(shell({ ...files, type: "container_auto" }))],
  [
    "/v1/responses",
    "tools.0.environment.container_id",
    tools(shell({ type: "container_reference", container_id: ID })),
  ],
  [
    "/v1/responses",
    "tools.0.environment.skills.0.skill_id",
    tools(shell({ type: "container_auto", skills: [{ type: "skill_reference", skill_id: ID }] })),
  ],
  ["/v1/responses", "tools.0.vector_store_ids", tools({ type: "file_search", vector_store_ids: [ID] })],
  [
    "/v1/responses",
    "tools.0.input_image_mask.file_id",
    tools({ type: "image_generation", input_image_mask: { file_id: ID } }),
  ],
  ["/v1/responses", "tools.0.tunnel_id", tools({ type: "mcp", server_label: "m", tunnel_id: ID })],
  [
    "/v1/responses",
    "tools.1.tools.0.container.file_ids",
    tools({ type: "web_search" }, { type: "namespace", name: "n", description: "d", tools: [code(files)] }),
  ],
  [
    "/v1/responses",
    "input.1.tools.0.container.file_ids",
    response({ type: "tool_search_output", call_id: "c", tools: [code(files)] }),
  ],
  ["/v1/responses", "prompt", { ...response(), prompt: { id: ID } }],
  [
    "/v1/responses",
    "prompt",
    { ...response(), prompt: { id: "p", variables: { x: { type: "input_file", file_id: ID } } } },
  ],
  ["/v1/messages", "container", inContainer(ID)],
  ["/v1/messages", "container.id", inContainer({ id: ID })],
  [
    "/v1/messages",
    "container.skills.1.skill_id",
    inContainer({
      skills: [
        { type: "anthropic", skill_id: "pptx" },
        { type: "custom", skill_id: ID },
      ],
    }),
  ],
];

/** What a provider offers everyone or creates for the request, and what only resembles a stored object. */
const OPEN: readonly [string, string, Json][] = [
  ["a new container", "/v1/responses", tools(code({ type: "auto", file_ids: [] }))],
  ["a shell in a new container", "/v1/responses", tools(shell({ type: "container_auto" }))],
  [
    "a skill of the provider's",
    "/v1/responses",
    tools(shell({ type: "container_auto", skills: [{ type: "skill_reference", skill_id: "openai-spreadsheets" }] })),
  ],
  [
    "a function that takes ids",
    "/v1/responses",
    tools({
      type: "function",
      name: "read",
      parameters: { type: "object", default: { file_id: ID, container: ID } },
    }),
  ],
  ["skills of the provider's", "/v1/messages", inContainer({ skills: [{ type: "anthropic", skill_id: "pptx" }] })],
];

/** So that nothing is refused for a missing price. */
const PRICED = Object.fromEntries(
  ["code_execution", "file_search", "hosted_container", "hosted_tool", "image_generation", "web_search"].map((name) => [
    name,
    perUse("0.01"),
  ]),
);

/** Nothing is uploaded through the gateway: an id names an object in the account of the key that is used. */
describe("provider file ids and other stored objects", () => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(["openai", "anthropic"], {
      GATEWAY_CATALOGUE_DIR: catalogueWithExtras({ openai: PRICED, anthropic: PRICED }),
    });
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant();
  });
  const requests = () => [...scene.at("openai").requests, ...scene.at("anthropic").requests];
  const answerTo = (path: string): Json => {
    if (path === "/v1/chat/completions") return chatJson({ content: "Hi" });
    if (path === "/v1/responses") return responseJson();
    return path.endsWith("count_tokens") ? { input_tokens: 3 } : messageJson([{ type: "text", text: "Hi" }]);
  };

  test.each(NAMED)(
    "BILL-08 ERR-09 %s: %s is refused on the operator's key without an upstream call",
    async (...row) => {
      const [path, field, body] = row;
      const before = requests().length;
      const answer = await scene.gateway.call(tenant.key, path, { body });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("workspace's own provider key")]);
      expect(answer.text).toContain(field);
      if (!path.startsWith("/v1/messages"))
        expect(answer.body.error).toMatchObject({ code: "unsupported_parameter", param: field });
      expect(requests()).toHaveLength(before);
    },
  );

  test.each(NAMED)("BILL-08 %s: with the workspace's own key %s goes to that account only", async (...row) => {
    const [path, , body] = row;
    const provider = body["model"] === GPT ? "openai" : "anthropic";
    scene.at(provider).next({ json: { data: [] } });
    const own = { key: credentialOf("own") };
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/${provider}`, own);
    scene.at(provider).next({ json: answerTo(path) });
    const before = requests().length;
    const answer = await scene.gateway.call(tenant.key, path, { body });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    expect(requests()).toHaveLength(before + 1);
    expect(JSON.stringify(scene.at(provider).requests.at(-1)?.json)).toContain(ID);
    scene.at(provider).always({ status: 429, json: {} });
    expect((await scene.gateway.call(tenant.key, path, { body })).status).not.toBe(200);
    for (const { headers } of requests().slice(before))
      expect(JSON.stringify(headers)).not.toContain(credentialOf(provider));
    scene.at(provider).always({ json: answerTo(path) });
  });

  test.each(OPEN)("BILL-08 %s is sent on the operator's key", async (_what, path, body) => {
    const provider = body["model"] === GPT ? "openai" : "anthropic";
    scene.at(provider).next({ json: answerTo(path) });
    const answer = await scene.gateway.call(tenant.key, path, { body });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    expect(JSON.stringify(scene.at(provider).requests.at(-1)?.headers)).toContain(credentialOf(provider));
  });

  test("MSG-01 arguments and results that only resemble an id pass through", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const input = { file_id: ID, content: [{ file_id: ID }] };
    const ran = { type: "bash_code_execution_output", file_id: ID };
    const result = { type: "bash_code_execution_result", content: [ran] };
    const body = message({ type: "text", text: "x" });
    const messages = [
      ...body.messages,
      {
        role: "assistant",
        content: [
          { type: "bash_code_execution_tool_result", tool_use_id: "s", content: result },
          { type: "tool_use", id: "t", name: "read", input },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: JSON.stringify(input) }] },
    ];
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body: { ...body, messages } });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  });
});
