import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { InjectedFault } from "./fault-injection.ts";
import type { ResponsePace } from "./provider-profiles.ts";
import type { SimulatedResponse } from "./wire-format.ts";

const WEB_PAGE = `<!doctype html>
<html><head><title>Welcome</title></head><body><h1>It works!</h1><p>A page where an answer should be.</p></body></html>
`;

type ResponseHeaders = Readonly<Record<string, string>>;

/** Puts an answer on the wire at a provider's pace, and breaks it where a mishap says so. */
export async function sendResponse(
  response: ServerResponse,
  headers: ResponseHeaders,
  delivery: SimulatedResponse,
  defaultPace: ResponsePace,
  mishap: InjectedFault | undefined,
): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  const pace = mishap?.is === "slow" ? mishap.pace : defaultPace;
  const isCutShort = mishap?.is === "cut" || (delivery.is === "frames" && delivery.isCutShort === true);
  const kind = isCutShort ? "half" : "all";
  try {
    await sleep(pace.firstTokenMs, undefined, { signal: disconnected.signal });
    if (mishap?.is === "garbage") {
      response.writeHead(200, { ...headers, "content-type": "text/html; charset=utf-8" });
      response.end(WEB_PAGE);
    } else if (delivery.is === "body") await sendBody(response, headers, delivery, pace, kind, disconnected.signal);
    else await sendFrames(response, headers, delivery, pace, kind, disconnected.signal);
  } catch (error) {
    // The caller hung up: there is nobody left to answer.
    if (!disconnected.signal.aborted) throw error;
  }
}

async function sendBody(
  response: ServerResponse,
  headers: ResponseHeaders,
  delivery: Extract<SimulatedResponse, { is: "body" }>,
  pace: ResponsePace,
  kind: "all" | "half",
  gone: AbortSignal,
): Promise<void> {
  const body = Buffer.from(delivery.body);
  await sleep(Math.min(delivery.tokens * pace.betweenTokensMs, pace.bodyMsMax), undefined, { signal: gone });
  response.writeHead(200, {
    ...headers,
    "content-type": delivery.contentType,
    "content-length": String(body.length),
  });
  if (kind === "all") response.end(body);
  else response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

async function sendFrames(
  response: ServerResponse,
  headers: ResponseHeaders,
  delivery: Extract<SimulatedResponse, { is: "frames" }>,
  pace: ResponsePace,
  kind: "all" | "half",
  gone: AbortSignal,
): Promise<void> {
  response.writeHead(200, { ...headers, "content-type": delivery.contentType, "cache-control": "no-cache" });
  const { frames } = delivery;
  const kept = kind === "all" ? frames : frames.slice(0, Math.max(2, frames.length >> 1));
  for (const frame of kept) {
    if (!response.write(frame)) await once(response, "drain", { signal: gone });
    await sleep(pace.betweenTokensMs, undefined, { signal: gone });
  }
  if (kind === "all") response.end();
  else response.destroy();
}
