import { Agent, type ClientRequestArgs, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";

/** The proxy for the URL of a WebSocket, from HTTP_PROXY or HTTPS_PROXY, and NO_PROXY. */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const name = url.protocol === "wss:" ? "https_proxy" : "http_proxy";
  const value = env[name] ?? env[name.toUpperCase()] ?? "";
  if (value === "" || isExcluded(url, env["no_proxy"] ?? env["NO_PROXY"] ?? "")) return undefined;
  const address = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(address)) return undefined;
  const proxy = new URL(address);
  return /^https?:$/.test(proxy.protocol) ? proxy : undefined;
}

const portOf = ({ port, protocol }: URL) => port || (/^(?:wss|https):$/.test(protocol) ? "443" : "80");

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

/** `*`, a host, a host with a port, or the end of a name (`.example.eu`). */
function isExcluded(url: URL, list: string): boolean {
  const { hostname } = url;
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const bare = entry.toLowerCase().replace(/^\*(?=\.)/, "");
      if (bare === "*" || bare === hostname || bare === `${hostname}:${portOf(url)}`) return true;
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
    // Node rejects an agent whose protocol differs from that of the request.
    Object.assign(this, { protocol: target.protocol === "wss:" ? "https:" : "http:" });
  }

  override createConnection(_options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void) {
    const authority = `${this.#target.hostname}:${portOf(this.#target)}`;
    const open = this.#proxy.protocol === "https:" ? httpsRequest : httpRequest;
    const request = open({
      host: hostOf(this.#proxy),
      port: Number(portOf(this.#proxy)),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...credentialsOf(this.#proxy) },
      agent: false,
      timeout: CONNECT_MS,
    });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) {
        done?.(null, this.#target.protocol === "wss:" ? this.#encrypted(socket) : socket);
        return;
      }
      socket.destroy();
      done?.(proxyError(`the proxy responded with ${response.statusCode}`), socket);
    });
    request.once("timeout", () => request.destroy(proxyError("the proxy does not respond")));
    request.once("error", (error) => done?.(error, NO_STREAM));
    request.end();
    return undefined;
  }

  /** TLS with the gateway inside the proxy's tunnel; its certificate is verified for the gateway's name. */
  #encrypted(socket: Duplex): Duplex {
    const host = hostOf(this.#target);
    const named = isIP(host) === 0 ? { servername: host } : {};
    return connectTls({ socket, host, ALPNProtocols: ["http/1.1"], ...named });
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
