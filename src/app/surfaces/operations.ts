import { fault } from "../../contract/faults.ts";
import { isLoopbackHost } from "../../domain/tenancy/trusted-origins.ts";
import { buffered, type Exchange, type Handler } from "../exchange.ts";

export type OperationsDeps = {
  /** Why the gateway is not ready; undefined when it is. */
  readonly unready: () => Promise<string | undefined>;
  readonly metricsText: () => Promise<{ readonly contentType: string; readonly body: string }>;
  /** Counts a wrong token against the caller's address. */
  isOperator(caller: Pick<Exchange, "headers" | "clientAddress">): boolean;
};

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

/** Liveness, readiness and metrics. */
export function operationsHandlers(deps: OperationsDeps): Record<string, Handler> {
  return {
    getHealth: buffered(async () => ({ status: 200, headers: PLAIN_TEXT, bytes: "ok\n" })),
    getReadiness: buffered(async () => {
      const why = await deps.unready();
      if (why === undefined) return { status: 200, headers: PLAIN_TEXT, bytes: "ready\n" };
      throw fault("service_unavailable", { message: `Not ready: ${why}.`, headers: { "retry-after": "1" } });
    }),
    // Upgrade requests are handled by the edge before routing.
    connectNode: buffered(async () => {
      throw fault("upgrade_required", {
        message:
          "This is the WebSocket endpoint of nodes: run `gateway node connect` on the machine of the local model server.",
        headers: { connection: "close, upgrade", upgrade: "websocket" },
      });
    }),
    getMetrics: buffered(async (exchange) => {
      if (!isLocal(exchange) && !deps.isOperator(exchange)) {
        throw fault("invalid_admin_token", {
          message:
            "Metrics are available on the same machine as localhost or 127.0.0.1, or with the operator token as `Authorization: Bearer <token>`.",
        });
      }
      const { contentType, body } = await deps.metricsText();
      return { status: 200, headers: { "content-type": contentType }, bytes: body };
    }),
  };
}

const FORWARDED = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/**
 * A request forwarded by a local proxy is not local, trusted proxy or not; neither is one for another host name, which a
 * proxy without forwarding headers or a rebound DNS name of a page in a local browser sends.
 */
function isLocal({ clientAddress, headers }: Exchange): boolean {
  const loopback = clientAddress === "::1" || clientAddress.startsWith("127.");
  return loopback && isLoopbackHost(headers.host) && FORWARDED.every((name) => headers[name] === undefined);
}
