import { describe, expect, test } from "vitest";
import type { Called } from "../support/gateway.ts";
import { wordsOf } from "../support/responses-script.ts";
import { openScene } from "../support/scene.ts";
import { responseWith, THINKING_WITH_TOOLS, throughResponses } from "../support/through-responses.ts";

/** Takes no tools over chat completions. */
const ASTRA = "openai/gpt-6-astra";

/** The format in which an endpoint is called. */
const { scene, tenant, upstream, sent, path, chat, messages, greet } = throughResponses();

describe("choice of the format", () => {
  const spoken = async (answer: Promise<Called>): Promise<string | undefined> => {
    const { status, text } = await answer;
    expect(status, text).toBe(200);
    return path();
  };

  test("CHAT-01 chat completions are the default: without tools, without reasoning or with reasoning off", async () => {
    greet();
    expect(await spoken(chat({ tools: undefined }))).toBe("/v1/chat/completions");
    expect(await spoken(chat({ reasoning_effort: undefined }))).toBe("/v1/chat/completions");
    expect(sent().reasoning_effort).toBe("none");
    expect(await spoken(chat({ reasoning_effort: "none" }))).toBe("/v1/chat/completions");
    expect(await spoken(messages({ thinking: { type: "disabled" } }))).toBe("/v1/chat/completions");
    expect(await spoken(messages({ thinking: undefined }))).toBe("/v1/chat/completions");
    expect(await spoken(chat({ model: "openai/gpt-5.1" }))).toBe("/v1/chat/completions");
    expect(await spoken(chat())).toBe("/v1/responses");
    expect(await spoken(messages())).toBe("/v1/responses");
  });

  test("MSG-02 an optional effort is dropped if keeping it would lose another field", async () => {
    greet();
    for (const more of [{ stop_sequences: ["END"] }, { temperature: 0.3 }, { max_tokens: 8 }]) {
      expect(await spoken(messages(more))).toBe("/v1/chat/completions");
      expect(sent().reasoning_effort).toBe("none");
    }
    const { headers } = await messages({ stop_sequences: ["END"] });
    expect((await scene().row(headers.get("x-svc-request-id") ?? "")).omitted).toEqual(["thinking"]);
    expect(await spoken(messages({ temperature: 1 }))).toBe("/v1/responses");
  });

  test("PARAM-03 conflicting requirements are refused by name, and no provider is called", async () => {
    const before = upstream().requests.length;
    const named = async (answer: Promise<Called>) => {
      const { status, body } = await answer;
      return [status, body.error.code ?? body.error.type, body.error.param];
    };
    const unsupported = (param: string) => [400, "unsupported_parameter", param];
    expect(await named(chat({ stop: ["END"] }))).toEqual(unsupported("stop"));
    expect(await named(chat({ seed: 1 }))).toEqual(unsupported("seed"));
    expect(await named(chat({ logprobs: true }))).toEqual(unsupported("logprobs"));
    expect(await named(chat({ temperature: 0.3 }))).toEqual(unsupported("temperature"));
    expect(await named(chat({ top_p: 0.3 }))).toEqual(unsupported("top_p"));
    expect(await named(chat({ max_tokens: 8 }))).toEqual([400, "invalid_value", "max_tokens"]);
    const budget = { thinking: { type: "enabled", budget_tokens: 1024 } };
    expect(await named(messages({ ...budget, stop_sequences: ["END"] }))).toEqual(unsupported("stop_sequences"));
    expect(await named(messages({ ...budget, temperature: 0.3 }))).toEqual(unsupported("temperature"));
    expect(upstream().requests).toHaveLength(before);
  });

  test("CHAT-03 a model without tools over chat completions gets them over responses, with any effort", async () => {
    greet();
    expect(await spoken(chat({ model: ASTRA, reasoning_effort: undefined }))).toBe("/v1/responses");
    expect(sent()).not.toHaveProperty("reasoning");
    expect(sent().tools).toHaveLength(1);
    expect(await spoken(chat({ model: ASTRA, reasoning_effort: "low" }))).toBe("/v1/responses");
    expect(sent()).toMatchObject({ reasoning: { effort: "low", summary: "auto" } });
    expect(await spoken(messages({ model: ASTRA, thinking: { type: "disabled" } }))).toBe("/v1/responses");
    expect(sent()).not.toHaveProperty("reasoning");
    const off = await chat({ model: ASTRA, reasoning_effort: "none" });
    expect([off.status, off.body.error.param]).toEqual([400, "reasoning_effort"]);
    expect(await spoken(chat({ model: ASTRA, tools: undefined }))).toBe("/v1/chat/completions");
  });

  test("HDR-06 a router's effort is sent where supported, and dropped if it conflicts with the caller's fields", async () => {
    greet();
    await scene().gateway.manage("PUT", `/workspaces/${tenant().slug}/routers/thinks`, {
      models: ["openai/gpt-6-sol"],
      reasoning_effort: "high",
    });
    const routed = { model: `@${tenant().slug}/thinks`, reasoning_effort: undefined };
    const chosen = ({ headers }: Called) =>
      ["effort", "chosen-by"].map((name) => headers.get(`x-svc-reasoning-${name}`));
    expect(chosen(await chat(routed))).toEqual(["high", "router"]);
    expect(path()).toBe("/v1/responses");
    for (const more of [{ stop: ["END"] }, { temperature: 0.3 }]) {
      expect(chosen(await chat({ ...routed, ...more }))).toEqual([null, "provider_default"]);
      expect([path(), sent()]).toMatchObject(["/v1/chat/completions", more]);
    }
  });
});

test("CHAT-03 the same model at another provider, which takes tools over responses only", async () => {
  const azure = await openScene(["azure"]);
  try {
    const { key } = await azure.gateway.tenant();
    azure.at("azure").always(responseWith(wordsOf("Hello.")));
    for (const more of [{}, { reasoning_effort: undefined }, { reasoning_effort: "none" }]) {
      const { status, headers, text } = await azure.chat(key, { ...THINKING_WITH_TOOLS, ...more });
      expect(status, text).toBe(200);
      expect(headers.get("x-svc-upstream-surface")).toBe("responses");
      expect(azure.at("azure").requests.at(-1)?.path).toBe("/v1/responses");
    }
  } finally {
    await azure.close();
  }
});
