import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { REPLY as CHAT } from "../../src/language/dialects/chat/upstream/members.ts";
import { REPLY as CONVERSE } from "../../src/language/dialects/converse/upstream/members.ts";
import { REPLY as GEMINI } from "../../src/language/dialects/gemini/upstream/members.ts";
import { EVENT as MESSAGE_EVENT, REPLY as MESSAGES } from "../../src/language/dialects/messages/upstream/members.ts";
import type { MemberRule } from "../../src/language/dialects/reply-members.ts";
import { EVENT as RESPONSE_EVENT, REPLY as RESPONSES } from "../../src/language/dialects/responses/upstream/members.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { eventBytes } from "../support/converse.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { frame, USAGE as GEMINI_USAGE, whole } from "../support/gemini.ts";
import { messageEvent, messageJson } from "../support/messages.ts";
import { COMPATIBLE_CHAT_TYPES, CONVERSE_TYPES, GEMINI_TYPES } from "../support/provider-types.ts";
import {
  type AuditedReply,
  audit,
  distinctCases,
  FIRST_TEXT,
  isExemptMember,
  newFigures,
} from "../support/reply-audit.ts";
import { merged, type ReplyCase, replyCases } from "../support/reply-cases.ts";
import { frameOf, responseJson } from "../support/responses-native.ts";
import { RESPONSES_COLUMN, responsesAlone, wordsOf } from "../support/responses-script.ts";
import { eventsOf, openScene, type Provider, type Scene } from "../support/scene.ts";
import { TypeDeclarations } from "../support/type-schemas.ts";
import { chatJson, type Script, sse } from "../support/upstream.ts";

const declarations = (...files: string[]) =>
  new TypeDeclarations(files.map((file) => readFileSync(path.join(PROJECT_ROOT, "node_modules", file), "utf8")));
const OPENAI = declarations(
  "openai/resources/completions.d.ts",
  "openai/resources/shared.d.ts",
  "openai/resources/chat/completions/completions.d.ts",
  "openai/resources/responses/responses.d.ts",
);
const ANTHROPIC = declarations("@anthropic-ai/sdk/resources/messages/messages.d.ts");

type Surface = "chat" | "messages" | "responses";

type Column = {
  readonly provider: Provider;
  readonly model: string;
  readonly env?: Record<string, string>;
  readonly surfaces: readonly Surface[];
  /** Callers of the same dialect receive the provider's bytes. */
  readonly verbatim?: Surface;
  readonly rule: MemberRule;
  readonly cases: () => ReplyCase[];
  /** The case in a reply that is otherwise complete. */
  body(value: unknown): Json | undefined;
  streamed(body: Json): Script;
  /** The events of a stream, each with its cases, and a stream that contains such an event. */
  readonly events?: {
    readonly rule: MemberRule;
    readonly cases: () => ReplyCase[];
    script(event: Json): Script | undefined;
  };
};

const CHAT_USAGE = { prompt_tokens: 80, completion_tokens: 70, total_tokens: 150 };
const MESSAGE_USAGE = { input_tokens: 80, output_tokens: 70 };
const RESPONSE_USAGE = {
  input_tokens: 80,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 70,
  total_tokens: 150,
};
const CONVERSE_USAGE = { inputTokens: 80, outputTokens: 70, totalTokens: 150 };
const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };
const CONVERSE_STREAM = { "content-type": "application/vnd.amazon.eventstream" };

/** Longer than any position in it. */
const LONG_TEXT = "Hello. ".repeat(800);
const isExempt = isExemptMember(RESPONSE_EVENT);
const chatRest = { service_tier: null, system_fingerprint: null };

