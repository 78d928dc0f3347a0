import { readFileSync } from "node:fs";
import path from "node:path";

/** The mark of the portal (portal/src/mark.svg). */
export const MARK = `<svg aria-hidden="true" xmlns="http://www.w3.org/2000/svg" width="22" height="22" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#0b5f7c"/><path d="M6.5 18.5V12a5.5 5.5 0 0 1 11 0v6.5M12 12.5v6" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round"/><circle cx="12" cy="12" r="1.9" fill="#fff"/></svg>`;

/** The mark as the icon of a page. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(MARK)}`;

export const TEXT_FONT = '"Inter Variable", system-ui, sans-serif';
export const CODE_FONT = '"JetBrains Mono Variable", ui-monospace, Menlo, Consolas, monospace';

const FAMILIES = [
  { family: "Inter Variable", file: "inter-latin-wght-normal" },
  { family: "JetBrains Mono Variable", file: "jetbrains-mono-latin-wght-normal" },
] as const;

/** Declares the portal's fonts for pages outside of it; empty while the portal is not built. */
export function fontFaces(portalFolder: string): string {
  const files = builtFiles(portalFolder);
  return FAMILIES.flatMap(({ family, file }) => {
    const built = files.find((name) => name.startsWith(`assets/${file}-`) && name.endsWith(".woff2"));
    if (built === undefined) return [];
    return `@font-face { font-family: "${family}"; font-weight: 100 900; font-display: swap; src: url("/app/${built}") format("woff2"); }\n`;
  }).join("");
}

function builtFiles(portalFolder: string): string[] {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path.join(portalFolder, "assets/manifest.json"), "utf8"));
    if (typeof manifest !== "object" || manifest === null) return [];
    return Object.values(manifest).flatMap(({ file }) => (typeof file === "string" ? [file] : []));
  } catch {
    return [];
  }
}
