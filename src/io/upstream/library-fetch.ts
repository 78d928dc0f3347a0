import { AsyncLocalStorage } from "node:async_hooks";
import { DOCUMENT_LIMITS, JsonDocument } from "../../kit/json-document.ts";

const BYTES_MAX = 1024 * 1024;

const limitedWork = new AsyncLocalStorage<true>();
let isInstalled = false;

/**
 * Runs work of a library that fetches documents with the global `fetch` and has no option for another: what it receives during
 * this work has the limits of documents. Other callers of `fetch` are not affected.
 */
export function withFetchLimits<T>(work: () => T): T {
  install();
  return limitedWork.run(true, work);
}

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const fetchUnlimited = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    const response = await fetchUnlimited(...request);
    return limitedWork.getStore() === undefined ? response : readWithinLimits(response);
  };
}

async function readWithinLimits(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) throw new Error(`the response has more than ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks, bytes);
  const { exceeded } = new JsonDocument(body, DOCUMENT_LIMITS);
  if (exceeded !== undefined) throw new Error(`the response exceeds a limit: ${exceeded}`);
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
