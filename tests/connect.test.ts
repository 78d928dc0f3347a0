import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { runCli, spawnCli, startGateway, type Tenant, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let home: string;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
});
afterAll(() => gateway.close());
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "connect-home-"));
  return () => rmSync(home, { recursive: true, force: true });
});

/** As a developer runs it: a key, no operator token, an own home folder. */
const connect = (args: readonly string[], over: Record<string, string> = {}) =>
  runCli(["connect", ...args], { HOME: home, GATEWAY_URL: gateway.url, GATEWAY_KEY: tenant.key, ...over });
const inHome = (...parts: string[]) => path.join(home, ...parts);
const read = (file: string) => readFileSync(file, "utf8");
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

function have(file: string, text: string): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o644);
  return file;
}

const CASES = [
  {
    client: "claude-code",
    file: [".claude", "settings.json"],
    surface: "messages",
    before:
      '{\n  "permissions": { "allow": ["Bash(ls)"] },\n  "env": { "ANTHROPIC_API_KEY": "sk-old", "EDITOR": "vi" }\n}\n',
    kept: ["Bash(ls)", "EDITOR"],
    later: (text: string) => text.replace("Bash(ls)", "Bash(pwd)"),
  },
  {
    client: "codex",
    file: [".codex", "config.toml"],
    surface: "responses",
    before: '# mine\nmodel = "o3"\n\n[projects."/w"]\ntrust_level = "trusted"\n',
    kept: ["# mine", '[projects."/w"]\ntrust_level = "trusted"'],
    later: (text: string) => text.replace("# mine", "# Bash(pwd)"),
  },
  {
    client: "opencode",
    file: [".config", "opencode", "opencode.json"],
    surface: "chat",
    before: '{\n  // dark, please\n  "theme": "system",\n  "provider": { "ollama": { "name": "mine" } },\n}\n',
    kept: ["// dark, please", '"theme": "system"', '"ollama"', '"mine"'],
    later: (text: string) => text.replace("dark, please", "Bash(pwd)"),
  },
  {
    client: "continue",
    file: [".continue", "config.yaml"],
    surface: "chat",
    before:
      "name: Mine\nversion: 1.0.0\nschema: v1\nmodels:\n  # at home\n  - name: local\n    provider: ollama\n    model: llama\nrules:\n  - be brief\n",
    kept: ["# at home", "- name: local\n    provider: ollama", "rules:\n  - be brief"],
    later: (text: string) => text.replace("be brief", "Bash(pwd)"),
  },
  {
    client: "qwen-code",
    file: [".qwen", "settings.json"],
    surface: "chat",
    before:
      '{\n  // dark, please\n  "ui": { "theme": "dark" },\n  "modelProviders": { "openai": [{ "id": "mine", "envKey": "MINE" }] },\n  "env": { "MINE": "k" }\n}\n',
    kept: ["// dark, please", '"theme": "dark"', '"mine"', '"MINE": "k"'],
    later: (text: string) => text.replace("dark, please", "Bash(pwd)"),
  },
  {
    client: "cline",
    file: [".cline", "data", "settings", "providers.json"],
    surface: "chat",
    before:
      '{\n  "version": 1,\n  "lastUsedProvider": "ollama",\n  "modes": {},\n  "providers": { "ollama": { "settings": { "model": "llama" } } }\n}\n',
    kept: ['"ollama": {', '"model": "llama"'],
    later: (text: string) => text.replace('"llama"', '"Bash(pwd)"'),
  },
  {
    client: "aider",
    file: [".aider.conf.yml"],
    surface: "chat",
    before: "# at home\nmodel: ollama/llama\nread:\n  - CONVENTIONS.md\n",
    kept: ["# at home", "read:\n  - CONVENTIONS.md"],
    later: (text: string) => text.replace("CONVENTIONS.md", "Bash(pwd)"),
  },
  {
    client: "pi",
    file: [".pi", "agent", "models.json"],
    surface: "chat",
    before: '{\n  "providers": {\n    "ollama": { "baseUrl": "http://localhost:11434/v1" }\n  }\n}\n',
    kept: ['"ollama"', "http://localhost:11434/v1"],
    later: (text: string) => text.replace("http://localhost:11434/v1", "Bash(pwd)"),
  },
] as const;

