import { readFile } from "node:fs/promises";
import { fault } from "../../contract/faults.ts";
import { buffered, type Handler } from "../exchange.ts";
import { respondWithEtag } from "./static-content.ts";

const HEADERS = {
  "content-type": "text/javascript; charset=utf-8",
  "content-disposition": 'attachment; filename="agent.mjs"',
  "x-content-type-options": "nosniff",
};

/** Serves the node agent of the gateway's own version. `locate` finds its file; undefined: it was not built. */
export function nodeAgentHandlers(locate: () => Promise<string | undefined>): Readonly<Record<string, Handler>> {
  let cached: Promise<string> | undefined;
  const read = async () => {
    const file = await locate();
    if (file === undefined) throw notBuilt();
    return readFile(file, "utf8");
  };
  return {
    getNodeAgent: buffered(async (exchange) => {
      cached ??= read();
      cached.catch(() => {
        cached = undefined;
      });
      return respondWithEtag(exchange, HEADERS, await cached);
    }),
  };
}

function notBuilt() {
  return fault("service_unavailable", {
    message:
      "This gateway was installed without its node agent. Run `bin/gateway node connect` in a checkout on the node instead.",
  });
}
