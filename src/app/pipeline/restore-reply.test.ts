import { existsSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callOf } from "../../../tests/support/messages.ts";
import { streamingAdapter } from "../../../tests/support/restored-streams.ts";
import { Restorer } from "../../domain/data-classes/restore.ts";
import { EventLoopTurns, type TurnWork } from "../../kit/event-loop-turns.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { ReplyStream } from "../../language/canon/reply.ts";
import type { ReplyEvent } from "../../language/canon/reply-events.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { chatClient } from "../../language/dialects/chat/client/dialect.ts";
import type { ClientDialect } from "../../language/dialects/client-dialect.ts";
import { messagesClient } from "../../language/dialects/messages/client/dialect.ts";
import { responsesClient } from "../../language/dialects/responses/client/dialect.ts";
import { restoredDecoding } from "./restore-reply.ts";
import { restoredJson, restoredJsonInSlices } from "./restore-value.ts";

const STAND_IN = "kimo7r@example.com";
const ORIGINAL = "jane.doe@mail.example.eu";
const restorer = new Restorer(new Map([[STAND_IN, ORIGINAL]]));
const TEXT = `To ${STAND_IN}, ${STAND_IN}: "hello"`;
const RESTORED = TEXT.replaceAll(STAND_IN, ORIGINAL);

/** The events of a stream after restoration. */
function streamed(events: readonly (JsonObject | "[DONE]")[], last = ""): JsonObject[] {
  const inner: Partial<ReplyStream> = {
    read: ({ data }) => ({ is: "content", text: data }),
    close: () => last,
    finalJson: JSON.stringify({ text: TEXT }),
  };
  const stream = restoredDecoding(streamingAdapter(inner), restorer, "chat").openReplyStream();
  let text = "";
  for (const event of events) {
    const name = event === "[DONE]" || event["type"] === undefined ? "" : `event: ${String(event["type"])}\n`;
    const data = `${name}data: ${event === "[DONE]" ? event : JSON.stringify(event)}\n\n`;
    const piece = stream.read({ event: null, data });
    text += "text" in piece ? piece.text : "";
  }
  text += stream.close(NO_TOKENS, undefined);
  expect(stream.finalJson).toBe(JSON.stringify({ text: RESTORED }));
  const blocks = text.split("\n\n").filter((block) => block.includes("data: {"));
  return blocks.map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)) as JsonObject);
}

const cut = (text: string, cuts: readonly number[]) => {
  const places = [0, ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((to, at) => text.slice(places[at], to));
};
const cuts = fc.array(fc.nat(80), { maxLength: 10 });

test("CLASS-03 a chat stream is restored at any cut, each choice by itself, before its finish reason", () => {
  fc.assert(
    fc.property(cuts, cuts, (one, other) => {
      const choice = (index: number, delta: object, finish_reason: string | null = null) => ({
        id: "c",
        choices: [{ index, delta, finish_reason }],
      });
      const [first, second] = [cut(TEXT, one), cut(TEXT, other)];
      const events = Array.from({ length: Math.max(first.length, second.length) }, (_, at) => [
        ...(first[at] === undefined ? [] : [choice(0, { content: first[at] })]),
        ...(second[at] === undefined ? [] : [choice(1, { content: second[at] })]),
      ]).flat();
      const out = streamed([...events, choice(0, {}, "stop"), choice(1, {}, "stop"), "[DONE]"]);
      for (const index of [0, 1]) {
        const own = out.flatMap(({ choices }) => (choices as JsonObject[]).filter((of) => of["index"] === index));
        const content = (of: JsonObject) => (of["delta"] as { content?: string }).content ?? "";
        expect(own.map(content).join("")).toBe(RESTORED);
        expect(content(own.at(-1) ?? {})).toBe("");
        expect(own.at(-1)?.["finish_reason"]).toBe("stop");
      }
    }),
  );
});

test("CLASS-03 transcripts of a voice and citations in a chat stream are restored at any cut", () => {
  fc.assert(
    fc.property(cuts, (at) => {
      const end = TEXT.indexOf(":");
      const url_citation = { url: "u", start_index: end - STAND_IN.length, end_index: end };
      const chunk = (delta: object) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] });
      const out = streamed([
        ...cut(TEXT, at).flatMap((text) => [
          chunk({ content: text }),
          chunk({ audio: { transcript: text, data: "AA" } }),
        ]),
        chunk({ annotations: [{ type: "url_citation", url_citation }] }),
        { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      ]);
      const deltas = out.flatMap(({ choices }) => (choices as { delta: JsonObject }[]).map(({ delta }) => delta));
      const spoken = deltas.map(({ audio }) => (audio as { transcript?: string } | undefined)?.transcript ?? "");
      expect(spoken.join("")).toBe(RESTORED);
      const content = deltas.map((delta) => delta["content"] ?? "").join("");
      expect(content).toBe(RESTORED);
      const [citation] = deltas.flatMap(
        (delta) => (delta["annotations"] ?? []) as { url_citation: typeof url_citation }[],
      );
      const { start_index: from, end_index: to } = citation?.url_citation ?? { start_index: 0, end_index: 0 };
      expect(content.slice(from, to)).toBe(ORIGINAL);
    }),
    { numRuns: 50 },
  );
});

