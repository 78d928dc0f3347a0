import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Interaction, loadChunks, loadExchange, scriptOf } from "../support/replay.ts";
import { eventsIn } from "../support/responses-native.ts";
import { costNanos, openScene, type Scene, type Used } from "../support/scene.ts";

let scene: Scene;
let tenant: Tenant;

type Recording = {
  readonly name: string;
  /** Index of the exchange. */
  readonly at: number;
  readonly model: string;
  /** Expected usage, transcribed from the recordings manually. */
  readonly used: Used & { readonly reasoning?: number };
};

const WHOLE: readonly Recording[] = [
  { name: "background-poll", at: 2, model: "gpt-4o", used: { input: 15, output: 9 } },
  {
    name: "cache-write-5.6",
    at: 0,
    model: "gpt-5-nano",
    used: { input: 1220, written: 1217, output: 100, reasoning: 54 },
  },
  { name: "json-schema", at: 0, model: "gpt-4o", used: { input: 66, output: 12 } },
  { name: "json-schema", at: 1, model: "gpt-4o", used: { input: 89, output: 16 } },
  { name: "previous-response-id", at: 0, model: "gpt-4.1", used: { input: 40, output: 3 } },
  { name: "previous-response-id", at: 1, model: "gpt-4.1", used: { input: 56, output: 16 } },
  { name: "previous-response-id", at: 2, model: "gpt-4.1", used: { input: 110, output: 16 } },
  { name: "previous-response-id", at: 3, model: "gpt-4.1", used: { input: 139, output: 14 } },
];

const STREAMED: readonly Recording[] = [
  { name: "background-stream", at: 0, model: "gpt-4o", used: { input: 15, output: 9 } },
  { name: "stream-function-call", at: 0, model: "gpt-4.1", used: { input: 75, output: 23 } },
  { name: "stream-text", at: 0, model: "gpt-5-nano", used: { input: 13, output: 284, reasoning: 256 } },
];

function recorded({ name, at }: Recording): Interaction {
  const found = loadExchange(`responses/${name}`).interactions[at];
  if (found === undefined) throw new Error(`${name} has no exchange ${at}`);
  return found;
}

/** The recorded request without state that its provider stored and the gateway does not have. */
function requestOf({ request }: Interaction, model: string): Record<string, unknown> {
  const requestBody = isJsonObject(request.json) ? request.json : { input: "What is 2 + 2?" };
  const { background: _, previous_response_id: __, ...rest } = requestBody;
  // Without the stored calls, their results would have no call.
  const input = Array.isArray(rest["input"]) && __ !== undefined ? "Go on." : rest["input"];
  return { ...rest, input, model: `openai/${model}`, store: false };
}

async function expectBooked(requestId: string, { model, used }: Pick<Recording, "model" | "used">): Promise<number> {
  const nanos = costNanos("openai", used, "EUR", `openai/${model}`);
  expect((await scene.row(requestId)).usage).toMatchObject({
    input_tokens: used.input,
    cached_tokens: used.cached ?? 0,
    cache_write_tokens: used.written ?? 0,
    output_tokens: used.output,
    reasoning_tokens: used.reasoning ?? 0,
    estimated: false,
  });
  const charges = await scene.charges(tenant);
  expect(charges.find(({ id }) => id === `charge:${requestId}`)?.nanos).toBe(nanos);
  return Number(nanos) / 1e9;
}

const ID = /("id": ?)"resp_[0-9a-f]+"/;

/** The text of a response with the named patches only. `end` is what closes the object. */
function owned(text: string, end: RegExp, id: string, cost: number | undefined): string {
  const states = { store: false, background: false, previous_response_id: null };
  let own = text.replace(ID, `$1"${id}"`);
  let added = "";
  for (const [key, value] of Object.entries(states)) {
    const member = new RegExp(`("${key}": ?)(?:true|false|null|"resp_[0-9a-f]+")`);
    if (member.test(own)) own = own.replace(member, `$1${value}`);
    else added += `,"${key}":${value}`;
  }
  own = own.replaceAll(/"encrypted_content":( ?)"/g, '"encrypted_content":$1"gw1:responses.openai:');
  if (cost !== undefined)
    own = own.replace(/("usage": ?\{[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}/, `$1,"cost":${cost},"currency":"EUR"}`);
  return added === "" ? own : own.replace(end, (closing) => added + closing);
}

/** What the caller gets of a recorded stream. */
function expectedStream(recording: string, id: string, cost: number): string {
  return recording
    .replaceAll("\r\n", "\n")
    .split("\n\n")
    .filter((block) => block.trim() !== "")
    .map((block, at) => {
      const isEnd = /"type":"response\.(completed|incomplete)"/.test(block);
      const frame = block.startsWith("event: ") ? block : `event: ${JSON.parse(block.slice(6)).type}\n${block}`;
      const text = frame.includes('"response":{')
        ? owned(frame, responseEnd(frame), id, isEnd ? cost : undefined)
        : frame.replace('"encrypted_content":"', '"encrypted_content":"gw1:responses.openai:');
      // Early recordings have no sequence numbers; the dialect added them later.
      return text.includes('"sequence_number"') ? `${text}\n\n` : `${text.slice(0, -1)},"sequence_number":${at}}\n\n`;
    })
    .join("");
}

/** Some recordings have the number after the response, some before it. */
function responseEnd(frame: string): RegExp {
  return frame.endsWith("}}") ? /\}\}$/ : /\},"sequence_number":\d+\}$/;
}

