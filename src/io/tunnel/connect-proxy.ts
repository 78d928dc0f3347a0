import { Agent, type ClientRequestArgs, request as httpRequest } from "node:http";
import { Duplex } from "node:stream";

/** The proxy for a plain HTTP URL from HTTP_PROXY and NO_PROXY. */
export function httpProxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const named = env["http_proxy"] ?? env["HTTP_PROXY"] ?? "";
  if (named === "" || isExcluded(url, env["no_proxy"] ?? env["NO_PROXY"] ?? "")) return undefined;
  const proxy = URL.parse(named) ?? URL.parse(`http://${named}`);
  return proxy?.protocol === "http:" ? proxy : undefined;
}

/** `*`, a host, a host with a port, or the end of a name (`.example.eu`). */
function isExcluded({ hostname, port }: URL, list: string): boolean {
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const bare = entry.toLowerCase().replace(/^\*(?=\.)/, "");
      if (bare === "*" || bare === hostname || bare === `${hostname}:${port || "80"}`) return true;
      return bare.startsWith(".") && hostname.endsWith(bare);
    });
}

const CONNECT_MS = 15_000;
/** The callback's type requires a stream beside an error. */
const NO_STREAM = new Duplex();

/** Opens connections through a proxy with CONNECT: few proxies forward the upgrade of a plain WebSocket handshake. */
export class ConnectProxyAgent extends Agent {
  readonly #proxy: URL;
  readonly #target: URL;

  constructor(proxy: URL, target: URL) {
    super();
    this.#proxy = proxy;
    this.#target = target;
  }

  override createConnection(_options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void) {
    const authority = `${this.#target.hostname}:${this.#target.port || "80"}`;
    const request = httpRequest({
      host: this.#proxy.hostname.replace(/^\[|\]$/g, ""),
      port: Number(this.#proxy.port || "80"),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...credentialsOf(this.#proxy) },
      agent: false,
      timeout: CONNECT_MS,
    });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) {
        done?.(null, socket);
        return;
      }
      socket.destroy();
      done?.(proxyError(`the proxy answered ${response.statusCode}`), socket);
    });
    request.once("timeout", () => request.destroy(proxyError("the proxy does not answer")));
    request.once("error", (error) => done?.(error, NO_STREAM));
    request.end();
    return undefined;
  }
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const userInfo = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(userInfo).toString("base64")}` };
}

/** The status line of the agent shows the code of an error. */
function proxyError(message: string): Error {
  return Object.assign(new Error(message), { code: message });
}
