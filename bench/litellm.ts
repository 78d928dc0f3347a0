import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Bench, Prepared } from "./candidate.ts";
import { freePort } from "./children.ts";
import { DUMMY_KEY, PEER_MODELS, peerTarget, upstreamUrls } from "./peer.ts";

/** An exact version, so that two runs compare. */
const PACKAGE = "litellm[proxy]==1.105.0";
const PYTHON = "import ensurepip, sys, venv; sys.exit(0 if sys.version_info >= (3, 10) else 3)";
const VERSION =
  "import importlib.metadata as m, platform; print(m.version('litellm'), 'on Python', platform.python_version())";
const INSTALL_MS_MAX = 10 * 60_000;

/** LiteLLM's proxy, installed once into its own folder. */
export async function prepareLiteLlm({ children, root, folder, upstream }: Bench): Promise<Prepared> {
  const home = path.join(root, "bench/.work/litellm");
  installLiteLlm(home, process.env);
  const port = await freePort();
  // It does not start without a key.
  const key = `sk-${randomBytes(32).toString("hex")}`;
  const config = path.join(folder, "litellm.json");
  writeFileSync(config, JSON.stringify(configOf(upstreamUrls(upstream))));
  const version = spawnSync(path.join(home, "bin/python"), ["-c", VERSION], { encoding: "utf8" }).stdout.trim();
  const command = [path.join(home, "bin/litellm"), "--config", config, "--host", "127.0.0.1", "--port", String(port)];
  return {
    title: "LiteLLM",
    version: `litellm ${version}, one worker, its master key checked, no database, no wallet, no log`,
    reframes: true,
    launch: () =>
      children.start([...command, "--num_workers", "1", "--telemetry", "False"], {
        core: "candidate",
        // Prices come from the package instead of the network.
        env: {
          LITELLM_MASTER_KEY: key,
          LITELLM_LOCAL_MODEL_COST_MAP: "True",
          LITELLM_LOG: "ERROR",
          LITELLM_MODE: "PRODUCTION",
        },
        logFile: path.join(folder, "litellm.log"),
      }),
    target: peerTarget(port, key),
  };
}

function configOf(urls: { readonly json: string; readonly stream: string }) {
  const modelOf = (name: string, base: string) => ({
    model_name: name,
    litellm_params: { model: "openai/bench-model", api_base: base, api_key: DUMMY_KEY },
  });
  return {
    model_list: [modelOf(PEER_MODELS.json, urls.json), modelOf(PEER_MODELS.stream, urls.stream)],
    litellm_settings: { num_retries: 0, telemetry: false },
  };
}

/** Into a folder of its own. Throws the reason when there is no Python or the package cannot be had. */
export function installLiteLlm(home: string, env: NodeJS.ProcessEnv): void {
  const done = path.join(home, "installed");
  if (existsSync(done) && readFileSync(done, "utf8") === PACKAGE) return;
  const run = (program: string, args: readonly string[]) =>
    spawnSync(program, args, { env, encoding: "utf8", timeout: INSTALL_MS_MAX });
  const python = run("python3", ["-c", PYTHON]);
  if (python.error !== undefined) throw new Error("Python 3 is not installed");
  if (python.status !== 0) throw new Error("Python 3.10 or newer with venv is not installed");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const made = run("python3", ["-m", "venv", home]);
  if (made.status !== 0) throw new Error(`Python made no environment: ${lastLine(made.stderr)}`);
  const args = ["install", "--quiet", "--disable-pip-version-check", "--no-input", PACKAGE];
  const installed = run(path.join(home, "bin/pip"), args);
  if (installed.status !== 0) throw new Error(`pip did not install ${PACKAGE}: ${lastLine(installed.stderr)}`);
  writeFileSync(done, PACKAGE);
}

function lastLine(text: string | null): string {
  return (text ?? "").trim().split("\n").at(-1)?.slice(0, 200) ?? "";
}
