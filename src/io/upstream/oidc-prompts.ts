import { z } from "zod";
import { tryParseJson } from "../../kit/json.ts";
import type { Timers } from "../../kit/timers.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

const BYTES_MAX = 1024 * 1024;
/** Shorter than a sign-in waits for its provider: it goes on without this. */
const TIMEOUT_MS = 3_000;

const Discovered = z.object({ prompt_values_supported: z.array(z.string()) });

/** The values of `prompt` that a provider of single sign-on says it knows; none where it says nothing of them. */
export async function fetchSupportedPrompts(
  discoveryUrl: string,
  transport: Pick<Transport, "send">,
  timers: Timers,
): Promise<readonly string[]> {
  const headers = { accept: "application/json", "accept-encoding": "identity" };
  const request = { url: discoveryUrl, headers, body: "", method: "GET" } as const;
  const answer = await fetchOnce(transport, request, { timers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
  if (!("status" in answer)) throw new Error(`its discovery document did not come (${answer.kind}: ${answer.why})`);
  if (answer.status !== 200) throw new Error(`its discovery document came with status ${answer.status}`);
  return Discovered.safeParse(tryParseJson(answer.bytes.toString("utf8"))).data?.prompt_values_supported ?? [];
}
