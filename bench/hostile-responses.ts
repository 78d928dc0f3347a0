/** The hostile responses of `npm run bench -- --hostile`: valid JSON that is expensive to read. */
export const HOSTILE_KINDS = [
  "many members",
  "deep nesting",
  "giant string",
  "log-probabilities",
  "stream events",
] as const;
export type HostileKind = (typeof HOSTILE_KINDS)[number];

const MEBIBYTE = 1024 * 1024;
const BYTES = 15 * MEBIBYTE;

const chatWith = (member: string, choice = "") =>
  `{"id":"c-1","object":"chat.completion","created":1,"model":"m",${member},"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},${choice}"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`;

const repeated = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length));

export function hostileResponse(kind: HostileKind): Buffer {
  return Buffer.from(TEXTS[kind]());
}

const TEXTS: Readonly<Record<HostileKind, () => string>> = {
  "many members": () => chatWith(`"x":[${repeated('{"a":0},', BYTES)}0]`),
  "deep nesting": () => chatWith(`"x":${"[".repeat(BYTES / 2)}${"]".repeat(BYTES / 2)}`),
  "giant string": () => chatWith(`"x":"${repeated("\\u0041", BYTES)}"`),
  "log-probabilities": () =>
    chatWith('"x":0', `"logprobs":{"content":[${repeated('{"token":"a","logprob":-1,"bytes":[97]},', BYTES)}{}]},`),
  "stream events": () =>
    `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","x":[${repeated('{"a":0},', BYTES)}0],"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\ndata: [DONE]\n\n`,
};
