import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

/** Servers of chat completions that refuse what others take: what they receive of conversations that clients do send. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["groq", "cerebras"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const receivedBy = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;

test.each(["groq", "cerebras"] as const)(
  "CHAT-01 CHAT-05 an answer of %s that is sent back as it was given comes without the thoughts that it refuses",
  async (only) => {
    const provider = { only: [only] };
    const asked = { role: "user", content: "And?" };
    scene.at(only).next({ json: chatJson({ message: { role: "assistant", content: "Hello.", reasoning: "Hm." } }) });
    const { message } = (await scene.chat(tenant.key, { provider })).body.choices[0];
    expect(message).toMatchObject({ content: "Hello.", reasoning_content: "Hm." });
    const { status, headers } = await scene.chat(tenant.key, {
      model: MODEL,
      provider,
      messages: [asked, message, asked],
    });
    expect(status).toBe(200);
    expect(receivedBy(only).messages).toEqual([asked, { role: "assistant", content: "Hello." }, asked]);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.attempts[0].reason).toBe("answered whole; left out: messages: reasoning_content");
  },
);
