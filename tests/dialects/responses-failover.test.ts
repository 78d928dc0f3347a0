import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { contentOf, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

/** One model, served over chat completions by one provider and over responses by another. */
const model = "openai/gpt-oss-120b";

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "scaleway"], responsesAlone());
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const HELLO = { text: "Hello there" };
const WORKING: Partial<Record<Provider, Readonly<Record<"whole" | "streamed", () => Script>>>> = {
  deepinfra: {
    whole: () => ({ json: chatJson() }),
    streamed: () => ({ frames: chatFrames(["Hello", " there"], { usage: "asked" }) }),
  },
  scaleway: { whole: () => RESPONSES_COLUMN.whole(HELLO), streamed: () => RESPONSES_COLUMN.streamed(HELLO) },
};

test.each([
  ["deepinfra", "scaleway", "whole"],
  ["deepinfra", "scaleway", "streamed"],
  ["scaleway", "deepinfra", "whole"],
  ["scaleway", "deepinfra", "streamed"],
] as const)("ROUTE-04 if %s fails, %s answers in the other format (%s)", async (first, second, how) => {
  scene.at(first).next({ status: 500, json: { error: { message: "down" } } });
  scene.at(second).next(WORKING[second]?.[how]() ?? {});
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
  const { status, headers, text, body } = await scene.chat(tenant.key, {
    model,
    tools,
    reasoning_effort: "low",
    stream: how === "streamed",
    provider: { order: [first, second] },
  });
  expect(status, text).toBe(200);
  expect(how === "streamed" ? contentOf(text) : body.choices[0].message.content).toBe("Hello there");
  expect(headers.get("x-svc-provider")).toBe(second);
  expect(headers.get("x-svc-upstream-surface")).toBe(second === "scaleway" ? "responses" : "chat");
  const { attempts } = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect(attempts.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
    [first, "next"],
    [second, "served"],
  ]);
});
