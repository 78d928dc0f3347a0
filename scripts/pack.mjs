/**
 * `npm run pack`: makes the release package `inference-gateway-<version>.tgz`, which needs no clone, no set-up and no packages
 * but the optional pinned Node. `-- folder` writes it there instead of into the working folder.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { writeReleaseBundle } from "./bundle.mjs";
import { licenceTexts } from "./licence-texts.mjs";
import { buildPortal, portalFiles } from "./portal.mjs";
import { sbom } from "./sbom.mjs";
import { ROOT, runKept, setUp } from "./setup.mjs";

/** Copied as they are. Their places are those of the clone: the bundle finds them two folders above itself. */
const COPIED = [
  "catalogue",
  "src/sandbox/catalogue",
  "scripts/launch.mjs",
  "scripts/follow-launcher.mjs",
  "bin/package.json",
  "deploy/haproxy",
  "deploy/nginx",
  "deploy/observe",
  "deploy/postgres",
  "deploy/systemd",
  "CHANGELOG.md",
  "LICENSE",
  "THIRD_PARTY_NOTICES.md",
];

/** Packs the release and returns the path of the tarball. */
export async function packRelease(target) {
  await setUp("run");
  await buildPortal();
  mkdirSync(path.join(ROOT, ".cache"), { recursive: true });
  const stage = mkdtempSync(path.join(ROOT, ".cache/packing-"));
  try {
    await stageRelease(stage);
    return await npmPack(stage, target);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Writes the files of the release package; packages and portal must be there. */
export async function stageRelease(stage) {
  await writeReleaseBundle(path.join(stage, "dist/gateway"));
  copyFiles(stage);
  writeFileSync(path.join(stage, "package.json"), `${JSON.stringify(releaseManifest(), null, 2)}\n`);
  writeFileSync(path.join(stage, "LICENCES.txt"), licenceTexts());
  writeFileSync(path.join(stage, "sbom.cdx.json"), `${JSON.stringify(sbom({ all: false }), null, 2)}\n`);
}

function copyFiles(stage) {
  const copy = (from, to = from) => cpSync(path.join(ROOT, from), path.join(stage, to), { recursive: true });
  for (const name of COPIED) copy(name);
  for (const name of portalFiles()) copy(path.join("portal/dist", name));
  copy("deploy/package/README.md", "README.md");
  copy("deploy/package/gateway", "bin/gateway");
  chmodSync(path.join(stage, "bin/gateway"), 0o755);
}

/** Everything is bundled, so only the pinned Node is left to depend on. */
function releaseManifest() {
  const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const { name, version, description, license, type, bin, engines, optionalDependencies } = manifest;
  return { name, version, description, license, type, bin, engines, optionalDependencies };
}

async function npmPack(stage, target) {
  mkdirSync(target, { recursive: true });
  const args = ["pack", stage, "--pack-destination", target, "--json", "--loglevel=error"];
  const { code, output } = await runKept("npm", args);
  if (code !== 0) throw new Error(`${output.trimEnd()}\n"npm ${args.join(" ")}" ended with ${code}.`);
  const { name, version } = releaseManifest();
  return path.join(target, `${name}-${version}.tgz`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  packRelease(path.resolve(process.argv[2] ?? ".")).then(
    (file) => process.stdout.write(`${file}\n`),
    (error) => {
      process.stderr.write(`${error.message}\n`);
      process.exit(1);
    },
  );
}
