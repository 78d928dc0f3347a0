import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { FIXTURES } from "./recordings.ts";
import type { Script } from "./upstream.ts";

const side = {
  headers: z.record(z.string(), z.string()),
  bodyText: z.string().optional(),
  bodyJson: z.unknown().optional(),
  bodyBase64: z.string().optional(),
};
const exchangeFile = z.object({
  dialect: z.string(),
  exercises: z.string(),
  interactions: z.array(
    z.object({
      request: z.object({ method: z.string(), url: z.string(), ...side }),
      response: z.object({ status: z.int(), ...side }),
    }),
  ),
});
type Recorded = z.infer<typeof exchangeFile>["interactions"][number];

export type Interaction = {
  readonly method: string;
  readonly url: string;
  /** The recorded request; `json` is undefined when its body is not JSON. */
  readonly request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
    readonly json: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
    /** `parsed`: the origin kept only the parsed JSON, so the order of its keys is not the provider's. */
    readonly fidelity: "bytes" | "parsed";
  };
};

export type Exchange = {
  readonly dialect: string;
  readonly exercises: string;
  readonly interactions: readonly Interaction[];
};

/** A recording by its name, such as `d1-openai-chat/openai-401`. */
export function loadExchange(name: string): Exchange {
  const file = exchangeFile.parse(JSON.parse(readFileSync(path.join(FIXTURES, `${name}.exchange.json`), "utf8")));
  return { dialect: file.dialect, exercises: file.exercises, interactions: file.interactions.map(interaction) };
}

/** A `.chunks.txt` recording, one JSON payload per line, as the bytes of an event stream. */
export function loadChunks(name: string, end: "done_marker" | "no_marker" = "done_marker"): Buffer {
  const lines = readFileSync(path.join(FIXTURES, `${name}.chunks.txt`), "utf8").split("\n");
  const events = lines.filter((line) => line.trim() !== "").map((line) => `data: ${line}\n\n`);
  return Buffer.from(events.join("") + (end === "done_marker" ? "data: [DONE]\n\n" : ""));
}

/** A file of invented bytes, such as `synthetic/openai-midstream-error.sse.txt`. */
export function loadBytes(file: string): Buffer {
  return readFileSync(path.join(FIXTURES, file));
}

/** What belonged to the connection of the recording or was undone in it, and must not be replayed. */
const NOT_REPLAYED = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-fixture-decoded",
]);

/** Replays a recorded answer through a scripted upstream: `upstream.next(scriptOf(interaction))`. */
export function scriptOf(recorded: Interaction, more: Omit<Script, "json" | "body" | "frames"> = {}): Script {
  const headers = Object.entries(recorded.response.headers).filter(([name]) => !NOT_REPLAYED.has(name.toLowerCase()));
  return {
    status: recorded.response.status,
    headers: Object.fromEntries(headers),
    body: recorded.response.body,
    framing: "chunked",
    ...more,
  };
}

function interaction(recorded: Recorded): Interaction {
  const { request, response } = recorded;
  const body = bodyOf(request);
  return {
    method: request.method,
    url: request.url,
    request: { headers: request.headers, body, json: request.bodyJson },
    response: {
      status: response.status,
      headers: response.headers,
      body: bodyOf(response),
      fidelity: response.bodyJson === undefined ? "bytes" : "parsed",
    },
  };
}

function bodyOf(side: Pick<Recorded["request"], "bodyText" | "bodyJson" | "bodyBase64">): Buffer {
  if (side.bodyText !== undefined) return Buffer.from(side.bodyText);
  if (side.bodyBase64 !== undefined) return Buffer.from(side.bodyBase64, "base64");
  return Buffer.from(side.bodyJson === undefined ? "" : JSON.stringify(side.bodyJson));
}
