import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Step, Target } from "../../portal/src/screens/connect/client-kind.ts";
import { CLIENTS } from "../../portal/src/screens/connect/clients.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let folder: string;
let target: Target;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
  target = { origin: gateway.url, model: "sandbox/chat", key: tenant.key, contextTokens: 128_000 };
  folder = mkdtempSync(path.join(tmpdir(), "connect-"));
  symlinkSync(path.join(PROJECT_ROOT, "node_modules"), path.join(folder, "node_modules"));
  writeFileSync(path.join(folder, "package.json"), '{"type":"module"}');
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const stepsOf = (id: string): readonly Step[] => CLIENTS.find((one) => one.id === id)?.steps(target) ?? [];
const fileOf = (id: string, file: string) => stepsOf(id).find((step) => step.file === file)?.code ?? "";

const run = (file: string, args: readonly string[]) =>
  new Promise<string>((resolve, reject) => {
    const env = { PATH: process.env["PATH"], HOME: folder, GATEWAY_KEY: tenant.key };
    execFile(file, args, { cwd: folder, env, timeout: 30_000 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stdout}${stderr}`)),
    );
  });

describe("PORTAL-09 lines of the connect pages", { timeout: 60_000 }, () => {
  test.each(["openai-ts", "anthropic", "google-genai", "vercel-ai", "langchain"])(
    "%s: the program runs as it stands there, and the log names the client",
    async (id) => {
      writeFileSync(path.join(folder, "hello.ts"), fileOf(id, "hello.ts"));
      expect(await run(process.execPath, ["hello.ts"])).toContain("simulated by");
      const [row] = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1`)).data;
      expect(row.status).toBe(200);
      expect(CLIENTS.find((one) => one.id === id)?.app).toContain(row.app);
    },
  );

  test.each(["openai-python", "anthropic", "google-genai", "langchain"])("%s: the Python is Python", async (id) => {
    await run("python3", ["-c", "import ast, sys; ast.parse(sys.argv[1])", fileOf(id, "hello.py")]);
  });

  test("files of configuration can be read, and have the address as each client wants it", () => {
    const claude = JSON.parse(fileOf("claude-code", "~/.claude/settings.json"));
    expect(claude.env).toMatchObject({ ANTHROPIC_BASE_URL: gateway.url, ANTHROPIC_AUTH_TOKEN: tenant.key });
    const opencode = JSON.parse(fileOf("opencode", "~/.config/opencode/opencode.json"));
    expect(opencode.provider.gateway.options.baseURL).toBe(`${gateway.url}/v1`);
    expect(Object.keys(opencode.provider.gateway.models)).toEqual(["sandbox/chat"]);
    const yaml = parseYaml(fileOf("continue", "~/.continue/config.yaml"));
    expect(yaml.models[0]).toMatchObject({ provider: "openai", model: "sandbox/chat", apiBase: `${gateway.url}/v1` });
    const libre = parseYaml(fileOf("librechat", "librechat.yaml"));
    expect(libre.endpoints.custom[0]).toMatchObject({
      baseURL: `${gateway.url}/v1`,
      apiKey: expect.stringMatching(/^\$\{GATEWAY_KEY\}$/),
    });
    expect(fileOf("codex", "~/.codex/config.toml")).toContain(`base_url = "${gateway.url}/v1"\nwire_api = "responses"`);
  });

  test("every client has lines, pitfalls and a name of its own", () => {
    expect(new Set(CLIENTS.map(({ id }) => id)).size).toBe(CLIENTS.length);
    for (const { id, pitfalls, steps } of CLIENTS) {
      expect(pitfalls.length, id).toBeGreaterThan(0);
      expect(
        steps(target).some(({ code }) => code?.includes(gateway.url)),
        id,
      ).toBe(true);
    }
  });
});
