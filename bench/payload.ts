/** Request and response bodies, identical for every candidate except for the model name. */

export const STREAM_FRAMES = 50;

const CREATED = 1_763_164_800;
const WORDS =
  "Sovereign inference keeps prompts inside the region you choose , names the host of every answer and bills each of them once ."
    .split(" ")
    .map((word) => ` ${word}`);

/** A complete response of about 600 bytes, without single quotes and dollar signs because it is part of nginx's configuration. */
export const JSON_ANSWER = JSON.stringify({
  id: "chatcmpl-7d1f0c7e5b0d4f6b9a51c3a0e0d1b2c4",
  object: "chat.completion",
  created: CREATED,
  model: "bench-model",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content:
          "A gateway stands between applications and providers: it checks the key, picks an endpoint, passes the answer on and writes down what it cost.",
        tool_calls: null,
      },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 58,
    completion_tokens: 29,
    total_tokens: 87,
    prompt_tokens_details: { cached_tokens: 0 },
  },
  system_fingerprint: "fp_bench",
});

/** Milliseconds between frames; 0 sends them without a pause. The upstream reads it from the prompt. */
export type Pace = number;

export function requestBody(model: string, stream: { readonly paceMs: Pace } | undefined): string {
  const pace = stream === undefined ? "" : ` pace:${stream.paceMs}`;
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: "You are a helpful assistant. Answer in one short paragraph, in plain English." },
      { role: "user", content: `Explain what an inference gateway does and why a team would run one.${pace}` },
    ],
    temperature: 0.2,
    max_tokens: 256,
    ...(stream === undefined ? {} : { stream: true, stream_options: { include_usage: true } }),
  });
}

export function paceOf(body: string): Pace {
  return Number(/pace:(\d+)/.exec(body)?.[1] ?? 0);
}

/** Also in the form of a gateway that formats bodies itself. */
export function isStreamed(body: string): boolean {
  return /"stream"\s*:\s*true/.test(body);
}

/** One role frame, the text, the finish and the usage: fifty frames, then the end marker. */
export function streamFrames(): readonly string[] {
  const frames = [chunk({ role: "assistant", content: "" }, null)];
  for (let word = 0; frames.length < STREAM_FRAMES - 2; word++) {
    frames.push(chunk({ content: WORDS[word % WORDS.length] ?? "" }, null));
  }
  frames.push(chunk({}, "stop"));
  frames.push(
    frame({
      ...HEAD,
      choices: [],
      usage: {
        prompt_tokens: 58,
        completion_tokens: 47,
        total_tokens: 105,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    }),
  );
  return [...frames, "data: [DONE]\n\n"];
}

/** Events of the messages format in one stream; the client gets one chunk for most of them. */
export const MESSAGE_EVENTS = 50;
/** Start and end of the content block produce no chunk; role and usage are separate chunks. */
export const TRANSLATED_FRAMES = MESSAGE_EVENTS - 2;

/** The same text in the messages format: fifty events, the last is the end marker. */
export function messageFrames(): readonly string[] {
  const usage = { input_tokens: 58, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const message = { id: "msg_bench", type: "message", role: "assistant", model: "bench-model", content: [] };
  const start = { ...message, stop_reason: null, stop_sequence: null, usage };
  const frames = [
    event({ type: "message_start", message: start }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ];
  for (let word = 0; frames.length < MESSAGE_EVENTS - 3; word++) {
    const delta = { type: "text_delta", text: WORDS[word % WORDS.length] ?? "" };
    frames.push(event({ type: "content_block_delta", index: 0, delta }));
  }
  frames.push(event({ type: "content_block_stop", index: 0 }));
  const delta = { stop_reason: "end_turn", stop_sequence: null };
  frames.push(event({ type: "message_delta", delta, usage: { ...usage, output_tokens: 47 } }));
  return [...frames, event({ type: "message_stop" })];
}

function event(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

const HEAD = {
  id: "chatcmpl-7d1f0c7e5b0d4f6b9a51c3a0e0d1b2c4",
  object: "chat.completion.chunk",
  created: CREATED,
  model: "bench-model",
};

function chunk(delta: object, finishReason: string | null): string {
  return frame({ ...HEAD, choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }] });
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
