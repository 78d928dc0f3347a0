import fc from "fast-check";
import { expect, test } from "vitest";
import { streamingAdapter } from "../../../tests/support/restored-streams.ts";
import { Restorer } from "../../domain/data-classes/restore.ts";
import type { JsonObject } from "../../kit/json.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { CONTENT_TYPES, type StreamFraming } from "../../language/dialects/gemini/framing.ts";
import { PassthroughGeminiStream } from "../../language/dialects/gemini/passthrough/stream.ts";
import { restoredDecoding } from "./restore-reply.ts";
import { restoredJson } from "./restore-value.ts";

type Part = { readonly text?: string; readonly thought?: true; readonly functionCall?: { readonly args?: JsonObject } };
type Candidate = JsonObject & {
  readonly content?: { readonly parts: readonly Part[]; readonly role?: string };
  readonly index?: number;
};
type Answer = JsonObject & { readonly candidates?: readonly Candidate[] };

const STAND_IN = "kimo7r@example.com";
const ORIGINAL = "jane.doe@mail.example.eu";
const restorer = new Restorer(new Map([[STAND_IN, ORIGINAL]]));
const TEXT = `Für ${STAND_IN}, ${STAND_IN}: "hello"`;
const RESTORED = TEXT.replaceAll(STAND_IN, ORIGINAL);
const FRAMINGS = ["sse", "array"] as const;

