import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { packagesThatRun, removeOtherPackages } from "../../deploy/image/packages.mjs";
import { PROJECT_ROOT } from "../../src/settings/config.ts";

const kept = packagesThatRun(PROJECT_ROOT);

test("OPS-05 the image keeps the gateway's runtime, and nothing that only builds the portal or tests", () => {
  const names = ["zod", "pg", "@redis/client", "better-auth", "nodemailer", "gpt-tokenizer", "@opentelemetry/api"];
  for (const name of names) expect(kept).toContain(`node_modules/${name}`);
  for (const name of ["vite", "react", "vue", "typescript", "vitest", "@babel/core", "lightningcss", "undici"])
    expect(kept).not.toContain(`node_modules/${name}`);
});

/** Files with side effects on load. */
const ACTS = /(?:-worker|\/cli|\/node-connect|\/agent|^\/node-agent)\.ts$/;

const LOAD_ALL = `
  import { readdirSync } from "node:fs";
  const acts = ${String(ACTS)};
  for (const name of readdirSync("src", { recursive: true }).sort())
    if (/(?<!\\.test|\\.d)\\.ts$/.test(name) && !acts.test("/" + name)) await import(process.cwd() + "/src/" + name);
  for (const name of ["pg", "nodemailer", "@redis/client", "better-auth", "gpt-tokenizer"]) await import(name);
  console.log("loaded");
  process.exit(0);
`;

test("OPS-05 every module of the gateway loads with the packages that the image keeps", () => {
  const root = emptyFolder();
  for (const name of ["src", "scripts", "package.json"])
    cpSync(path.join(PROJECT_ROOT, name), path.join(root, name), { recursive: true });
  for (const where of kept) if (!/\/node-(?:linux|bin)/.test(where)) copyPackage(where, root);
  writeFileSync(path.join(root, "load-all.mjs"), LOAD_ALL);
  const { stdout, stderr } = spawnSync(process.execPath, ["load-all.mjs"], {
    cwd: root,
    encoding: "utf8",
    timeout: 120_000,
  });
  expect(`${stdout}${stderr.slice(0, 2000)}`).toContain("loaded\n");
}, 180_000);

/** As in the image, without nested packages: each is kept or removed separately. */
function copyPackage(where: string, root: string): void {
  const from = path.join(PROJECT_ROOT, where);
  if (!existsSync(from)) return;
  const inside = path.join(from, "node_modules");
  cpSync(from, path.join(root, where), {
    recursive: true,
    filter: (file) => file !== inside && !/\.(?:map|d\.[mc]?ts)$/.test(file),
  });
}

test("OPS-05 headers, maps and types of kept packages are removed, and so are packages that are not kept", () => {
  const root = emptyFolder();
  const lock = {
    packages: {
      "": { optionalDependencies: { "node-here": "1" } },
      "node_modules/node-here": { bin: { node: "bin/node" } },
      "node_modules/runs": {
        dependencies: { needed: "1" },
        peerDependencies: { maybe: "1" },
        peerDependenciesMeta: { maybe: { optional: true } },
      },
      "node_modules/needed": {},
      "node_modules/maybe": {},
      "node_modules/builder": { dependencies: { needed: "2" } },
      "node_modules/builder/node_modules/needed": {},
      "node_modules/@scope/tool": { dev: true },
    },
  };
  const files = [
    "src/a.ts",
    "node_modules/node-here/bin/node",
    "node_modules/node-here/include/node.h",
    "node_modules/runs/index.js",
    "node_modules/runs/index.js.map",
    "node_modules/runs/index.d.ts",
    "node_modules/needed/index.js",
    "node_modules/maybe/index.js",
    "node_modules/builder/index.js",
    "node_modules/builder/node_modules/needed/index.js",
    "node_modules/@scope/tool/index.js",
  ];
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(
      path.join(root, file),
      file === "src/a.ts" ? 'import { a } from "runs/deep";\nawait import("@scope/tool");' : "",
    );
  }
  writeFileSync(path.join(root, "package-lock.json"), JSON.stringify(lock));
  removeOtherPackages(root);
  const left = readdirSync(path.join(root, "node_modules"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
  expect(left.toSorted()).toEqual([
    "node_modules/needed/index.js",
    "node_modules/node-here/bin/node",
    "node_modules/runs/index.js",
  ]);
});

function emptyFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-image-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