describe("recorded traffic of a provider of the dialect", () => {
  beforeAll(async () => {
    scene = await openScene(["openai"]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());

  test.each(WHOLE)(
    "RESP-01 $name, exchange $at: the reply equals the recording except for id, state and cost",
    async (one) => {
      const interaction = recorded(one);
      const request = requestOf(interaction, one.model);
      scene.at("openai").next(scriptOf(interaction));
      const { status, text, body } = await scene.gateway.call(tenant.key, "/v1/responses", { body: request });
      expect(status, text).toBe(200);
      expect(scene.at("openai").requests.at(-1)?.json).toEqual({ ...request, model: one.model });
      const cost = await expectBooked(body.id, one);
      expect(text).toBe(owned(interaction.response.body.toString(), /\}\s*$/, body.id, cost));
    },
  );

  test.each(STREAMED)(
    "RESP-01 $name: the stream equals the recording except for id, state and cost, at any chunk boundaries",
    async (one) => {
      const interaction = recorded(one);
      for (const slices of ["whole", "bytes"]) {
        scene.at("openai").next(scriptOf(interaction, slices === "bytes" ? { slices } : {}));
        const { text, headers } = await scene.gateway.call(tenant.key, "/v1/responses", {
          body: requestOf(interaction, one.model),
        });
        const id = String(headers.get("x-svc-request-id"));
        const cost = await expectBooked(id, one);
        expect(text).toBe(expectedStream(interaction.response.body.toString(), id, cost));
      }
    },
  );

  test("RESP-01 stream-reasoning-summary: reasoning, signatures and calls, in events without names", async () => {
    const model = "gpt-5-nano";
    for (const [bytes, used] of reasoningTurns()) {
      scene.at("openai").next({ body: bytes, headers: { "content-type": "text/event-stream" } });
      const { text, headers } = await scene.gateway.call(tenant.key, "/v1/responses", {
        body: { model: `openai/${model}`, input: "Compute.", store: false, stream: true },
      });
      const id = String(headers.get("x-svc-request-id"));
      const cost = await expectBooked(id, { model, used });
      expect(text).toBe(expectedStream(bytes.toString(), id, cost));
      const { response } = eventsIn(text).at(-1);
      for (const { encrypted_content } of response.output.filter(({ type }: Json) => type === "reasoning"))
        expect(encrypted_content).toMatch(/^gw1:responses\.openai:gAAAA/);
    }
  });

  test("ERR-02 stream-error: a failure before any output is an error and free", async () => {
    const bytes = loadChunks("responses/stream-error", "no_marker");
    scene.at("openai").next({ body: bytes, headers: { "content-type": "text/event-stream" } });
    const { status, text, body } = await scene.gateway.call(tenant.key, "/v1/responses", {
      body: { model: "openai/gpt-5-nano", input: "x", store: false, stream: true },
    });
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(text).not.toContain("quota");
    expect((await scene.charges(tenant)).some(({ id }) => id === `charge:${body.error.request_id}`)).toBe(false);
  });
});

/** The recording has several responses in sequence; each is a separate stream. */
function reasoningTurns(): [Buffer, Recording["used"]][] {
  const blocks = loadChunks("responses/stream-reasoning-summary", "no_marker").toString().split("\n\n").filter(Boolean);
  const turns: string[][] = [];
  for (const block of blocks) {
    if (block.includes('"type":"response.created"')) turns.push([]);
    turns.at(-1)?.push(block);
  }
  return turns.map((turn) => {
    const { usage } = JSON.parse(turn.at(-1)?.slice("data: ".length) ?? "{}").response;
    const reasoning = usage.output_tokens_details.reasoning_tokens;
    const used = { input: usage.input_tokens, cached: usage.input_tokens_details.cached_tokens, reasoning };
    return [Buffer.from(`${turn.join("\n\n")}\n\n`), { ...used, output: usage.output_tokens }];
  });
}
