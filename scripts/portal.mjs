/**
 * Builds the portal when its sources have changed since the last time. Plain JavaScript without packages, like
 * set-up, and like there all output goes to stderr.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { pinnedNode, ROOT, runKept, withLock } from "./setup.mjs";

const FOLDER = path.join(ROOT, "portal");
const DIST = path.join(FOLDER, "dist");
const STAMP = path.join(DIST, "stamp");
/** The files of the last build, without those of earlier ones. */
const FILES = path.join(DIST, "files.json");
/** Files of earlier builds are retained this long, because open pages and running gateways may still load them. */
const OLD_KEPT_MS = 24 * 60 * 60_000;
/** Files whose name changes with their content: the search index and pictures of the guides, the API reference's script. */
const VERSIONED = /^assets[\\/]|^api-reference-/;

export async function buildPortal() {
  if (isFresh()) return;
  await withLock(async () => {
    if (!isFresh()) await build();
  });
}

function isFresh() {
  const wanted = stampOf();
  return wanted === undefined || (readIfThere(STAMP) === wanted && existsSync(FILES));
}

/** The files of the current build, relative to portal/dist. */
export function portalFiles() {
  return JSON.parse(readFileSync(FILES, "utf8"));
}

/** Everything the build reads, except the API contract: the portal imports only types from it, which are erased. */
function stampOf() {
  const sources = filesOf(FOLDER).filter((file) => !file.endsWith(".md") && !isBuilt(file));
  // Installed without sources: the existing build is used.
  if (!sources.some((file) => file.endsWith("vite.config.ts"))) return undefined;
  const digest = createHash("sha256");
  for (const file of [...sources, ...guideSources(), path.join(ROOT, "package-lock.json")]) {
    digest
      .update(`${path.relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return digest.digest("hex");
}

function isBuilt(file) {
  return file.startsWith(`${DIST}${path.sep}`) || file.startsWith(path.join(FOLDER, ".build"));
}

/** The guides are part of the build: documents, their pictures and the code that renders them. */
function guideSources() {
  const pages = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  return [
    ...pages.map((name) => path.join(ROOT, name)).sort(),
    ...filesOf(path.join(ROOT, "docs")),
    ...filesOf(path.join(ROOT, "scripts/guides")),
  ];
}

function filesOf(folder) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
      .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
      .sort();
  } catch {
    return [];
  }
}

async function build() {
  const startedAtMs = Date.now();
  const stamp = stampOf();
  const made = path.join(FOLDER, `.build-${process.pid}`);
  try {
    const { code, output } = await runVite([
      "build",
      "--config",
      path.join(FOLDER, "vite.config.ts"),
      "--outDir",
      made,
      "--logLevel",
      "warn",
    ]);
    if (code !== 0) throw new Error(`${output.trimEnd()}\nThe portal could not be built: the lines above say why.`);
    cpSync(path.join(FOLDER, "vendor"), path.join(made, "vendor"), { recursive: true });
    const files = filesOf(made).map((file) => path.relative(made, file));
    replace(made);
    writeFileSync(FILES, JSON.stringify(files));
    writeFileSync(STAMP, stamp);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  process.stderr.write(`Built the portal in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s.\n`);
}

/** Adds new files beside the old ones and replaces the page last, atomically: concurrent requests get a complete portal. */
function replace(made) {
  const assets = path.join(DIST, "assets");
  mkdirSync(assets, { recursive: true });
  const oldestKeptMs = Date.now() - OLD_KEPT_MS;
  cpSync(path.join(made, "assets"), assets, { recursive: true });
  const fresh = new Set(readdirSync(path.join(made, "assets")));
  for (const name of readdirSync(assets)) {
    const file = path.join(assets, name);
    if (fresh.has(name)) utimesSync(file, new Date(), new Date());
    else if (statSync(file).mtimeMs < oldestKeptMs) rmSync(file, { force: true });
  }
  replaceFiles(path.join(made, "docs"), path.join(DIST, "docs"));
  replaceFiles(path.join(made, "vendor"), path.join(DIST, "vendor"));
  renameSync(path.join(made, "index.html"), path.join(DIST, "index.html"));
}

/** File by file, so that each is complete at any time; versioned files of earlier builds stay as well. */
function replaceFiles(made, target) {
  if (!existsSync(made)) return;
  const oldestKeptMs = Date.now() - OLD_KEPT_MS;
  const fresh = new Set(filesOf(made).map((file) => path.relative(made, file)));
  for (const name of fresh) {
    const file = path.join(target, name);
    mkdirSync(path.dirname(file), { recursive: true });
    renameSync(path.join(made, name), file);
  }
  for (const file of filesOf(target)) {
    const name = path.relative(target, file);
    const isOld = !VERSIONED.test(name) || statSync(file).mtimeMs < oldestKeptMs;
    if (!fresh.has(name) && isOld) rmSync(file, { force: true });
  }
}

function runVite(args) {
  const vite = path.join(ROOT, "node_modules/vite/bin/vite.js");
  return runKept(pinnedNode(), [vite, ...args], { ...process.env, NODE_ENV: "production" });
}

function readIfThere(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildPortal().catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
