import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { sbom } from "../../scripts/sbom.mjs";
import { PROJECT_ROOT } from "../../src/settings/config.ts";

type Entry = {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: readonly string[];
};

const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
const manifest = JSON.parse(read("package.json"));
const page = read("docs/guides/dependencies.md");
const packages = Object.entries<Entry>(JSON.parse(read("package-lock.json").toString()).packages).filter(
  ([where]) => where !== "",
);

/** Installed on Linux with glibc, on x64 or arm64: where tests, image and servers run. */
function isSupportedPlatform({ os, cpu, libc }: Entry): boolean {
  const fits = (given: Entry["os"], ours: readonly string[]) =>
    given === undefined || [given].flat().some((one) => ours.includes(one));
  return fits(os, ["linux"]) && fits(cpu, ["x64", "arm64"]) && fits(libc, ["glibc"]);
}

/** Of a package whose manifest states none. */
function licenceInFile(where: string): string {
  const [title = ""] = read(`${where}/LICENSE`).split("\n");
  return title === "MIT License" ? "MIT" : `unknown: ${title}`;
}

describe("dependency policy", () => {
  test("versions are exact", () => {
    const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
    const loose = Object.entries({ ...all, ...manifest.overrides }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
    );
    expect(loose).toEqual([]);
  });

  test("SAFE-05 every entry of the lock file has a SHA-512 and no registry URL, for every platform", () => {
    const open = packages.filter(([, { integrity }]) => integrity?.startsWith("sha512-") !== true);
    expect(open.map(([where]) => where)).toEqual([]);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test("no install scripts of packages run", () => {
    const settings = read(".npmrc").split("\n");
    for (const line of ["ignore-scripts=true", "save-exact=true"]) expect(settings).toContain(line);
    expect(packages.filter(([, entry]) => entry.hasInstallScript === true).map(([where]) => where)).toEqual([]);
  });

  test("licences are on the page's list", () => {
    const [, section = ""] = page.split("## Licences");
    const allowed = new Set([...(section.split("\n## ")[0] ?? "").matchAll(/`([\w.-]+)`/g)].map(([, name]) => name));
    expect(allowed.size).toBeGreaterThan(5);
    const isAllowed = (license: string) =>
      license
        .replace(/^\(|\)$/g, "")
        .split(" OR ")
        .some((one) => allowed.has(one));
    const stated = packages
      .filter(([, entry]) => isSupportedPlatform(entry))
      .map(([where, { license }]) => ({ where, license: license ?? licenceInFile(where) }));
    expect(stated.filter(({ license }) => !isAllowed(license))).toEqual([]);
    const copyleft = packages.filter(([, { license, dev }]) => license === "MPL-2.0" && dev !== true);
    expect(copyleft.filter(([where]) => !where.includes("/lightningcss")).map(([where]) => where)).toEqual([]);
  });

  test("OPS-20 no development package is installed with the runtime unless npm treats it as an optional peer", () => {
    const installed = packages
      .filter(([, { dev }]) => dev !== true)
      .map(([where]) => where.slice("node_modules/".length));
    const tools = Object.keys(manifest.devDependencies).filter((name) => installed.includes(name));
    expect(tools.sort()).toEqual(["@types/node", "@types/react", "vitest"]);
  });

  test("OPS-20 the packages of `npm start` take at most 450 MB", () => {
    const installed = packages.filter(([where, { dev }]) => dev !== true && !where.includes("/node_modules/"));
    const folders = installed.map(([where]) => path.join(PROJECT_ROOT, where)).filter(existsSync);
    const files = folders.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }));
    const sizes = files.map((file) => (file.isFile() ? statSync(path.join(file.parentPath, file.name)).size : 0));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(450_000_000);
  });

  test("OPS-05 what is built for x64 is there for arm64 too: images are made for both", () => {
    const builtFor = (arch: string) =>
      packages
        .filter(([, entry]) => entry.dev !== true && isSupportedPlatform(entry))
        .filter(([, { cpu }]) => cpu !== undefined && [cpu].flat().includes(arch))
        .map(([where]) => where);
    expect(builtFor("x64").length).toBeGreaterThan(3);
    expect(builtFor("arm64")).toEqual(builtFor("x64").map((where) => where.replace("x64", "arm64")));
  });

  test("each runtime package has its reason on the page, and no other is listed", () => {
    const [, table = ""] = page.split("## What runs, and why");
    const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/[^`, ]+/g) ?? []);
    const used = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(named.sort()).toEqual(used.sort());
  });
});

describe("files with an origin outside the lock file", () => {
  test("SAFE-05 the vendored script has the digest of its recorded origin", () => {
    const origin = JSON.parse(read("portal/vendor/origin.json"));
    expect(readdirSync(path.join(PROJECT_ROOT, "portal/vendor")).sort()).toEqual([origin.file, "origin.json"]);
    const packed = readFileSync(path.join(PROJECT_ROOT, "portal/vendor", origin.file));
    expect(hash("sha256", brotliDecompressSync(packed))).toBe(origin.sha256);
    expect(origin.file).toBe(`api-reference-${origin.version}.js.br`);
  });

  test("SAFE-05 every pinned Node has a recorded digest, and the installed one matches it", () => {
    const { version, sha256 } = JSON.parse(read("scripts/runtime.json"));
    const pinned = Object.entries(manifest.optionalDependencies);
    expect(Object.keys(sha256).sort()).toEqual(pinned.map(([name]) => name).sort());
    expect(new Set(pinned.map(([, wanted]) => wanted))).toEqual(new Set([version]));
    const files = Object.keys(sha256).map((name) => [name, path.join(PROJECT_ROOT, "node_modules", name, "bin/node")]);
    for (const [name = "", file = ""] of files)
      if (existsSync(file)) expect(hash("sha256", readFileSync(file)), name).toBe(sha256[name]);
  });
});

describe("the SBOM", () => {
  test("has every package of the lock file, once, with digest and licence, and is deterministic", () => {
    const made = sbom({ all: true });
    const locked = new Set(packages.map(([where, { version }]) => `${where.split("node_modules/").at(-1)}@${version}`));
    const { package: vendored, version } = JSON.parse(read("portal/vendor/origin.json"));
    locked.add(`${vendored}@${version}`);
    expect(made.components.map((component) => component["bom-ref"]).sort()).toEqual([...locked].sort());
    expect(made.components.filter(({ hashes }) => hashes === undefined)).toEqual([]);
    expect(JSON.stringify(made)).toBe(JSON.stringify(sbom({ all: true })));
    expect(JSON.stringify(made)).not.toMatch(/registry|\d{4}-\d\d-\d\dT/);
  });

  test("of the runtime has no development tools, and only edges between its packages", () => {
    const made = sbom({ all: false });
    const refs = new Set(made.dependencies.map(({ ref }) => ref));
    expect(made.components.filter(({ scope }) => scope === "excluded")).toEqual([]);
    expect(made.components.some(({ purl }) => purl.startsWith("pkg:npm/vitest@"))).toBe(false);
    expect(made.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
    const own = made.dependencies.find(({ ref }) => ref === `${manifest.name}@${manifest.version}`);
    for (const name of Object.keys(manifest.dependencies))
      expect(
        own?.dependsOn.some((ref) => ref.startsWith(`${name}@`)),
        name,
      ).toBe(true);
  });
});
