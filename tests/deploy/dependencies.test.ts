import { readFileSync } from "node:fs";
import path from "node:path";
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

describe("dependency policy", () => {
  test("versions are exact", () => {
    const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
    const loose = Object.entries({ ...all, ...manifest.overrides }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
    );
    expect(loose).toEqual([]);
  });

  test("every installed package is locked by its digest, without a registry URL", () => {
    const open = packages.filter(([, { integrity }]) => integrity?.startsWith("sha512-") !== true);
    expect(
      open.filter(([, entry]) => isSupportedPlatform(entry) || entry.optional !== true).map(([where]) => where),
    ).toEqual([]);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test("no install scripts of packages run", () => {
    const settings = read(".npmrc").split("\n");
    for (const line of ["ignore-scripts=true", "save-exact=true"]) expect(settings).toContain(line);
    // These would only choose between two versions of a framework for the page /docs, which is shipped built.
    const withScripts = packages.filter(([, entry]) => entry.hasInstallScript === true).map(([where]) => where);
    expect(withScripts.filter((where) => !where.endsWith("/vue-demi"))).toEqual([]);
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
    const refused = packages.filter(
      ([, { license = "none", ...entry }]) => isSupportedPlatform(entry) && !isAllowed(license),
    );
    expect(refused.map(([where, { license }]) => `${where}: ${license}`)).toEqual([]);
    const copyleft = packages.filter(([, { license, dev }]) => license === "MPL-2.0" && dev !== true);
    expect(copyleft.filter(([where]) => !where.includes("/lightningcss")).map(([where]) => where)).toEqual([]);
  });

  test("each runtime package has its reason on the page, and no other is listed", () => {
    const [, table = ""] = page.split("## What runs, and why");
    const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/[^`, ]+/g) ?? []);
    const used = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(named.sort()).toEqual(used.sort());
  });
});

describe("the SBOM", () => {
  test("has every package of the lock file, once, with digest and licence, and is deterministic", () => {
    const made = sbom({ all: true });
    const locked = new Set(packages.map(([where, { version }]) => `${where.split("node_modules/").at(-1)}@${version}`));
    expect(made.components.map((component) => component["bom-ref"]).sort()).toEqual([...locked].sort());
    expect(made.components.filter(({ hashes }) => hashes !== undefined).length).toBeGreaterThan(500);
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