const COLUMNS: Readonly<Record<string, Column>> = {
  "chat completions": {
    provider: "deepinfra",
    model: "alibaba/qwen3.5-397b-a17b",
    surfaces: ["chat", "messages", "responses"],
    verbatim: "chat",
    rule: CHAT,
    cases: () => [
      ...replyCases(OPENAI, "ChatCompletion", isExemptMember(CHAT)),
      ...replyCases(new TypeDeclarations([COMPATIBLE_CHAT_TYPES]), "CompatibleCompletion", isExemptMember(CHAT)),
    ],
    body: (value) => merged(chatJson({ ...chatRest, content: FIRST_TEXT, usage: CHAT_USAGE }), value),
    streamed: chatStream,
  },
  messages: {
    provider: "anthropic",
    model: "anthropic/claude-sonnet-4-6",
    surfaces: ["chat", "messages", "responses"],
    verbatim: "messages",
    rule: MESSAGES,
    cases: () => replyCases(ANTHROPIC, "Message", isExemptMember(MESSAGES)),
    body: (value) =>
      merged(
        messageJson([{ type: "text", text: FIRST_TEXT }], { stop_reason: "end_turn", usage: MESSAGE_USAGE }),
        value,
      ),
    streamed: messagesStream,
    events: {
      rule: MESSAGE_EVENT,
      cases: () => replyCases(ANTHROPIC, "RawMessageStreamEvent", isExemptMember(MESSAGE_EVENT)),
      script: messageEventStream,
    },
  },
  responses: {
    provider: RESPONSES_COLUMN.provider,
    model: RESPONSES_COLUMN.model,
    env: responsesAlone(),
    surfaces: ["chat", "messages", "responses"],
    verbatim: "responses",
    rule: RESPONSES,
    cases: () => replyCases(OPENAI, "Response", isExemptMember(RESPONSES)),
    body: (value) => {
      const body: Json = merged(responseJson({ output: [wordsOf(FIRST_TEXT)], usage: RESPONSE_USAGE }), value);
      if (FAILED_STATES.has(body.status) || body.status === "queued" || body.status === "in_progress") return undefined;
      const { incomplete_details: details } = body;
      return { ...body, error: null, incomplete_details: details?.reason === undefined ? null : details };
    },
    streamed: responsesStream,
    events: {
      rule: RESPONSE_EVENT,
      // The responses in events are those of the whole reply.
      cases: () => replyCases(OPENAI, "ResponseStreamEvent", (at) => at.startsWith("response.") || isExempt(at)),
      script: responseEventStream,
    },
  },
  gemini: {
    provider: "google-ai-studio",
    model: "google/gemini-2.5-flash",
    surfaces: ["chat", "messages", "responses"],
    rule: GEMINI,
    cases: () => replyCases(new TypeDeclarations([GEMINI_TYPES]), "GenerateContentResponse", isExemptMember(GEMINI)),
    body: (value) => {
      const body: Json = whole([{ text: LONG_TEXT }], { usage: { ...GEMINI_USAGE, promptTokenCount: 80 } });
      const { candidates: [candidate] = [{}], ...rest }: Json = value;
      const { content: { parts = [] } = {}, ...more }: Json = candidate;
      Object.assign(body, merged(body, rest));
      body.candidates = [{ ...(merged(body.candidates[0], { ...more, index: 0 }) as Json) }];
      body.candidates[0].content.parts = [{ text: LONG_TEXT }, ...parts];
      return body;
    },
    streamed: (body) => ({ frames: [frame(body)] }),
  },
  converse: {
    provider: "aws-bedrock",
    model: "amazon/nova-2-lite",
    surfaces: ["chat", "messages", "responses"],
    rule: CONVERSE,
    cases: () => replyCases(new TypeDeclarations([CONVERSE_TYPES]), "ConverseResponse", isExemptMember(CONVERSE)),
    body: (value) => {
      const { output, ...rest }: Json = value;
      const [block] = output.message.content;
      const redacted = block?.reasoningContent?.redactedContent;
      // The content is base64 on this wire only.
      const content = redacted === undefined ? [block] : [{ reasoningContent: { redactedContent: btoa(redacted) } }];
      return {
        ...(merged({ stopReason: "end_turn", usage: CONVERSE_USAGE, metrics: { latencyMs: 1 } }, rest) as Json),
        output: { message: { role: "assistant", content: [{ text: "Hello." }, ...content] } },
      };
    },
    streamed: converseStream,
  },
};

