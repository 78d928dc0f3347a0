import { expect, test } from "vitest";
import { proxyFor } from "./connect-proxy.ts";

const GATEWAY = new URL("ws://gateway.example.eu:8080/nodes/connect");

test.each([
  [{}, undefined],
  [{ HTTP_PROXY: "" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128" }, "http://proxy:3128/"],
  [{ HTTP_PROXY: "http://upper:1", http_proxy: "http://lower:2" }, "http://lower:2/"],
  [{ HTTP_PROXY: "proxy:3128" }, "http://proxy:3128/"],
  [{ HTTP_PROXY: "socks5://proxy:1080" }, undefined],
  [{ HTTPS_PROXY: "http://proxy:3128" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "*" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "other.eu, .example.eu" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128", no_proxy: "*.example.eu" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "gateway.example.eu:8080" }, undefined],
  [{ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "gateway.example.eu:443,example.eu" }, "http://proxy:3128/"],
] as const)("for %j the HTTP proxy is %s", (env, named) => {
  expect(proxyFor(GATEWAY, env)?.href).toBe(named);
});

test.each([
  [{ HTTP_PROXY: "http://proxy:3128" }, undefined],
  [{ HTTPS_PROXY: "https://proxy:3129" }, "https://proxy:3129/"],
  [{ HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "gateway.example.eu:443" }, undefined],
] as const)("for %j the HTTPS proxy is %s", (env, named) => {
  expect(proxyFor(new URL("wss://gateway.example.eu/nodes/connect"), env)?.href).toBe(named);
});
