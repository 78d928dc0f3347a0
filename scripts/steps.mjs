/** Runs the steps of `npm run check` and `npm test` on the pinned Node and reports failures. */
import { spawn } from "node:child_process";
import path from "node:path";
import { handOnSignals } from "./hand-on.mjs";
import { pinnedNode, ROOT } from "./setup.mjs";

const tool = (file) => path.join("node_modules", file);

/** Static checks. Two type-checking threads: each checks the shared declarations again, so more do not pay. */
export const CHECKS = [
  { name: "types", file: tool("typescript/bin/tsc"), args: ["-p", ".", "--checkers", "2"] },
  { name: "types of the portal", file: tool("typescript/bin/tsc"), args: ["-p", "portal"] },
  { name: "lint and format", file: tool("@biomejs/biome/bin/biome"), args: ["check", "--error-on-warnings", "."] },
  { name: "unused code", file: tool("knip/bin/knip.js"), args: ["--no-progress"] },
  {
    name: "OpenAPI",
    file: tool("@redocly/cli/bin/cli.js"),
    args: ["lint", "--format=stylish", "docs/openapi.json", "docs/openapi-manage.json"],
    quiet: true,
  },
];

/** Rules that are written as tests: part of every test run and of `npm run check`. */
export const RULES = {
  name: "architecture and documents",
  file: tool("vitest/vitest.mjs"),
  args: ["run", "--reporter=dot", "tests/architecture.test.ts", "tests/documents.test.ts"],
};

export function tests(args) {
  return { name: "tests", file: tool("vitest/vitest.mjs"), args: ["run", ...args] };
}

/** Runs every step, also after a failure, and returns the names of failed steps. */
export async function runSteps(steps) {
  const failed = [];
  for (const step of steps) {
    const { isPassed, output } = await runStep(step);
    if (isPassed) continue;
    process.stdout.write(output);
    failed.push(step.name);
  }
  return failed;
}

/** Runs `beside` while `main` runs, which leaves a processor idle at times. What failed beside it is printed last. */
export async function runStepsBeside(main, beside) {
  const outputs = [];
  const failed = [];
  const runBeside = async () => {
    for (const step of beside) {
      const { isPassed, output } = await runStep({ ...step, quiet: true });
      if (isPassed) continue;
      outputs.push(`\n${step.name}:\n${output}`);
      failed.push(step.name);
    }
  };
  const [failedMain] = await Promise.all([runSteps(main), runBeside()]);
  process.stdout.write(outputs.join(""));
  return [...failed, ...failedMain];
}

async function runStep(step) {
  const startedAtMs = Date.now();
  const { code, output } = await run(step);
  const tookSeconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  process.stdout.write(`${code === 0 ? "ok    " : "FAILED"}  ${step.name} (${tookSeconds} s)\n`);
  return { isPassed: code === 0, output };
}

/** Disables update notices and telemetry of the tools. */
const QUIET = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_UPDATE_NOTIFIER: "1" };

function run({ file, args, quiet }) {
  const bin = path.join(ROOT, "node_modules/.bin");
  const env = { ...process.env, ...QUIET, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ""}` };
  return new Promise((resolve) => {
    const stdio = quiet ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"];
    const child = spawn(pinnedNode(), [file, ...args], { cwd: ROOT, env, stdio });
    handOnSignals(child);
    let output = "";
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    child.on("error", (error) => resolve({ code: 1, output: `${error.message}\n` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

export function close(what, failed) {
  if (failed.length === 0) process.stdout.write(`\n${what}: all passed.\n`);
  else {
    process.stdout.write(`\n${what}: FAILED: ${failed.join(", ")}.\n`);
    process.exitCode = 1;
  }
}
