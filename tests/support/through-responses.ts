import { afterAll, beforeAll, beforeEach } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import type { Called, Json, Tenant } from "./gateway.ts";
import { responseJson } from "./responses-native.ts";
import { callOf, framesOf, thoughtOf, wordsOf } from "./responses-script.ts";
import { openScene, type Scene } from "./scene.ts";
import { chatJson, type Script, type Upstream } from "./upstream.ts";

/** A model that is complete only on its provider's responses API: over chat completions it reasons or takes tools. */
export const THINKER = "openai/gpt-5.6-terra";

export const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const TOOLS = [{ type: "function", function: { name: "weather", description: "Tells it.", parameters: SCHEMA } }];
const OWN_TOOLS = [{ name: "weather", description: "Tells it.", input_schema: SCHEMA }];
export const HELLO = [{ role: "user", content: "Weather?" }];

export const CALLS = [
  callOf("call_a", "weather", '{"city":"Paris"}'),
  callOf("call_b", "weather", '{"city":"Rome"}', 1),
];
/** All fields of a reply with reasoning and tools. */
export const SPOKEN = [thoughtOf("I should look."), wordsOf("Let me see."), ...CALLS];

/** A chat request with tools and reasoning. */
export const THINKING_WITH_TOOLS = { model: THINKER, messages: HELLO, tools: TOOLS, reasoning_effort: "high" };

export const responseWith = (...items: readonly JsonObject[]): Script => ({ json: responseJson({ output: items }) });
export const streaming = (...items: readonly JsonObject[]): Script => ({ frames: framesOf(items) });

export type ResponsesScene = {
  scene(): Scene;
  tenant(): Tenant;
  upstream(): Upstream;
  /** What the provider received last, and where. */
  sent(): Json;
  path(): string | undefined;
  /** Requests with tools and reasoning, in both dialects. */
  chat(more?: object): Promise<Called>;
  messages(more?: object): Promise<Called>;
  /** Replies with a greeting, in the format of the path. */
  greet(): void;
};

/** A gateway and the provider for the tests of one file, with a workspace for each test. */
export function throughResponses(): ResponsesScene {
  let scene: Scene | undefined;
  let tenant: Tenant | undefined;
  const given = <Value>(value: Value | undefined): Value => {
    if (value === undefined) throw new Error("there is no gateway outside of the tests");
    return value;
  };
  beforeAll(async () => {
    scene = await openScene(["openai"]);
  });
  afterAll(() => scene?.close());
  beforeEach(async () => {
    tenant = await scene?.gateway.tenant();
  });
  const upstream = () => given(scene).at("openai");
  return {
    scene: () => given(scene),
    tenant: () => given(tenant),
    upstream,
    sent: () => upstream().requests.at(-1)?.json,
    path: () => upstream().requests.at(-1)?.path,
    chat: (more = {}) => given(scene).chat(given(tenant).key, { ...THINKING_WITH_TOOLS, ...more }),
    messages: (more = {}) =>
      given(scene).gateway.call(given(tenant).key, "/v1/messages", {
        body: {
          model: THINKER,
          max_tokens: 4000,
          messages: HELLO,
          tools: OWN_TOOLS,
          thinking: { type: "adaptive" },
          ...more,
        },
      }),
    greet: () =>
      upstream().always(({ path }) =>
        path === "/v1/responses" ? responseWith(wordsOf("Hello.")) : { json: chatJson() },
      ),
  };
}
