import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { baseUrl, makeClient } from "./client.ts";

async function serverThat(answer: (request: { url: string; token: string }) => { status: number; text: string }) {
  const server = createServer((request, response) => {
    const { status, text } = answer({ url: request.url ?? "", token: request.headers.authorization ?? "" });
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { url: `http://127.0.0.1:${port}` };
}

test("the address comes from GATEWAY_URL, else from HOST and PORT", () => {
  expect(baseUrl({})).toBe("http://127.0.0.1:8080");
  expect(baseUrl({ HOST: "0.0.0.0", PORT: "9" })).toBe("http://127.0.0.1:9");
  expect(baseUrl({ HOST: "fd00::1" })).toBe("http://[fd00::1]:8080");
  expect(baseUrl({ GATEWAY_URL: "https://gw.example.eu/v1/" })).toBe("https://gw.example.eu");
  expect(() => baseUrl({ GATEWAY_URL: "gw.example.eu" })).toThrow(/GATEWAY_URL/);
});

test("the token comes from the setting, its file, or the data folder", async () => {
  const seen: string[] = [];
  const { url } = await serverThat(({ token }) => {
    seen.push(token);
    return { status: 200, text: "{}" };
  });
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-cli-"));
  writeFileSync(path.join(folder, "admin-token"), "kept\n");
  writeFileSync(path.join(folder, "other"), "from-file\n");
  await makeClient({ GATEWAY_URL: url, GATEWAY_ADMIN_TOKEN: "said" }).send("GET", "/x");
  await makeClient({ GATEWAY_URL: url, GATEWAY_ADMIN_TOKEN_FILE: path.join(folder, "other") }).send("GET", "/x");
  await makeClient({ GATEWAY_URL: url, DATA_DIR: folder }).send("GET", "/x");
  expect(seen).toEqual(["Bearer said", "Bearer from-file", "Bearer kept"]);
});

test("a refusal is said with its message and code; a stranger's answer is named as one", async () => {
  const refusing = await serverThat(() => ({
    status: 409,
    text: JSON.stringify({ error: { message: "It exists.", code: "conflict" } }),
  }));
  await expect(makeClient({ GATEWAY_URL: refusing.url, GATEWAY_ADMIN_TOKEN: "x" }).send("GET", "/x")).rejects.toThrow(
    "It exists. (conflict)",
  );
  const stranger = await serverThat(() => ({ status: 200, text: "<html>" }));
  await expect(makeClient({ GATEWAY_URL: stranger.url, GATEWAY_ADMIN_TOKEN: "x" }).send("GET", "/x")).rejects.toThrow(
    /does not respond like a gateway/,
  );
});

test("a gateway that is not there, or a token that is not there, says how to start one", async () => {
  const tokenless = await serverThat(() => ({ status: 200, text: "{}" }));
  const client = makeClient({ GATEWAY_URL: tokenless.url, DATA_DIR: "/nonexistent" });
  await expect(client.send("GET", "/x")).rejects.toThrow(/no operator token .*gateway serve/);
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.number() }).parse(gone.address());
  await new Promise((resolve) => gone.close(resolve));
  const unreachable = makeClient({ PORT: String(port), GATEWAY_ADMIN_TOKEN: "x" });
  await expect(unreachable.send("GET", "/x")).rejects.toThrow(/Cannot reach the gateway .*ECONNREFUSED.*gateway serve/);
});