describe.each(CASES)(
  "PORTAL-09 gateway connect $client",
  { timeout: 60_000 },
  ({ client, file, before, kept, later, surface }) => {
    test("adds to existing settings, tests them, names what served, and restores them exactly", async () => {
      const config = have(inHome(...file), before);
      const done = await connect([client, "--model", "sandbox/chat", "--json"]);
      expect([done.code, done.stderr]).toEqual([0, ""]);
      expect(done.json).toMatchObject({
        client,
        file: config,
        model: "sandbox/chat",
        base_url: gateway.url,
        served: {
          model: "sandbox/chat",
          provider: expect.stringMatching(/^sandbox-/),
          level: expect.stringMatching(/^L\d$/),
        },
      });
      expect(done.stdout).not.toContain(tenant.key);
      const text = read(config);
      for (const part of kept) expect(text).toContain(part);
      expect(text).not.toContain("sk-old");
      expect(modeOf(config)).toBe("600");
      expect(read(`${config}.before-gateway`)).toBe(before);
      const [row] = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?app=gateway%20connect&limit=1`))
        .data;
      expect(row).toMatchObject({ surface, status: 200 });

      // A second time: still one entry, and the backup is still the first state.
      expect((await connect([client, "--model", "sandbox/claude"])).code).toBe(0);
      expect(read(`${config}.before-gateway`)).toBe(before);
      expect(read(config)).toContain("sandbox/claude");

      const undone = await connect([client, "--undo"], { GATEWAY_KEY: "" });
      expect([undone.code, undone.stderr]).toEqual([0, ""]);
      expect(read(config)).toBe(before);
      expect(modeOf(config)).toBe("644");
      expect(existsSync(`${config}.before-gateway`)).toBe(false);
      expect(existsSync(path.join(path.dirname(config), "gateway-key"))).toBe(false);
    });

    test("keeps later changes when it is undone", async () => {
      const config = have(inHome(...file), before);
      await connect([client, "--model", "sandbox/chat"]);
      writeFileSync(config, later(read(config)));
      expect((await connect([client, "--undo"])).code).toBe(0);
      const text = read(config);
      expect(text).toContain("Bash(pwd)");
      expect(text).not.toContain(gateway.url);
      expect(text).not.toContain(tenant.key);
    });

    test("creates a missing file and removes it again; a dry run changes nothing", async () => {
      const config = inHome(...file);
      const dry = await connect([client, "--dry-run", "--model", "sandbox/chat"]);
      expect([dry.code, dry.stderr]).toEqual([0, ""]);
      expect(dry.stdout).toContain("sandbox/chat");
      expect(dry.stdout).not.toContain(tenant.key);
      expect(existsSync(config)).toBe(false);
      expect((await connect([client])).code).toBe(0);
      expect(existsSync(config)).toBe(true);
      await connect([client, "--undo"]);
      expect(existsSync(config)).toBe(false);
    });
  },
);

describe("PORTAL-09 what the clients read", { timeout: 60_000 }, () => {
  test("Claude Code: base URL without /v1, token, models, and no other key", async () => {
    const config = have(inHome(".claude", "settings.json"), '{"env":{"ANTHROPIC_API_KEY":"sk-old"}}');
    await connect(["claude-code", "--model", "sandbox/chat"]);
    expect(JSON.parse(read(config)).env).toEqual({
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_AUTH_TOKEN: tenant.key,
      ANTHROPIC_MODEL: "sandbox/chat",
      ANTHROPIC_DEFAULT_OPUS_MODEL: "sandbox/chat",
      ANTHROPIC_DEFAULT_SONNET_MODEL: "sandbox/chat",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "sandbox/chat",
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1",
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "128000",
      ENABLE_TOOL_SEARCH: "false",
    });
  });

  test("Codex: a provider of the responses dialect that reads its key from a file", async () => {
    const config = inHome(".codex", "config.toml");
    await connect(["codex", "--model", "sandbox/chat"]);
    const keyFile = inHome(".codex", "gateway-key");
    expect(read(config)).toBe(
      `model = "sandbox/chat"\nmodel_provider = "gateway"\n\n[model_providers]\n\n[model_providers.gateway]\nname = "Inference Gateway"\nbase_url = "${gateway.url}/v1"\nwire_api = "responses"\nauth = { command = "cat", args = [ "${keyFile}" ] }`,
    );
    expect([read(keyFile).trim(), modeOf(keyFile)]).toEqual([tenant.key, "600"]);
  });

  test("opencode: a provider with its models and their limits", async () => {
    await connect(["opencode", "--model", "sandbox/chat"], { XDG_CONFIG_HOME: inHome("xdg") });
    const { model, provider } = JSON.parse(read(inHome("xdg", "opencode", "opencode.json")));
    expect(model).toBe("gateway/sandbox/chat");
    expect(provider.gateway).toMatchObject({
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: `${gateway.url}/v1`, apiKey: `{file:${inHome("xdg", "opencode", "gateway-key")}}` },
      models: { "sandbox/chat": { limit: { context: 128_000 } }, "sandbox/claude": {} },
    });
  });

  test("Continue: one more model, first in the list", async () => {
    const config = have(
      inHome(".continue", "config.yaml"),
      "name: m\nversion: 1.0.0\nschema: v1\nmodels:\n- name: a\n  provider: ollama\n  model: b\n",
    );
    await connect(["continue", "--model", "sandbox/chat"]);
    const { models } = parseYaml(read(config));
    expect(models).toEqual([
      {
        name: expect.any(String),
        provider: "openai",
        model: "sandbox/chat",
        apiBase: `${gateway.url}/v1`,
        apiKey: tenant.key,
        roles: ["chat", "edit", "apply"],
      },
      { name: "a", provider: "ollama", model: "b" },
    ]);
  });
});

describe("PORTAL-09 what further clients read", { timeout: 60_000 }, () => {
  test("Qwen Code: every model before the others of the list, the key in its env, and the choice", async () => {
    const config = have(
      inHome("qwen", "settings.json"),
      '{"modelProviders":{"openai":[{"id":"mine","envKey":"MINE"}]},"security":{"folderTrust":{"enabled":true}}}',
    );
    await connect(["qwen-code", "--model", "sandbox/chat"], { QWEN_HOME: inHome("qwen") });
    const { modelProviders, env, security, model } = JSON.parse(read(config));
    const [first, ...others] = modelProviders.openai;
    expect(first).toEqual({
      id: "sandbox/chat",
      name: expect.any(String),
      baseUrl: `${gateway.url}/v1`,
      envKey: "INFERENCE_GATEWAY_KEY",
      generationConfig: { contextWindowSize: 128_000, samplingParams: { max_tokens: 16_384 } },
    });
    expect(others.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(["sandbox/claude", "mine"]));
    expect([env, model]).toEqual([{ INFERENCE_GATEWAY_KEY: tenant.key }, { name: "sandbox/chat" }]);
    expect(security).toEqual({ folderTrust: { enabled: true }, auth: { selectedType: "openai" } });
  });

  test("Cline: the provider for compatible servers, selected", async () => {
    await connect(["cline", "--model", "sandbox/chat"], { CLINE_DATA_DIR: inHome("cline") });
    expect(JSON.parse(read(inHome("cline", "settings", "providers.json")))).toEqual({
      version: 1,
      modes: {},
      lastUsedProvider: "openai-compatible",
      providers: {
        "openai-compatible": {
          settings: {
            provider: "openai-compatible",
            apiKey: tenant.key,
            model: "sandbox/chat",
            baseUrl: `${gateway.url}/v1`,
          },
          updatedAt: expect.stringMatching(/^\d{4}-/),
          tokenSource: "manual",
        },
      },
    });
  });

  test("aider: base URL with /v1, and the protocol in front of the model", async () => {
    const { stdout } = await connect(["aider", "--model", "sandbox/chat"], { AIDER_MODEL: "other" });
    expect(stdout).toContain("AIDER_MODEL is set in your shell");
    expect(parseYaml(read(inHome(".aider.conf.yml")))).toEqual({
      "openai-api-base": `${gateway.url}/v1`,
      "openai-api-key": tenant.key,
      model: "openai/sandbox/chat",
      "weak-model": "openai/sandbox/chat",
    });
  });

  test("pi: a provider that reads its key from a file, also in a folder with a quote in its name", async () => {
    const { stdout } = await connect(["pi", "--model", "sandbox/chat"], { PI_CODING_AGENT_DIR: inHome("it's pi") });
    const { gateway: provider } = JSON.parse(read(inHome("it's pi", "models.json"))).providers;
    expect(provider).toMatchObject({
      baseUrl: `${gateway.url}/v1`,
      api: "openai-completions",
      compat: { supportsStore: false },
    });
    expect(execFileSync("sh", ["-c", provider.apiKey.slice(1)], { encoding: "utf8" }).trim()).toBe(tenant.key);
    expect(provider.models[0]).toMatchObject({ id: "sandbox/chat", contextWindow: 128_000, input: expect.any(Array) });
    expect(stdout).toContain("pi --model gateway/sandbox/chat");
  });
});

test("PORTAL-09 the installed command edits JSON, TOML and YAML", { timeout: 120_000 }, async () => {
  const env = { HOME: home, GATEWAY_URL: gateway.url, GATEWAY_KEY: tenant.key };
  for (const client of ["opencode", "codex", "aider"]) {
    const { code, stdout, stderr } = await spawnCli(["connect", client, "--dry-run", "--model", "sandbox/chat"], env);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("sandbox/chat");
  }
});

describe("PORTAL-09 connect reports errors and then writes nothing", { timeout: 60_000 }, () => {
  test("an invalid key; no key; an unreachable address; an unknown client", async () => {
    const outcomes = await Promise.all([
      connect(["codex"], { GATEWAY_KEY: "sk_svc_live_nonsense" }),
      connect(["codex"], { GATEWAY_KEY: "" }),
      connect(["codex"], { GATEWAY_URL: "http://127.0.0.1:9" }),
      connect(["emacs"]),
      connect(["codex", "--undo"]),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([1, 1, 1, 2, 1]);
    const [badKey, noKey, nowhere, unreachable, nothing] = outcomes.map(({ stderr }) => stderr);
    expect(badKey).toContain("invalid_api_key");
    expect(noKey).toContain("GATEWAY_KEY");
    expect(nowhere).toContain("GATEWAY_URL");
    expect(unreachable).toContain("claude-code, codex, opencode, continue, qwen-code, cline, aider, pi");
    expect(nothing).toContain("Nothing to undo");
    expect(existsSync(inHome(".codex"))).toBe(false);
  });

  test("an unreadable file stays unchanged", async () => {
    const config = have(inHome(".claude", "settings.json"), "{ broken");
    const { code, stderr } = await connect(["claude-code"]);
    expect([code, read(config)]).toEqual([1, "{ broken"]);
    expect(stderr).toContain("was not changed: line 1 is not JSON.");
  });

  test("a failed test request is reported with the way back", async () => {
    const poor = await gateway.tenant({ credit: "0" });
    const { code, stderr } = await connect(["opencode", "--model", "sandbox/chat"], { GATEWAY_KEY: poor.key });
    expect(code).toBe(1);
    expect(stderr).toContain("insufficient_credits");
    expect(stderr).toContain("--undo");
  });

  test("names an environment variable that would take precedence", async () => {
    const { stdout } = await connect(["claude-code", "--dry-run"], { ANTHROPIC_API_KEY: "sk-ant" });
    expect(stdout).toContain("ANTHROPIC_API_KEY is set in your shell");
    expect(stdout).not.toContain("sk-ant");
  });
});
