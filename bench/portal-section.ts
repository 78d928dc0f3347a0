import type { ScreenVisit } from "../tests/e2e/support/visit-screens.ts";

export const NETWORK = { kilobitsPerSecond: 1_600, roundTripMs: 150, cpuSlowdown: 4 } as const;

const HOME_LIMIT_MS = 1_200;
const SCREEN_LIMIT_MS = 2_000;

const HEADING = "## Portal";

/** The slowest acceptable time until a screen is interactive. */
export function limitMs({ path }: Pick<ScreenVisit, "path">): number {
  return path === "/app/w/demo" ? HOME_LIMIT_MS : SCREEN_LIMIT_MS;
}

/** The section of docs/benchmarks.md about the speed of screens. */
export function renderPortalSection(visits: readonly ScreenVisit[], machine: string, startedAt: string): string {
  const rows = visits.map((visit) => {
    const met = visit.readyMs <= limitMs(visit) ? "met" : "**not met**";
    return `| \`${visit.path}\` | ${Math.round(visit.readyMs)} ms | ${kilobytes(visit.apiBytes)} | ${met} |`;
  });
  return `${HEADING}

Written by \`npm run portal-speed\`; do not edit. Time from the start of a navigation until a screen shows its content and loads nothing more, with a warm asset cache, at ${NETWORK.kilobitsPerSecond / 1000} Mbit/s, ${NETWORK.roundTripMs} ms round trip and ${NETWORK.cpuSlowdown} × CPU slowdown, in Chromium; the median of the runs. API data is compressed and with an empty cache. Limits: Home ${HOME_LIMIT_MS} ms, every other screen ${SCREEN_LIMIT_MS} ms.

${machine}. Run of ${startedAt}.

| screen | interactive | API data | |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

/** The page with the section in place of the one it had; `npm run bench` writes the rest and keeps it. */
export function withPortalSection(page: string, section: string | undefined): string {
  const [rest = ""] = page.split(`\n${HEADING}\n`);
  return section === undefined ? rest : `${rest.trimEnd()}\n\n${section}`;
}

/** Undefined: the page has none. */
export function portalSectionOf(page: string): string | undefined {
  const at = page.indexOf(`\n${HEADING}\n`);
  return at < 0 ? undefined : page.slice(at + 1);
}
