/**
 * `npm run sbom`: writes a CycloneDX 1.5 bill of materials to `sbom.cdx.json` from the lock file: reproducible and without
 * network access. `-- file` writes to another file, `--all` includes development dependencies, `--licences` prints a list
 * by licence instead.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ROOT } from "./setup.mjs";

/** @param {{ all: boolean }} options */
export function sbom({ all }) {
  const lockText = readFileSync(path.join(ROOT, "package-lock.json"), "utf8");
  const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const { packages } = JSON.parse(lockText);
  const own = { type: "application", name: manifest.name, version: manifest.version };
  const ownRef = refOf(manifest.name, manifest.version);
  const components = new Map();
  const needs = new Map([[ownRef, new Set()]]);
  for (const [where, entry] of Object.entries(packages)) {
    if (where !== "" && isTool(entry) && !all) continue;
    const ref = where === "" ? ownRef : refOf(nameAt(where), entry.version);
    const known = needs.get(ref) ?? new Set();
    for (const found of neededBy(where, entry, packages, all)) known.add(found);
    needs.set(ref, known);
    if (where !== "") components.set(ref, components.get(ref) ?? componentOf(ref, nameAt(where), entry));
  }
  const vendored = vendoredComponent();
  components.set(vendored["bom-ref"], vendored);
  needs.set(vendored["bom-ref"], new Set());
  needs.get(ownRef).add(vendored["bom-ref"]);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${uuidOf(`${lockText}${vendored["bom-ref"]}${all}`)}`,
    version: 1,
    metadata: {
      lifecycles: [{ phase: "pre-build" }],
      component: {
        "bom-ref": ownRef,
        ...own,
        purl: purlOf(own.name, own.version),
        licenses: licencesOf(manifest.license),
      },
    },
    components: sorted(components).map(([, component]) => component),
    dependencies: sorted(needs).map(([ref, on]) => ({ ref, dependsOn: [...on].sort() })),
  };
}

function componentOf(ref, name, entry) {
  const { version, integrity, license, optional, os, cpu } = entry;
  const dev = isTool(entry);
  const properties = [
    ...(dev ? [{ name: "cdx:npm:package:development", value: "true" }] : []),
    ...(os === undefined && cpu === undefined ? [] : [{ name: "platform", value: [os, cpu].flat().join(" ").trim() }]),
  ];
  return {
    "bom-ref": ref,
    type: "library",
    ...(name.startsWith("@") ? { group: name.split("/")[0] } : {}),
    name: name.startsWith("@") ? name.split("/")[1] : name,
    version,
    scope: dev ? "excluded" : optional ? "optional" : "required",
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
    ...(license === undefined ? {} : { licenses: licencesOf(license) }),
    purl: purlOf(name, version),
    ...(properties.length > 0 ? { properties } : {}),
  };
}

/** The script in portal/vendor, which is not installed by npm. */
function vendoredComponent() {
  const origin = JSON.parse(readFileSync(path.join(ROOT, "portal/vendor/origin.json"), "utf8"));
  const { package: name, version, integrity, licence } = origin;
  return componentOf(refOf(name, version), name, { version, integrity, license: licence });
}

/** The dependencies of a package, resolved as npm does. */
function neededBy(where, entry, packages, all) {
  const wanted = { ...entry.dependencies, ...entry.optionalDependencies, ...entry.peerDependencies };
  if (where === "" && all) Object.assign(wanted, entry.devDependencies);
  return Object.keys(wanted).flatMap((name) => {
    const found = packages[whereIs(name, where, packages)];
    return found === undefined || (isTool(found) && !all) ? [] : [refOf(name, found.version)];
  });
}

/** Resolves a dependency's lock file entry as Node does: nested first, then each parent folder. */
export function whereIs(name, where, packages) {
  for (let at = where; ; at = at.slice(0, Math.max(at.lastIndexOf("/node_modules/"), 0))) {
    const place = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (at === "") return undefined;
  }
}

/** Includes npm's devOptional: optional peers of runtime packages that only development installs. */
export function isTool({ dev, devOptional }) {
  return dev === true || devOptional === true;
}

function nameAt(where) {
  return where.slice(where.lastIndexOf("node_modules/") + "node_modules/".length);
}

function refOf(name, version) {
  return `${name}@${version}`;
}

function purlOf(name, version) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hashOf(integrity) {
  const [kind, digest] = [integrity.slice(0, integrity.indexOf("-")), integrity.slice(integrity.indexOf("-") + 1)];
  return { alg: kind.replace("sha", "SHA-"), content: Buffer.from(digest, "base64").toString("hex") };
}

function licencesOf(license) {
  return [/ (?:OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }];
}

/** Derived from the lock file instead of random, so that the output is reproducible. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

function sorted(map) {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Packages grouped by licence, for a licence review. */
function licenceList({ components }) {
  const byLicence = new Map();
  for (const { purl, licenses = [] } of components) {
    const name = licenses[0]?.expression ?? licenses[0]?.license.id ?? "(not stated)";
    byLicence.set(name, [...(byLicence.get(name) ?? []), decodeURIComponent(purl.slice("pkg:npm/".length))]);
  }
  return sorted(byLicence)
    .map(([licence, names]) => `${licence}\n${names.map((name) => `  ${name}\n`).join("")}`)
    .join("");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { all: { type: "boolean", default: false }, licences: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const made = sbom(values);
  if (values.licences) process.stdout.write(licenceList(made));
  else {
    const file = path.resolve(positionals[0] ?? path.join(ROOT, "sbom.cdx.json"));
    writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`);
    process.stdout.write(`${made.components.length} packages in ${file}\n`);
  }
}