test("CLASS-03 blocks of a messages stream are restored at any cut, pings in between; signed thinking stays", () => {
  fc.assert(
    fc.property(cuts, (at) => {
      const delta = (index: number, own: object) => ({ type: "content_block_delta", index, delta: own });
      const json = JSON.stringify({ to: STAND_IN, text: TEXT });
      const out = streamed([
        delta(0, { type: "thinking_delta", thinking: TEXT }),
        delta(0, { type: "signature_delta", signature: STAND_IN }),
        { type: "content_block_stop", index: 0 },
        ...cut(TEXT, at).flatMap((text) => [delta(1, { type: "text_delta", text }), { type: "ping" }]),
        { type: "content_block_stop", index: 1 },
        ...cut(json, at).map((text) => delta(2, { type: "input_json_delta", partial_json: text })),
        { type: "content_block_stop", index: 2 },
      ]);
      const join = (name: string) =>
        out.map(({ delta: own }) => ((own ?? {}) as Record<string, string>)[name] ?? "").join("");
      expect(join("text")).toBe(RESTORED);
      expect(JSON.parse(join("partial_json"))).toEqual({ to: ORIGINAL, text: RESTORED });
      expect([join("thinking"), join("signature")]).toEqual([TEXT, STAND_IN]);
      const stops = out.filter(({ type }) => type === "content_block_stop").map(({ index }) => index);
      expect(stops).toEqual([0, 1, 2]);
      expect(out.at(-1)?.["type"]).toBe("content_block_stop");
    }),
  );
});

test("CLASS-03 a responses stream is restored at any cut, with rising numbers and citations that still fit", () => {
  fc.assert(
    fc.property(cuts, (at) => {
      const place = { output_index: 0, content_index: 0 };
      const end = TEXT.indexOf(":");
      const annotation = { type: "url_citation", start_index: end - STAND_IN.length, end_index: end };
      const events = [
        ...cut(TEXT, at).map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
        { type: "response.output_text.annotation.added", ...place, annotation },
        { type: "response.output_text.done", ...place, text: TEXT, annotations: [annotation] },
      ];
      const out = streamed(events.map((event, number) => ({ ...event, sequence_number: number })));
      expect(out.map(({ delta }) => delta ?? "").join("")).toBe(RESTORED);
      expect(out.map((event) => event["sequence_number"])).toEqual(out.map((_, number) => number));
      const moved = RESTORED.indexOf(":");
      const cited = { type: "url_citation", start_index: moved - ORIGINAL.length, end_index: moved };
      const [added, done] = out.slice(-2);
      expect([added?.["annotation"], done]).toMatchObject([cited, { text: RESTORED, annotations: [cited] }]);
    }),
  );
});

test("CLASS-03 a whole reply is restored in every string but signed reasoning, and stays untouched without stand-ins", () => {
  const reply = {
    content: [
      { type: "thinking", thinking: TEXT, signature: "s" },
      { type: "text", text: TEXT },
      { type: "tool_use", input: { [STAND_IN]: STAND_IN, n: 1 } },
    ],
    call: { arguments: `{"to": "kimo7r\\u0040example.com"}` },
  };
  expect(JSON.parse(restoredJson(JSON.stringify(reply), restorer))).toEqual({
    content: [
      { type: "thinking", thinking: TEXT, signature: "s" },
      { type: "text", text: RESTORED },
      { type: "tool_use", input: { [ORIGINAL]: ORIGINAL, n: 1 } },
    ],
    call: { arguments: `{"to": "${ORIGINAL}"}` },
  });
  const untouched = '{ "n": 1.0, "big": 12345678901234567890, "a": "\\u0041" }';
  expect(restoredJson(untouched, restorer)).toBe(untouched);
});

/** Every dialect of callers, but those with a file of their own, `restore-<dialect>.test.ts`: a new one has to be restored too. */
const CLIENTS: Readonly<Record<string, ClientDialect>> = {
  chat: chatClient,
  messages: messagesClient,
  responses: responsesClient({}),
};

