/**
 * `npm test`: set-up, the checks, every test. Arguments (`npm test -- tests/edge`) run those tests alone.
 * `--no-install` leaves the machine as it is: tests whose programs are missing are skipped with the reason.
 * `--fast` (`npm run test:fast`) runs the tests that need no server program, no browser and no root.
 * RECORDINGS_DIR names a folder with recorded provider traffic; without it, tests replay the samples in tests/samples.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fastTests } from "./fast-tests.mjs";
import { setUp } from "./setup.mjs";
import { CHECKS, close, runSteps, runStepsBeside, tests } from "./steps.mjs";

/** Programs that tests run, with the Debian packages that provide them in order of preference. */
const PROGRAMS = [
  { isThere: () => isOnPath("curl"), debianPackages: ["curl"] },
  { isThere: hasPostgres, debianPackages: ["postgresql"] },
  { isThere: () => isOnPath("pgbouncer"), debianPackages: ["pgbouncer"] },
  {
    isThere: () => ["redis-server", "valkey-server"].some(isOnPath),
    debianPackages: ["redis-server", "valkey-server"],
  },
  { isThere: () => isOnPath("haproxy"), debianPackages: ["haproxy"] },
  { isThere: () => isOnPath("nginx"), debianPackages: ["nginx"] },
  { isThere: () => isOnPath("promtool"), debianPackages: ["prometheus"] },
  { isThere: hasChromium, debianPackages: ["chromium-headless-shell", "chromium"] },
  { isThere: () => isOnPath("firefox-esr"), debianPackages: ["firefox-esr"] },
];

const FLAGS = ["--fast", "--no-install"];
const args = process.argv.slice(2);
const isFast = args.includes("--fast");
const mayInstall = !isFast && !args.includes("--no-install");
const only = args.filter((arg) => !FLAGS.includes(arg));

await installAll();
if (!process.env.RECORDINGS_DIR)
  process.stdout.write(
    "Tests replay the samples in tests/samples. RECORDINGS_DIR names a folder of recorded traffic.\n",
  );
await import("./prepare.mjs");
close("Tests", await runAll());

function runAll() {
  if (isFast) return runSteps([tests([...fastTests(), "--reporter=dot", ...only])]);
  return only.length > 0 ? runSteps([tests(only)]) : runStepsBeside([tests([])], CHECKS);
}

/** Installs npm and Debian packages at the same time: both mostly wait for the network. */
async function installAll() {
  const ends = await Promise.allSettled([setUp("develop"), installPrograms()]);
  const failed = ends.find(({ status }) => status === "rejected");
  if (failed === undefined) return;
  process.stderr.write(`${failed.reason.message}\n`);
  process.exit(1);
}

async function installPrograms() {
  if (isFast) return;
  const missing = () => PROGRAMS.filter(({ isThere }) => !isThere());
  const wanted = missing();
  if (wanted.length === 0) return;
  if (mayInstall && process.getuid?.() === 0 && isOnPath("apt-get")) {
    const names = wanted.map(({ debianPackages }) => debianPackages.join(" or "));
    process.stdout.write(
      `Installing Debian packages as root: ${names.join(", ")}. Skip this with: npm test -- --no-install\n`,
    );
    await withoutServices(async () => {
      await aptGet(["update", "-qq"]);
      const packages = wanted.map(({ debianPackages }) => debianPackages.find(isPackaged) ?? debianPackages[0]);
      await aptGet(["install", "-y", "-qq", "--no-install-recommends", ...packages]);
    });
  }
  const still = missing().map(({ debianPackages }) => debianPackages[0]);
  const reason = mayInstall ? "not installed" : "not installed, --no-install was given";
  if (still.length > 0)
    process.stdout.write(`Tests that need these Debian packages are skipped (${reason}): ${still.join(" ")}\n`);
}

function isOnPath(program) {
  return spawnSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" }).status === 0;
}

function isPackaged(name) {
  return spawnSync("apt-cache", ["show", name], { stdio: "ignore" }).status === 0;
}

function hasChromium() {
  return ["chromium-headless-shell", "chromium"].some(isOnPath);
}

/** Debian installs PostgreSQL's server programs in one folder per version. */
function hasPostgres() {
  const folder = "/usr/lib/postgresql";
  return existsSync(folder) && readdirSync(folder).some((one) => existsSync(path.join(folder, one, "bin/initdb")));
}

/** This policy file keeps Debian packages from starting their services; tests start their own servers. */
async function withoutServices(work) {
  const policy = "/usr/sbin/policy-rc.d";
  if (existsSync(policy)) return work();
  writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    await work();
  } finally {
    rmSync(policy, { force: true });
  }
}

function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const child = spawn("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"], timeout: 5 * 60_000 });
  return new Promise((resolve) => child.once("error", resolve).once("close", resolve));
}
