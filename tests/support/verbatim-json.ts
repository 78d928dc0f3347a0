import fc from "fast-check";
import { encodeEventMessage } from "../../src/kit/aws-event-stream.ts";

/** Unusual JSON texts: spaces, escapes, numbers beyond double precision, keys in any order. */
const space = fc.constantFrom("", " ", "\n", "\t ", "  ");
const number = fc.constantFrom("0", "-0", "1.0", "1e400", "12345678901234567890", "0.1000000000000000055", "-1E-7");
const word = fc.constantFrom(
  '"caf\\u00e9"',
  '"\\/"',
  '"日本語"',
  '"\\ud83d\\ude00"',
  '"a\\nb"',
  '""',
  '"data: [DONE]\\n\\n"',
);

const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    number,
    word,
    fc.constantFrom("null", "true", "false", "{}", "[]"),
    fc
      .tuple(space, fc.array(fc.tuple(space, tie("value"), space), { maxLength: 3 }))
      .map(([inner, items]) => `[${items.map((item) => item.join("")).join(",") || inner}]`),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom("a", "Z", "é", "x-y", "id", "model", "type"), tie("value"), space), {
        maxLength: 4,
        selector: ([key]) => key,
      })
      .map((members) => `{${members.map(([key, value, gap]) => `${gap}"${key}"${gap}:${value}`).join(",")}}`),
  ),
})).value;

/** Unknown members with unknown names. */
export const unknownMembers: fc.Arbitrary<string[]> = fc
  .uniqueArray(fc.tuple(fc.constantFrom("novel", "context_hint", "Ü", "x.y", "zz_1", "a b"), jsonText, space), {
    maxLength: 5,
    selector: ([key]) => key,
  })
  .map((members) => members.map(([key, value, gap]) => `"${key}"${gap}:${gap}${value}${gap}`));

/** One event as in InvokeModel's response stream. */
export function packedEvent(data: string): Buffer {
  return encodeEventMessage(
    { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "abcdefghijkl" }),
  );
}

export type OpenStream = {
  readonly status: number;
  readonly headers: Headers;
  /** Reads until the text contains this. */
  until(part: string): Promise<string>;
  hangUp(): void;
};

/** A streamed message that is read piece by piece. */
export async function openMessage(
  origin: string,
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  const controller = new AbortController();
  const response = await fetch(`${origin}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: controller.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    status: response.status,
    headers: response.headers,
    async until(part) {
      while (!text.includes(part)) {
        const piece = await reader?.read();
        if (piece?.value === undefined) throw new Error(`the stream ended without ${part}: ${text}`);
        text += decoder.decode(piece.value, { stream: true });
      }
      return text;
    },
    hangUp: () => controller.abort(),
  };
}
