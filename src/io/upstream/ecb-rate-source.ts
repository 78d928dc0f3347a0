import { ECB_SOURCE, parseEcbRates } from "../../domain/catalogue/ecb-rates.ts";
import type { RateSource } from "../../domain/catalogue/exchange-rates.ts";
import type { Timers } from "../../kit/timers.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport } from "./transport.ts";

/** The file of a day has two kilobytes, that of ninety days some hundred. */
const BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** The ECB's daily reference rates, from the address that the operator names: the bank's own, or a copy of its file. */
export function createEcbRateSource(address: string, transport: Pick<Transport, "send">, timers: Timers): RateSource {
  return {
    name: ECB_SOURCE,
    async fetchRates() {
      const headers = { accept: "application/xml, text/xml", "accept-encoding": "identity" };
      const request = { url: address, headers, body: "", method: "GET" } as const;
      const answer = await fetchOnce(transport, request, { timers, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
      if (!("status" in answer)) return { problem: `its source did not answer (${answer.kind}: ${answer.why})` };
      if (answer.status !== 200) return { problem: `its source answered ${answer.status}` };
      return parseEcbRates(answer.bytes.toString("utf8"));
    },
  };
}
