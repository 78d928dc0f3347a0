/**
 * The streaming upstream process: fifty frames, without pauses or with the pause that the prompt names. A request without `stream`
 * gets the complete reply, for peers with one upstream.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isStreamed, JSON_ANSWER, messageFrames, paceOf, streamFrames } from "./payload.ts";

type Stream = { readonly frames: readonly Buffer[]; readonly last: number };

const CHAT = asStream(streamFrames());
const MESSAGES = asStream(messageFrames());
const BODY_BYTES_MAX = 1_000_000;
let openStreams = 0;
let framesSent = 0;

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("latin1");
  request.on("data", (text: string) => {
    body += text;
    if (body.length > BODY_BYTES_MAX) request.destroy();
  });
  request.on("end", () => {
    const stream = request.url?.endsWith("/messages") === true ? MESSAGES : CHAT;
    if (isStreamed(body)) answer(request, response, paceOf(body), stream);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON_ANSWER);
  });
});

/** Every frame as an encoded chunk of the chunked transfer coding. */
function asStream(texts: readonly string[]): Stream {
  const frames = texts.map((text) => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`));
  return { frames, last: frames.length - 1 };
}

function answer(request: IncomingMessage, response: ServerResponse, paceMs: number, { frames, last }: Stream): void {
  request.socket.setNoDelay(true);
  openStreams++;
  let next = 0;
  response.on("close", () => {
    openStreams--;
    clearInterval(timer);
    // Both processes read the machine's monotonic clock, so times are comparable.
    if (next <= last) process.send?.({ kind: "cancelled", atNs: String(process.hrtime.bigint()) });
  });
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  const timer = setInterval(writeNext, Math.max(1, paceMs));
  // Like real servers, the role and the first token are sent together.
  writeNext();
  writeNext();
  if (paceMs === 0) while (next <= last) writeNext();

  function writeNext(): void {
    send();
    // Like real servers, the end marker follows the usage immediately.
    if (next === last) send();
    if (next <= last) return;
    clearInterval(timer);
    response.end();
  }

  // Written to the socket directly: node:http would merge the frames of one tick into one write.
  function send(): void {
    response.socket?.write(frames[next++] ?? "");
    framesSent++;
  }
}

process.on("message", () => process.send?.({ kind: "counts", openStreams, framesSent }));
process.on("disconnect", () => process.exit(0));
server.keepAliveTimeout = 600_000;
server.listen(Number(process.argv[2]), "127.0.0.1", 4096, () => process.send?.({ kind: "listening" }));
