/** `npm test`: set-up, the checks, every test. Arguments (`npm test -- tests/edge`) run those tests alone. */
import { spawnSync } from "node:child_process";
import { setUp } from "./setup.mjs";
import { CHECKS, close, runSteps, tests } from "./steps.mjs";

/** Programs that tests run, and the Debian packages that have them. */
const PROGRAMS = [{ program: "curl", debianPackage: "curl" }];

const only = process.argv.slice(2);

await setUp("develop");
installPrograms();
close("Tests", await runSteps(only.length > 0 ? [tests(only)] : [...CHECKS, tests([])]));

function installPrograms() {
  const missing = PROGRAMS.filter(({ program }) => !isThere(program)).map(({ debianPackage }) => debianPackage);
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && isThere("apt-get")) {
    process.stdout.write(`Installing Debian packages: ${missing.join(" ")}\n`);
    aptGet(["update", "-qq"]);
    aptGet(["install", "-y", "-qq", "--no-install-recommends", ...missing]);
  }
  const still = PROGRAMS.filter(({ program }) => !isThere(program)).map(({ debianPackage }) => debianPackage);
  if (still.length > 0) process.stdout.write(`Missing Debian packages, their tests are skipped: ${still.join(" ")}\n`);
}

function isThere(program) {
  return spawnSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" }).status === 0;
}

function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"], timeout: 5 * 60_000 });
}
