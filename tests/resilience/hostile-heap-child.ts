/**
 * Reads one hostile response of each kind as the gateway does, in a process with a small heap, and prints one JSON line for
 * each: how it ended, the most work of an event-loop turn, and the peak of the resident memory so far.
 */
import { LargeResponse, readDocumentInSlices } from "../../src/io/upstream/large-response.ts";
import { ResponseGuard } from "../../src/io/upstream/response-guard.ts";
import { JSON_LIMITS, tryParseDocument } from "../../src/kit/json-document.ts";
import { TEXT_LIMITS } from "../../src/kit/json-size.ts";
import type { BulkValues } from "../../src/kit/json-structure.ts";

const MEBIBYTE = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const TURN = { chars: MEBIBYTE, values: 32_000 };

let most = { chars: 0, values: 0, turns: 0 };
const guard = new ResponseGuard({
  json: JSON_LIMITS,
  text: TEXT_LIMITS,
  turn: TURN,
  memory: { totalBytes: 128 * MEBIBYTE, workspaceBytes: 128 * MEBIBYTE },
  onTurn({ chars, values }) {
    most = { chars: Math.max(most.chars, chars), values: Math.max(most.values, values), turns: most.turns + 1 };
  },
});

const repeated = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length));
const object = (member: string) => `{"id":"c-1",${member},"model":"m"}`;

type Case = { readonly text: () => string; readonly bulk?: BulkValues };
const WHOLE: Readonly<Record<string, Case>> = {
  "15 MB of small members": { text: () => object(`"x":[${repeated('{"a":0},', 15 * MEBIBYTE)}0]`) },
  "54 MB of small members": { text: () => object(`"x":[${repeated('{"a":0},', 54 * MEBIBYTE)}0]`) },
  "members up to the limit": { text: () => object(`"x":[${repeated('{"a":0},', 190_000 * 8)}0]`) },
  "many keys of one object": {
    text: () => object(`"x":{${Array.from({ length: 300_000 }, (_, at) => `"k${at}":0`).join(",")}}`),
  },
  "deep nesting": { text: () => object(`"x":${"[".repeat(15 * MEBIBYTE)}`) },
  "long containers in each other": {
    text: () => object(`"x":${'{"a":'.repeat(100)}[${repeated("[0],", 400_000)}0]${"}".repeat(100)}`),
  },
  "a string of escapes": { text: () => object(`"x":"${repeated("\\u0041", 15 * MEBIBYTE)}"`) },
  "a string beyond the limit": { text: () => object(`"x":"${repeated("x", 54 * MEBIBYTE)}"`) },
  "log-probabilities": {
    text: () => object(`"logprobs":[${repeated('{"token":"a","logprob":-1,"bytes":[97]},', 20 * MEBIBYTE)}{}]`),
    bulk: { members: ["logprobs"] },
  },
  vectors: {
    text: () => object(`"data":[${repeated(`{"embedding":[${repeated("0.25,", 8_000)}1]},`, 20 * MEBIBYTE)}{}]`),
    bulk: "number-lists",
  },
  "one giant vector": { text: () => object(`"data":[${repeated("1,", 20 * MEBIBYTE)}1]`), bulk: "number-lists" },
  "white space": { text: () => object(`"x":${repeated(" ", 4 * MEBIBYTE)}1`) },
  "much white space": { text: () => object(`"x":${repeated(" ", 15 * MEBIBYTE)}1`) },
};

for (const [name, { text, bulk }] of Object.entries(WHOLE)) report(name, await readWhole(Buffer.from(text()), bulk));
report("a stream event", await readFrame(object(`"x":[${repeated('{"a":0},', 15 * MEBIBYTE)}0]`)));
for (const name of ["a model list", "a discovery document", "a webhook"]) {
  const list = tryParseDocument(object(`"data":[${repeated('{"id":"m"},', 500_000)}{}]`));
  const nested = tryParseDocument(object(`"data":${"[".repeat(200)}${"]".repeat(200)}`));
  report(name, list === undefined && nested === undefined ? "rejected" : "read");
}

function report(name: string, end: string): void {
  const rssMb = Math.round(process.resourceUsage().maxRSS / 1024);
  process.stdout.write(`${JSON.stringify({ name, end, ...most, rssMb, heldBytes: guard.memory.usedBytes })}\n`);
  most = { chars: 0, values: 0, turns: 0 };
}

async function readWhole(bytes: Buffer, bulk: BulkValues | undefined): Promise<string> {
  let rejected: string | undefined;
  let onDrained: (() => void) | undefined;
  const lease = guard.memory.open("w");
  const response = new LargeResponse({
    guard,
    workspaceId: "w",
    lease,
    form: { bulk },
    onRejected: ({ why }) => {
      rejected = why;
      onDrained?.();
    },
    onDrained: () => onDrained?.(),
  });
  for (let at = 0; at < bytes.length && rejected === undefined; at += CHUNK_BYTES) {
    const drained = new Promise<void>((resolve) => {
      onDrained = resolve;
    });
    if (response.push(bytes.subarray(at, at + CHUNK_BYTES)) === "pause") await drained;
  }
  const document = await response.finish();
  lease.release();
  return rejected ?? (document?.value === undefined ? "unread" : "read");
}

async function readFrame(text: string): Promise<string> {
  const lease = guard.memory.open("w");
  const document = await readDocumentInSlices(text, { guard, workspaceId: "w", lease, form: {} });
  lease.release();
  return "is" in document ? document.why : "read";
}
