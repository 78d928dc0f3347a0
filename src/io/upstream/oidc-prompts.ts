import { z } from "zod";
import { tryParseJson } from "../../kit/json.ts";
import type { Timers } from "../../kit/timers.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

const BYTES_MAX = 1024 * 1024;
/** Shorter than the timeout of a sign-in, which continues without this. */
const TIMEOUT_MS = 3_000;

const DiscoveryDocument = z.object({ prompt_values_supported: z.array(z.string()) });

/** The `prompt` values that an OpenID provider supports; empty if it does not say. */
export async function fetchSupportedPrompts(
  discoveryUrl: string,
  transport: Pick<Transport, "send">,
  timers: Timers,
): Promise<readonly string[]> {
  const headers = { accept: "application/json", "accept-encoding": "identity" };
  const request = { url: discoveryUrl, headers, body: "", method: "GET" } as const;
  const response = await fetchOnce(transport, request, { timers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
  if (!("status" in response))
    throw new Error(`the discovery document could not be fetched (${response.kind}: ${response.why})`);
  if (response.status !== 200) throw new Error(`the discovery document was returned with status ${response.status}`);
  return DiscoveryDocument.safeParse(tryParseJson(response.bytes.toString("utf8"))).data?.prompt_values_supported ?? [];
}
