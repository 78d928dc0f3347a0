import { Agent, type ClientRequestArgs, request } from "node:http";
import { Duplex } from "node:stream";

/** The proxy on the way to a plain address, as the usual variables name it; undefined: none. */
export function httpProxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const named = env["http_proxy"] ?? env["HTTP_PROXY"] ?? "";
  if (named === "" || isExcepted(url, env["no_proxy"] ?? env["NO_PROXY"] ?? "")) return undefined;
  const proxy = URL.parse(named) ?? URL.parse(`http://${named}`);
  return proxy?.protocol === "http:" ? proxy : undefined;
}

/** `*`, a host, a host with a port, or the end of a name (`.example.eu`). */
function isExcepted({ hostname, port }: URL, list: string): boolean {
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
/** Goes along with an error, and is not looked at. */
const NOWHERE = new Duplex();

/**
 * Connections through a proxy, by CONNECT: sent in any other form, a proxy would answer the handshake itself, and few of
 * them pass on what it asks for.
 */
export class ConnectProxyAgent extends Agent {
  readonly #proxy: URL;
  readonly #target: URL;

  constructor(proxy: URL, target: URL) {
    super();
    this.#proxy = proxy;
    this.#target = target;
  }

  override createConnection(_options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void) {
    const place = `${this.#target.hostname}:${this.#target.port || "80"}`;
    const asked = request({
      host: this.#proxy.hostname.replace(/^\[|\]$/g, ""),
      port: Number(this.#proxy.port || "80"),
      method: "CONNECT",
      path: place,
      headers: { host: place, ...credentialsOf(this.#proxy) },
      agent: false,
      timeout: CONNECT_MS,
    });
    asked.once("connect", (response, socket) => {
      if (response.statusCode === 200) {
        done?.(null, socket);
        return;
      }
      socket.destroy();
      done?.(refused(`the proxy answered ${response.statusCode}`), socket);
    });
    asked.once("timeout", () => asked.destroy(refused("the proxy does not answer")));
    asked.once("error", (error) => done?.(error, NOWHERE));
    asked.end();
    return undefined;
  }
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const said = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(said).toString("base64")}` };
}

/** Its code is what the status line shows. */
function refused(message: string): Error {
  return Object.assign(new Error(message), { code: message });
}
