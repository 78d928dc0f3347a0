import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { loadChunks, loadExchange, scriptOf } from "../support/replay.ts";
import { openScene, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

/** Recorded responses of other dialects, as a messages caller gets them. */
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "google-ai-studio", "aws-bedrock"]);
  tenant = await scene.gateway.tenant({ credit: "1000" });
});
afterAll(() => scene.close());

type Dialect = "D1" | "D3" | "D4";
type Way = "whole" | "streamed";
const FOLDERS: Readonly<Record<Dialect, string>> = {
  D1: "d1-openai-chat",
  D3: "d3-gemini",
  D4: "d4-bedrock-converse",
};

async function replayed(dialect: Dialect, script: Script, way: Way): Promise<Json> {
  const { provider, model } = DIALECT_SCRIPTS[dialect];
  scene.at(provider).next(script);
  const body = {
    model,
    max_tokens: 4000,
    stream: way === "streamed",
    messages: [{ role: "user", content: "Say it." }],
  };
  const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body });
  expect(answer.status, answer.text).toBe(200);
  return way === "streamed" ? foldMessage(answer.text) : answer.body;
}

/** The streamed or the whole responses of a recording. */
function scriptsIn(dialect: Dialect, name: string, way: Way): Script[] {
  const type = way === "streamed" ? /event-?stream/ : /json/;
  return loadExchange(`${FOLDERS[dialect]}/${name}`)
    .interactions.filter(({ response }) => response.status === 200 && type.test(response.headers["content-type"] ?? ""))
    .map((interaction) => scriptOf(interaction));
}

describe("recorded streams", () => {
  test.each<[Dialect, string]>([
    ["D1", "deepseek-stream-reasoning"],
    ["D1", "mistral-stream-thinking"],
    ["D1", "mistral-stream-tools-multiturn"],
    ["D1", "openai-stream-tool-then-text"],
    ["D3", "stream-text"],
    ["D3", "stream-thinking"],
    ["D4", "stream-claude-thinking"],
    ["D4", "stream-gpt-oss-reasoning"],
    ["D4", "stream-nova-text"],
    ["D4", "stream-nova-tools-multiturn"],
    ["D4", "stream-redacted"],
    ["D4", "stream-cache"],
  ])("MSG-02 %s %s is a well-formed message", async (dialect, name) => {
    const scripts = scriptsIn(dialect, name, "streamed");
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      const message = await replayed(dialect, script, "streamed");
      expect(message.content.length).toBeGreaterThan(0);
      expect(message.usage.output_tokens).toBeGreaterThan(0);
      const called = message.content.some(({ type }: Json) => type === "tool_use");
      if (called) expect(message.stop_reason).toBe("tool_use");
      else expect(["end_turn", "max_tokens"]).toContain(message.stop_reason);
      for (const block of message.content) if (block.type === "text") expect(block.text).not.toBe("");
    }
  });

  test.each(["azure-model-router", "xai-tool-call"])("MSG-02 D1 %s is a well-formed message", async (name) => {
    const body = loadChunks(`${FOLDERS.D1}/${name}`);
    const message = await replayed("D1", { body, headers: { "content-type": "text/event-stream" } }, "streamed");
    expect(message.content.length).toBeGreaterThan(0);
  });

  test("MSG-02 reasoning and text of a recording are in separate blocks, in order", async () => {
    const [script] = scriptsIn("D1", "deepseek-stream-reasoning", "streamed");
    const message = await replayed("D1", script ?? {}, "streamed");
    expect(message.content.map(({ type }: Json) => type)).toEqual(["thinking", "text"]);
    expect(message.content[0].thinking.length).toBeGreaterThan(20);
  });
});

describe("recorded whole responses", () => {
  test.each<[Dialect, string]>([
    ["D1", "openai-parallel-tools"],
    ["D1", "openai-json-schema"],
    ["D1", "compatible-tool-call-no-id"],
    ["D3", "parallel-tools"],
    ["D3", "thought-signatures"],
    ["D3", "json-schema"],
    ["D4", "parallel-tools"],
    ["D4", "json-schema"],
    ["D4", "tool-choice-any"],
  ])("MSG-02 %s %s", async (dialect, name) => {
    const scripts = scriptsIn(dialect, name, "whole");
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      const message = await replayed(dialect, script, "whole");
      expect(message.content.length).toBeGreaterThan(0);
      expect(message.usage.output_tokens).toBeGreaterThan(0);
      for (const block of message.content) {
        if (block.type !== "tool_use") continue;
        expect(block.id).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(typeof block.input).toBe("object");
      }
    }
  });

  test("MSG-02 cache write tokens are reported separately from input tokens", async () => {
    const [script] = scriptsIn("D1", "openai-cache-write-5.6", "whole");
    const { usage } = await replayed("D1", script ?? {}, "whole");
    expect(usage.cache_creation_input_tokens).toBeGreaterThan(0);
    expect(usage.input_tokens).toBeLessThan(usage.cache_creation_input_tokens);
  });

  test("MSG-02 a reply that reached its limit before the first token, and a blocked one", async () => {
    const [empty] = scriptsIn("D3", "max-tokens-empty", "whole");
    expect(await replayed("D3", empty ?? {}, "whole")).toMatchObject({ content: [], stop_reason: "max_tokens" });
    const [blocked] = scriptsIn("D3", "safety-block", "whole");
    expect((await replayed("D3", blocked ?? {}, "whole")).stop_reason).toBe("refusal");
  });
});
