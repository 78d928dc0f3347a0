import { ECB_SOURCE, parseEcbRates } from "../../domain/catalogue/ecb-rates.ts";
import type { RateSource } from "../../domain/catalogue/exchange-rates.ts";
import type { Timers } from "../../kit/timers.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

const BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** The ECB's daily reference rates, from the ECB or from a mirror that the operator sets. */
export function createEcbRateSource(address: string, transport: Pick<Transport, "send">, timers: Timers): RateSource {
  return {
    name: ECB_SOURCE,
    async fetchRates() {
      const headers = { accept: "application/xml, text/xml", "accept-encoding": "identity" };
      const request = { url: address, headers, body: "", method: "GET" } as const;
      const response = await fetchOnce(transport, request, { timers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
      if (!("status" in response)) return { problem: `the source did not respond (${response.kind}: ${response.why})` };
      if (response.status !== 200) return { problem: `the source responded with ${response.status}` };
      return parseEcbRates(response.bytes.toString("utf8"));
    },
  };
}
