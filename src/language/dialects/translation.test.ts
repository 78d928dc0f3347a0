import { expect, test } from "vitest";
import { CHAT_CALL, usable } from "../../../tests/support/chat.ts";
import { eventsOf } from "../../../tests/support/scene.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import { NO_TOKENS } from "../canon/usage.ts";
import { chatClient } from "./chat/client/dialect.ts";
import { messagesClient } from "./messages/client/dialect.ts";
import { responsesClient } from "./responses/client/dialect.ts";
import { TranslatedStream, translatedReply } from "./translation.ts";

const HEAD = { id: "own", createdSeconds: 1, model: "a/b", inputTokens: 1 };
const CLIENTS = [
  ["chat", chatClient, ({ choices }: Frame) => choices?.[0]?.finish_reason === "stop"],
  ["messages", messagesClient, ({ type }: Frame) => type === "message_delta"],
  ["responses", responsesClient({}, "hidden"), ({ type }: Frame) => type === "response.completed"],
] as const;

type Frame = {
  readonly type?: string;
  readonly choices?: readonly { readonly finish_reason?: string }[];
  readonly svc_omitted?: readonly string[];
};

const TEXT: ReplyEvent = { is: "text", text: "Hello." };
const END: readonly ReplyEvent[] = [{ is: "finish", reason: "stop" }, { is: "end" }];
const OMITTED: readonly ReplyEvent[] = [
  { is: "omitted", path: "content.0.executableCode" },
  TEXT,
  { is: "omitted", path: "content.3.executableCode" },
  { is: "omitted", path: "grounding" },
];

function framesOf(events: readonly ReplyEvent[], client: (typeof CLIENTS)[number][1]) {
  const stream = new TranslatedStream({ read: () => events }, client.openWriter(HEAD, CHAT_CALL));
  const piece = stream.read({ event: null, data: "" });
  const text = ("text" in piece ? piece.text : "") + stream.close(NO_TOKENS, undefined);
  const data = text.match(/^data: .*$/gm) ?? [];
  const frames = eventsOf(`${data.join("\n\n")}\n\n`)
    .filter((one) => one !== "[DONE]")
    .map((one): Frame => JSON.parse(one));
  return { stream, frames };
}

test.each(CLIENTS)(
  "PARAM-07 a %s stream lists what it omitted of the reply once, on its last event",
  (_, client, isLast) => {
    const { stream, frames } = framesOf([...OMITTED, ...END], client);
    const reported = frames.filter((frame) => frame.svc_omitted !== undefined);
    expect(reported.map((frame) => frame.svc_omitted)).toEqual([["content[].executableCode", "grounding"]]);
    expect(reported.every(isLast)).toBe(true);
    expect(stream.omitted).toEqual(["content.0.executableCode", "content.3.executableCode", "grounding"]);
  },
);

test.each(CLIENTS)("HDR-20 PARAM-07 a %s stream that carries everything has no list", (_, client) => {
  const { stream, frames } = framesOf([TEXT, ...END], client);
  expect(frames.some((frame) => "svc_omitted" in frame)).toBe(false);
  expect(stream.omitted).toBeUndefined();
});

test.each(CLIENTS)("PARAM-07 a whole %s reply hands what it omitted to the header", (_, client) => {
  const reply = usable(translatedReply([...OMITTED, ...END], client, HEAD, CHAT_CALL));
  expect(reply.omitted).toHaveLength(3);
  expect(reply.render(NO_TOKENS, undefined)).not.toContain("omitted");
});

test("PARAM-07 a path that a stream repeats in every frame is collected once, and the number is bounded", () => {
  const repeated: ReplyEvent[] = Array.from({ length: 1000 }, () => ({ is: "omitted", path: "extra" }));
  const many: ReplyEvent[] = Array.from({ length: 1000 }, (_, at) => ({ is: "omitted", path: `extra${at}` }));
  const { stream } = framesOf([TEXT, ...repeated, ...many, ...END], chatClient);
  expect(stream.omitted?.length).toBe(100);
});
