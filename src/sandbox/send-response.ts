import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { InjectedFault } from "./fault-injection.ts";
import type { ResponsePace } from "./provider-profiles.ts";
import type { SimulatedResponse } from "./wire-format.ts";

const WEB_PAGE = `<!doctype html>
<html><head><title>Welcome</title></head><body><h1>It works!</h1><p>A page instead of a response.</p></body></html>
`;

type SimulatedHeaders = Readonly<Record<string, string>>;

/** Sends a response at the provider's pace and applies an injected fault. */
export async function sendResponse(
  response: ServerResponse,
  headers: SimulatedHeaders,
  simulated: SimulatedResponse,
  defaultPace: ResponsePace,
  fault: InjectedFault | undefined,
): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  const pace = fault?.is === "slow" ? fault.pace : defaultPace;
  const isCutShort = fault?.is === "cut" || (simulated.is === "frames" && simulated.isCutShort === true);
  const kind = isCutShort ? "half" : "all";
  try {
    await sleep(pace.firstTokenMs, undefined, { signal: disconnected.signal });
    if (fault?.is === "garbage") {
      response.writeHead(200, { ...headers, "content-type": "text/html; charset=utf-8" });
      response.end(WEB_PAGE);
    } else if (simulated.is === "body") await sendBody(response, headers, simulated, pace, kind, disconnected.signal);
    else await sendFrames(response, headers, simulated, pace, kind, disconnected.signal);
  } catch (error) {
    // The client disconnected, which is not an error.
    if (!disconnected.signal.aborted) throw error;
  }
}

async function sendBody(
  response: ServerResponse,
  headers: SimulatedHeaders,
  simulated: Extract<SimulatedResponse, { is: "body" }>,
  pace: ResponsePace,
  kind: "all" | "half",
  disconnected: AbortSignal,
): Promise<void> {
  const body = Buffer.from(simulated.body);
  await sleep(Math.min(simulated.tokens * pace.betweenTokensMs, pace.bodyMsMax), undefined, { signal: disconnected });
  response.writeHead(200, {
    ...headers,
    "content-type": simulated.contentType,
    "content-length": String(body.length),
  });
  if (kind === "all") response.end(body);
  else response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

async function sendFrames(
  response: ServerResponse,
  headers: SimulatedHeaders,
  simulated: Extract<SimulatedResponse, { is: "frames" }>,
  pace: ResponsePace,
  kind: "all" | "half",
  disconnected: AbortSignal,
): Promise<void> {
  response.writeHead(200, { ...headers, "content-type": simulated.contentType, "cache-control": "no-cache" });
  const { frames } = simulated;
  const sent = kind === "all" ? frames : frames.slice(0, Math.max(2, frames.length >> 1));
  for (const frame of sent) {
    if (!response.write(frame)) await once(response, "drain", { signal: disconnected });
    await sleep(pace.betweenTokensMs, undefined, { signal: disconnected });
  }
  if (kind === "all") response.end();
  else response.destroy();
}