function chatStream(body: Json): Script {
  const {
    choices: [choice],
    usage,
    object: _object,
    ...head
  } = body;
  const { message, finish_reason, ...rest } = choice;
  const calls = message.tool_calls?.map((call: Json, index: number) => ({ index, ...call }));
  const chunk = (more: object) => sse({ ...head, object: "chat.completion.chunk", ...more });
  const delta = { ...message, ...(calls === undefined ? {} : { tool_calls: calls }) };
  return {
    frames: [
      chunk({ choices: [{ ...rest, delta, finish_reason: null }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }),
      sse({ ...head, object: "chat.completion.chunk", choices: [], usage }),
      "data: [DONE]\n\n",
    ],
  };
}

function messagesStream(body: Json): Script {
  const { content, stop_reason, stop_sequence, stop_details, usage, ...head } = body;
  const events: Json[] = [{ type: "message_start", message: { ...head, content: [], usage } }];
  for (const [index, block] of content.entries()) {
    const { citations = [], ...opened } = block;
    events.push({ type: "content_block_start", index, content_block: opened });
    for (const citation of citations ?? [])
      events.push({ type: "content_block_delta", index, delta: { type: "citations_delta", citation } });
    events.push({ type: "content_block_stop", index });
  }
  events.push({ type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage });
  events.push({ type: "message_stop" });
  return { body: events.map((event) => messageEvent(event)).join(""), headers: EVENT_STREAM };
}

const OPEN_BLOCKS: Readonly<Record<string, number>> = { thinking_delta: 1, signature_delta: 1, input_json_delta: 2 };

/** Text, thinking and a call are open when the event comes. */
function messageEventStream(event: Json): Script {
  const begun = { type: "message_start", message: messageJson([], { stop_reason: null, usage: MESSAGE_USAGE }) };
  const blocks = [
    { type: "text", text: "Hello." },
    { type: "thinking", thinking: "So.", signature: "" },
    { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
  ];
  const usage = event.type === "message_start" ? {} : MESSAGE_USAGE;
  const ended = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage };
  const own: Json = { ...event };
  if (event.type === "content_block_delta") own.index = OPEN_BLOCKS[event.delta.type] ?? 0;
  if (event.type === "content_block_start") own.index = 7;
  const events: Json[] = [
    event.type === "message_start" ? merged(begun, own) : begun,
    ...blocks.map((content_block, index) => ({ type: "content_block_start", index, content_block })),
    ...(event.type.startsWith("message_") ? [] : [own]),
    ...(event.type === "content_block_stop" ? [] : [0, 1, 2].map((index) => ({ type: "content_block_stop", index }))),
    event.type === "message_delta" ? merged(ended, own) : ended,
    event.type === "message_stop" ? own : { type: "message_stop" },
  ];
  return { body: events.map((one) => messageEvent(one)).join(""), headers: EVENT_STREAM };
}

function responsesStream(body: Json): Script {
  return framed([
    { type: "response.created", response: { ...body, status: "in_progress", output: [], usage: null } },
    ...body.output.flatMap((item: Json, output_index: number) => [
      {
        type: "response.output_item.added",
        output_index,
        item: item.type === "message" ? { ...item, content: [] } : item,
      },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: body.status === "incomplete" ? "response.incomplete" : "response.completed", response: body },
  ]);
}

const framed = (events: readonly Json[]): Script => ({
  frames: events.map((event, sequence_number) => frameOf({ ...event, sequence_number })),
});

const FAILED_STATES = new Set(["failed", "cancelled"]);
const FAILURES = new Set(["error", "response.failed", "response.cancelled"]);
const CALL = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "weather",
  arguments: "",
};
const THOUGHT = { id: "rs_1", type: "reasoning", summary: [] };

/** A message, reasoning and a call are open when the event comes. */
function responseEventStream(event: Json): Script | undefined {
  if (FAILURES.has(event.type) || FAILED_STATES.has(event.response?.status)) return undefined;
  const items = [{ ...wordsOf(FIRST_TEXT), content: [] }, THOUGHT, CALL];
  const words = { type: "response.output_text.delta", item_id: "msg_up1", output_index: 0, content_index: 0 };
  const own = { ...event, ...positionOf(event) };
  const response = responseJson({ output: [wordsOf(FIRST_TEXT), THOUGHT, CALL], usage: RESPONSE_USAGE });
  const isState = event.response !== undefined;
  const stated = isState ? { ...own, response: merged(response, { ...event.response, error: null }) } : own;
  const isEnd = event.type === "response.completed" || event.type === "response.incomplete";
  return framed([
    { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
    ...items.map((item, output_index) => ({ type: "response.output_item.added", output_index, item })),
    { ...words, delta: "Hello." },
    ...(isEnd ? [] : [stated]),
    ...(event.type === "response.output_item.added" ? [{ ...stated, type: "response.output_item.done" }] : []),
    isEnd ? stated : { type: "response.completed", response },
  ]);
}

function positionOf({ type }: Json): object {
  const at = type.includes("reasoning") ? 1 : type.includes("function_call") ? 2 : type.includes("_item.") ? 7 : 0;
  return { output_index: at, content_index: 0, summary_index: 0, sequence_number: 1 };
}

function converseStream(body: Json): Script {
  const { output, stopReason, ...rest } = body;
  const frames = [eventBytes("messageStart", { role: "assistant" })];
  for (const [contentBlockIndex, block] of output.message.content.entries()) {
    for (const [event, payload] of converseDeltas(block))
      frames.push(eventBytes(event, { contentBlockIndex, ...payload }));
    frames.push(eventBytes("contentBlockStop", { contentBlockIndex }));
  }
  const { additionalModelResponseFields, ...metadata } = rest;
  frames.push(
    eventBytes("messageStop", { stopReason, additionalModelResponseFields }),
    eventBytes("metadata", metadata),
  );
  return { frames, headers: CONVERSE_STREAM };
}

function converseDeltas(block: Json): [string, Record<string, unknown>][] {
  const delta = (value: object): [string, Record<string, unknown>] => ["contentBlockDelta", { delta: value }];
  if (block.toolUse !== undefined) {
    const { input, ...toolUse } = block.toolUse;
    return [["contentBlockStart", { start: { toolUse } }], delta({ toolUse: { input: JSON.stringify(input) } })];
  }
  if (block.reasoningContent?.reasoningText !== undefined) {
    const { text, signature } = block.reasoningContent.reasoningText;
    return [delta({ reasoningContent: { text } }), ...(signature ? [delta({ reasoningContent: { signature } })] : [])];
  }
  if (block.citationsContent !== undefined)
    return [
      ...block.citationsContent.content.map(({ text }: Json) => delta({ text })),
      ...block.citationsContent.citations.map((citation: Json) => delta({ citation })),
    ];
  if (block.text !== undefined || block.reasoningContent !== undefined) return [delta(block)];
  return [["contentBlockStart", { start: block }]];
}

const PARAMETERS = { type: "object", properties: {} };
const CALLS: Readonly<Record<Surface, (model: string, words: string) => readonly [string, JsonObject]>> = {
  chat: (model, content) => [
    "/v1/chat/completions",
    {
      model,
      messages: [{ role: "user", content }],
      tools: [{ type: "function", function: { name: "weather", parameters: PARAMETERS } }],
      stream_options: { include_usage: true },
    },
  ],
  messages: (model, content) => [
    "/v1/messages",
    {
      model,
      max_tokens: 4000,
      messages: [{ role: "user", content }],
      tools: [{ name: "weather", input_schema: PARAMETERS }],
    },
  ],
  responses: (model, input) => [
    "/v1/responses",
    {
      model,
      input,
      store: false,
      tools: [{ type: "function", name: "weather", parameters: PARAMETERS, strict: false }],
      include: ["reasoning.encrypted_content"],
    },
  ],
};

const CONCURRENCY = 12;
/** Errors are no replies, and the scripts place their events themselves. */
const FOREIGN_LEAF = /^(response\.)?error\b|^(sequence_number|output_index|content_index|summary_index|index)$/;
const STREAM_ERROR = /^event: (error|response\.failed)$|^data: \{"error"/m;

describe.each(Object.entries(COLUMNS))("replies of the %s dialect", (name, column) => {
  let scene: Scene;
  let tenant: Tenant;
  const scripts = new Map<string, Script>();
  beforeAll(async () => {
    scene = await openScene([column.provider], column.env ?? {});
    tenant = await scene.gateway.tenant({ credit: "100000" });
    scene.at(column.provider).always(({ raw }) => {
      const [, id = ""] = /case-(\d+)-/.exec(raw.toString("utf8")) ?? [];
      return scripts.get(id) ?? { status: 500 };
    });
  });
  afterAll(() => scene.close());

  async function ask(surface: Surface, isStreamed: boolean, script: Script): Promise<AuditedReply> {
    const id = String(scripts.size);
    scripts.set(id, script);
    const [where, { stream_options, ...body }] = CALLS[surface](column.model, `case-${id}-`);
    const options = isStreamed && stream_options !== undefined ? { stream_options } : {};
    const called = await scene.gateway.call(tenant.key, where, { body: { ...body, stream: isStreamed, ...options } });
    return {
      isVerbatim: surface === column.verbatim,
      status: called.status,
      text: called.text,
      omitted: isStreamed ? omittedIn(called.text) : omittedHeader(called),
    };
  }

  async function auditAll(
    surface: Surface,
    rule: MemberRule,
    cases: readonly ReplyCase[],
    form: Form,
  ): Promise<string> {
    const figures = newFigures();
    // A body in the caller's dialect is relayed: there, what the rules do not list differs from case to case.
    const isRelayed = surface === column.verbatim && !form.isStreamed;
    const pending = [...(isRelayed ? cases : distinctCases(rule, cases))];
    const work = async () => {
      for (let one = pending.shift(); one !== undefined; one = pending.shift()) {
        const script = form.script(one.value);
        if (script === undefined) continue;
        const reply = await ask(surface, form.isStreamed, script);
        const leaves = one.leaves.filter(({ path }) => !FOREIGN_LEAF.test(path));
        if (reply.status === 200 && !STREAM_ERROR.test(reply.text)) audit(rule, { ...one, leaves }, reply, figures);
        else figures.silent.push(`${JSON.stringify(one.value)}: ${reply.status} ${reply.text.slice(0, 200)}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    expect(figures.silent).toEqual([]);
    return `${figures.carried} carried, ${figures.omitted} named, ${figures.exempt} exempt, 0 silent`;
  }

  function bodyScript(value: unknown, write: (body: Json) => Script): Script | undefined {
    const body = column.body(value);
    return body === undefined ? undefined : write(body);
  }

  type Form = { readonly isStreamed: boolean; script(value: unknown): Script | undefined };

  describe.each(column.surfaces)("for a caller of %s", (surface) => {
    test("PARAM-07 HDR-20 every member of a whole reply is carried or named as omitted", async ({ annotate }) => {
      const form: Form = { isStreamed: false, script: (value) => bodyScript(value, (body) => ({ json: body })) };
      await annotate(`${name}, ${surface}, whole: ${await auditAll(surface, column.rule, column.cases(), form)}`);
    }, 300_000);

    test("PARAM-07 HDR-20 every member of a streamed reply is carried or named as omitted", async ({ annotate }) => {
      const form: Form = { isStreamed: true, script: (value) => bodyScript(value, column.streamed) };
      await annotate(`${name}, ${surface}, streamed: ${await auditAll(surface, column.rule, column.cases(), form)}`);
    }, 300_000);

    const { events } = column;
    if (events === undefined) return;
    test("PARAM-07 every member of every stream event is carried or named as omitted", async ({ annotate }) => {
      const form: Form = {
        isStreamed: true,
        script: (value) => (isJsonObject(value) ? events.script(value) : undefined),
      };
      await annotate(`${name}, ${surface}, events: ${await auditAll(surface, events.rule, events.cases(), form)}`);
    }, 300_000);
  });
});

function omittedHeader({ headers }: Called): string[] {
  const value = headers.get("x-svc-omitted");
  return value === null ? [] : value.split(",");
}

function omittedIn(text: string): string[] {
  const data = text.match(/^data: .*$/gm) ?? [];
  return eventsOf(`${data.join("\n\n")}\n\n`).flatMap((one) => {
    const event: Json = one === "[DONE]" ? {} : JSON.parse(one);
    return event.svc_omitted ?? [];
  });
}