test("CLASS-03 the streams and replies of every dialect of callers are restored, text and arguments, cut anywhere", () => {
  const folder = new URL("../../language/dialects/", import.meta.url);
  const isHere = (name: string) => !existsSync(new URL(`./restore-${name}.test.ts`, import.meta.url));
  const withClients = readdirSync(folder).filter(
    (name) => existsSync(new URL(`${name}/client/dialect.ts`, folder)) && isHere(name),
  );
  expect(Object.keys(CLIENTS)).toEqual(withClients.toSorted());
  const head = { id: "r1", createdSeconds: 0, model: "m", inputTokens: 1 };
  const finish = { is: "finish", reason: "tool_calls" } as const;
  const events: ReplyEvent[] = [
    { is: "begin", upstreamId: null },
    ...[...TEXT].map((text): ReplyEvent => ({ is: "text", text })),
    { is: "tool_call", index: 0, id: "c1", name: "mail", signature: null },
    ...[...'{"to":"kimo7r\\u0040example.com"}'].map((text): ReplyEvent => ({ is: "tool_arguments", index: 0, text })),
    finish,
  ];
  for (const [name, client] of Object.entries(CLIENTS)) {
    const writer = client.openWriter(head, callOf({}));
    const inner: Partial<ReplyStream> = {
      read: ({ data }) => ({ is: "content", text: writer.write(JSON.parse(data) as ReplyEvent) }),
      close: (usage, cost) => writer.close({ finish, usage, cost }),
    };
    const stream = restoredDecoding(streamingAdapter(inner), restorer, "chat").openReplyStream();
    const read = (event: ReplyEvent) => {
      const piece = stream.read({ event: null, data: JSON.stringify(event) });
      return "text" in piece ? piece.text : "";
    };
    const shown = events.map(read).join("") + stream.close(NO_TOKENS, undefined);
    const whole = restoredJson(client.render(events, head, callOf({}), NO_TOKENS, undefined), restorer);
    for (const text of [shown, whole]) {
      expect(text, name).not.toContain(STAND_IN);
      expect(text.split(ORIGINAL).length - 1, name).toBeGreaterThanOrEqual(3);
    }
  }
});

const TURN: TurnWork = { chars: 262_144, values: 8_000 };

async function restoredInSlices(text: string) {
  const turns: TurnWork[] = [];
  const work = new EventLoopTurns(TURN, (turn) => turns.push(turn)).begin("w");
  return { text: await restoredJsonInSlices(text, restorer, work), turns };
}

test("CLASS-03 SAFE-01 a long reply is restored as a short one is, wherever its texts are cut into pieces", async () => {
  const words = fc.constantFrom(STAND_IN, "a word, ", "\n", '{"a":"', '"}', "\\", "\u{1f600}", "é");
  const longText = fc.tuple(fc.array(words, { maxLength: 5 }), fc.nat(200)).map(([all, n]) => all.join("").repeat(n));
  const members = fc.dictionary(fc.constantFrom("arguments", "text", "type", STAND_IN, "signature"), longText);
  const list = fc.array(fc.oneof(members, longText, fc.constantFrom<unknown>(1.5, 1e30, null)), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.record({ text: longText, items: list }), async ({ text, items }) => {
      const at = text.indexOf(STAND_IN);
      const annotations = [{ start_index: 0, end_index: at }, { url: { start_index: text.length, end_index: 5 } }];
      const reply = JSON.stringify({ id: "r", text, annotations, items }, undefined, 1);
      expect((await restoredInSlices(reply)).text).toBe(restoredJson(reply, restorer));
    }),
    { numRuns: 60 },
  );
  expect((await restoredInSlices(`no JSON: ${TEXT.repeat(500)}`)).text).toBe(`no JSON: ${RESTORED.repeat(500)}`);
});

test("CLASS-03 SAFE-01 no event-loop turn restores more of a long reply than its limit", async () => {
  const items = Array.from({ length: 20_000 }, () => ({ a: STAND_IN }));
  const { text, turns } = await restoredInSlices(JSON.stringify({ text: TEXT.repeat(20_000), items }));
  expect(text).toBe(JSON.stringify({ text: RESTORED.repeat(20_000), items: items.map(() => ({ a: ORIGINAL })) }));
  expect(Math.max(...turns.map(({ chars }) => chars))).toBeLessThanOrEqual(TURN.chars);
  expect(Math.max(...turns.map(({ values }) => values))).toBeLessThanOrEqual(TURN.values);
  // A character costs four times more to restore than to read.
  const chars = turns.reduce((sum, turn) => sum + turn.chars, 0);
  expect(chars).toBeGreaterThan(4 * text.length);
});

test("CLASS-03 SAFE-01 a stream event beyond its limit is restored in slices, and a long text goes on behind it", async () => {
  const turns: TurnWork[] = [];
  const work = new EventLoopTurns(TURN, (turn) => turns.push(turn)).begin("w");
  const inner: Partial<ReplyStream> = { read: ({ data }) => ({ is: "content", text: data }), close: () => "" };
  const stream = restoredDecoding(streamingAdapter(inner), restorer, "chat").openReplyStream();
  const event = (content: string) =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const long = TEXT.repeat(20_000) + STAND_IN.slice(0, 5);
  const first = await stream.readInSlices?.({ event: null, data: event(long) }, work);
  const second = stream.read({ event: null, data: event(`${STAND_IN.slice(5)} `) });
  const last = stream.close(NO_TOKENS, undefined);
  const text =
    [first, second].map((piece) => (piece !== undefined && "text" in piece ? piece.text : "")).join("") + last;
  const contents = text.split("\n\n").flatMap((block) => (block === "" ? [] : [JSON.parse(block.slice(6))]));
  const content = contents.map(({ choices }) => choices[0].delta.content).join("");
  expect(content).toBe(`${RESTORED.repeat(20_000)}${ORIGINAL} `);
  expect(turns.length).toBeGreaterThan(5);
  expect(Math.max(...turns.map(({ chars }) => chars))).toBeLessThanOrEqual(TURN.chars);
});