const answer = (parts: readonly unknown[], more: object = {}): Answer => ({
  candidates: [{ content: { parts: parts as Part[], role: "model" }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
});

function restoredStream(framing: StreamFraming) {
  const openReplyStream = () => new PassthroughGeminiStream("req_1", framing);
  const adapter = { ...streamingAdapter({}, CONTENT_TYPES[framing]), openReplyStream };
  return restoredDecoding(adapter, restorer, "gemini").openReplyStream();
}

/** What a client reads. */
function readAll(framing: StreamFraming, text: string): Answer[] {
  if (framing === "array") return JSON.parse(text) as Answer[];
  const events = text.split("\r\n\r\n").filter((event) => event !== "");
  return events.map((event) => JSON.parse(event.replace(/^data: /, "")) as Answer);
}

function streamed(framing: StreamFraming, answers: readonly Answer[]): Answer[] {
  const stream = restoredStream(framing);
  let text = "";
  for (const one of answers) {
    const piece = stream.read({ event: null, data: JSON.stringify(one) });
    text += "text" in piece ? piece.text : "";
  }
  return readAll(framing, text + stream.close(NO_TOKENS, undefined));
}

const cut = (text: string, cuts: readonly number[]) => {
  const places = [0, ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((to, at) => text.slice(places[at], to));
};
const cuts = fc.array(fc.nat(80), { maxLength: 10 });
const partsIn = (answers: readonly Answer[]) =>
  answers.flatMap(({ candidates = [] }) => candidates.flatMap(({ content }) => content?.parts ?? []));
const textIn = (answers: readonly Answer[], isThought: boolean) =>
  partsIn(answers)
    .filter(({ thought }) => (thought === true) === isThought)
    .map(({ text = "" }) => text)
    .join("");

test.each(FRAMINGS)(
  "CLASS-03 a Gemini stream as %s is restored at any cut, thoughts and text by themselves",
  (framing) => {
    fc.assert(
      fc.property(cuts, cuts, fc.boolean(), (one, other, isLastEmpty) => {
        const pieces = cut(TEXT, other);
        const last = isLastEmpty ? "" : (pieces.pop() ?? "");
        const out = streamed(framing, [
          ...cut(TEXT, one).map((text) => answer([{ text, thought: true }])),
          ...pieces.map((text) => answer([{ text }])),
          answer([{ text: last, thoughtSignature: STAND_IN }], { finishReason: "STOP" }),
        ]);
        expect([textIn(out, true), textIn(out, false)]).toEqual([RESTORED, RESTORED]);
        const end = out.at(-1)?.candidates?.[0];
        expect(end).toMatchObject({ finishReason: "STOP", content: { parts: [{ thoughtSignature: STAND_IN }] } });
        expect(out.filter(({ candidates }) => candidates?.[0]?.["finishReason"] !== undefined)).toHaveLength(1);
      }),
    );
  },
);

test.each(FRAMINGS)(
  "CLASS-03 arguments of function calls in a Gemini stream as %s are restored, whole and in pieces",
  (framing) => {
    const args = { to: STAND_IN, cc: [{ [STAND_IN]: TEXT }] };
    fc.assert(
      fc.property(cuts, cuts, (one, other) => {
        const partial = (stringValue: string) => ({
          functionCall: { name: "f", partialArgs: [{ jsonPath: "$.to", stringValue }], willContinue: true },
        });
        const out = streamed(framing, [
          ...cut(TEXT, one).map((text) => answer([{ text }])),
          answer([{ functionCall: { name: "mail", args } }, { text: STAND_IN.slice(0, 4) }]),
          ...cut(TEXT, other).map((text) => answer([partial(text)])),
          answer([{ functionCall: {} }]),
          answer([], { finishReason: "STOP" }),
        ]);
        expect(textIn(out, false)).toBe(RESTORED + STAND_IN.slice(0, 4));
        const calls = partsIn(out).flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
        expect(calls[0]?.args).toEqual({ to: ORIGINAL, cc: [{ [ORIGINAL]: RESTORED }] });
        const pieces = calls.flatMap((call) => (call as { partialArgs?: { stringValue: string }[] }).partialArgs ?? []);
        expect(pieces.map(({ stringValue }) => stringValue).join("")).toBe(RESTORED);
      }),
    );
  },
);

test.each(FRAMINGS)(
  "CLASS-03 offsets of sources in a Gemini reply as %s fit the restored text, in bytes",
  (framing) => {
    const bytesTo = (text: string, sign: string) => Buffer.byteLength(text.slice(0, text.indexOf(sign)));
    const supports = (text: string) => ({
      groundingMetadata: {
        groundingSupports: [{ segment: { endIndex: bytesTo(text, ":") } }],
        webSearchQueries: [text],
      },
      citationMetadata: {
        citationSources: [{ startIndex: bytesTo(text, "hello"), endIndex: Buffer.byteLength(text) }],
      },
    });
    const whole = JSON.parse(
      restoredJson(JSON.stringify(answer([{ text: TEXT }], supports(TEXT))), restorer),
    ) as Answer;
    expect(whole.candidates?.[0]).toMatchObject({ ...supports(RESTORED), content: { parts: [{ text: RESTORED }] } });
    for (const at of [1, 10, 20, 30]) {
      const [first = "", second = ""] = cut(TEXT, [at]);
      const end = answer([{ text: second }], { ...supports(TEXT), finishReason: "STOP" });
      const out = streamed(framing, [answer([{ text: first }]), end]);
      expect(textIn(out, false)).toBe(RESTORED);
      expect(out.at(-1)?.candidates?.[0]).toMatchObject(supports(RESTORED));
    }
  },
);

test.each(FRAMINGS)(
  "CLASS-03 what a Gemini stream as %s holds is sent before its error, and the error is read",
  (framing) => {
    const stream = restoredStream(framing);
    const held = `to ${STAND_IN.slice(0, 5)}`;
    const piece = stream.read({ event: null, data: JSON.stringify(answer([{ text: held }])) });
    const failed = stream.fail({
      error: { message: "m", type: "t", code: "internal_error", request_id: "r" },
    } as never);
    expect(stream.cutsWhenFailed).toBe(framing === "sse");
    const out = readAll(framing, ("text" in piece ? piece.text : "") + failed);
    expect(textIn(out, false)).toBe(held);
    expect(out.at(-1)).toHaveProperty("error.status", "INTERNAL");
  },
);

test("CLASS-03 several answers in one piece of an array, and an array without any, stay one array", () => {
  const inner = { read: () => ({ is: "content" as const, text: `[${JSON.stringify(answer([{ text: TEXT }]))}` }) };
  const close = () => `,\r\n{},\r\n${JSON.stringify(answer([{ text: TEXT }]))}\n]`;
  const adapter = streamingAdapter({ ...inner, close }, CONTENT_TYPES.array);
  const stream = restoredDecoding(adapter, restorer, "gemini").openReplyStream();
  const piece = stream.read({ event: null, data: "" });
  const text = ("text" in piece ? piece.text : "") + stream.close(NO_TOKENS, undefined);
  expect(textIn(readAll("array", text), false)).toBe(RESTORED + RESTORED);
  expect(restoredStream("array").close(NO_TOKENS, undefined)).toBe("[]");
});
