import { ECB, readEcbRates } from "../../domain/catalogue/ecb-rates.ts";
import type { RateOffer, RateSource } from "../../domain/catalogue/rates.ts";
import { stop, type Timers } from "../../kit/timers.ts";
import type { Transport } from "./transport.ts";

/** The file of a day has two kilobytes, that of ninety days some hundred. */
const BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** The ECB's daily reference rates, from the address that the operator names: the bank's own, or a copy of its file. */
export function ecbSource(address: string, transport: Pick<Transport, "send">, timers: Timers): RateSource {
  return {
    name: ECB,
    ask: () =>
      new Promise<RateOffer | { readonly problem: string }>((resolve) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        // Before the call, which may fail while it is being made.
        const deadline = timers.after(TIMEOUT_MS, () => call.abort());
        const settle = (found: RateOffer | { readonly problem: string }) => {
          stop(deadline);
          resolve(found);
        };
        const headers = { accept: "application/xml, text/xml", "accept-encoding": "identity" };
        const request = { url: address, headers, body: "", method: "GET" } as const;
        const call = transport.send(request, {
          failed: ({ kind, why }) => settle({ problem: `its source could not be reached (${kind}: ${why})` }),
          answered(status) {
            if (status !== 200) settle({ problem: `its source answered ${status}` });
            return {
              data(chunk) {
                bytes += chunk.length;
                if (bytes <= BYTES_MAX) chunks.push(chunk);
                else {
                  settle({ problem: `its source sent more than ${BYTES_MAX} bytes` });
                  setImmediate(() => call.abort());
                }
                return "more";
              },
              end: () => settle(readEcbRates(Buffer.concat(chunks).toString("utf8"))),
              failed: ({ kind, why }) => settle({ problem: `its source broke off (${kind}: ${why})` }),
            };
          },
        });
      }),
  };
}
