import fc from "fast-check";
import { expect, test } from "vitest";
import { Restorer } from "../../domain/data-classes/restore.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { ReplyStream } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { restoredJson, withRestoration } from "./restore-reply.ts";

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
  const adapter = { openReplyStream: () => inner } as unknown as UpstreamAdapter;
  const stream = withRestoration(adapter, restorer, "chat").openReplyStream();
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
