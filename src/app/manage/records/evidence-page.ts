import type { EvidenceReport } from "./evidence-report.ts";

const STYLE = `
:root { --ink: #1a202c; --soft: #566075; --line: #d5dae3; --mark: #2b6cb0; --wash: #f4f6f9; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 14px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; padding-bottom: .25rem; border-bottom: 2px solid var(--ink); }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
p { margin: 0 0 .6rem; }
.soft { color: var(--soft); }
table { width: 100%; border-collapse: collapse; margin: .4rem 0 .8rem; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
.long { overflow-wrap: anywhere; min-width: 8rem; }
.wide { overflow-x: auto; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; margin: 1rem 0; padding: 0; }
.facts div { background: var(--wash); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; }
.facts dt { color: var(--soft); font-size: .8rem; }
.facts dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.bar { display: block; height: .5rem; min-width: 1px; background: var(--mark); border-radius: .25rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@page { size: A4; margin: 16mm 14mm; }
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2, h3 { break-after: avoid; }
  tr, .facts div { break-inside: avoid; }
  thead { display: table-header-group; }
  .wide { overflow: visible; }
}
`;

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function text(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? "");
}

type Cell = { readonly html: string; readonly is?: "number" | "long" };
const say = (value: unknown): Cell => ({ html: text(value ?? "–") });
/** A long name or URL that may wrap anywhere. */
const long = (value: unknown): Cell => ({ ...say(value), is: "long" });
/** To the second, in UTC. */
const moment = (iso: string | null, none = "–"): Cell => say(iso === null ? none : atSecond(iso));
const atSecond = (iso: string) => iso.slice(0, 19).replace("T", " ");
const figure = (value: number | string): Cell => ({
  html: text(typeof value === "number" ? value.toLocaleString("en-GB") : value),
  is: "number",
});

const CLASSES = { number: "n", long: "long" } as const;

function table(heads: readonly (string | Cell)[], rows: readonly (readonly Cell[])[], none: string): string {
  if (rows.length === 0) return `<p class="soft">${text(none)}</p>`;
  const cells = (row: readonly Cell[], tag: "th" | "td") =>
    row.map(({ html, is }) => `<${tag}${is === undefined ? "" : ` class="${CLASSES[is]}"`}>${html}</${tag}>`).join("");
  const head = heads.map((one) => (typeof one === "string" ? say(one) : one));
  const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
  return `<div class="wide"><table><thead><tr>${cells(head, "th")}</tr></thead><tbody>\n${body}\n</tbody></table></div>`;
}

const right = (title: string): Cell => ({ html: text(title), is: "number" });

type Group = EvidenceReport["by_level"][number];

function groups(title: string, rows: readonly Group[]): string {
  const all = rows.reduce((sum, { served }) => sum + served, 0);
  const heads = [title, right("requests"), right("input tokens"), right("output tokens"), right("cost"), ""];
  const lines = rows.map((row) => {
    const percent = all === 0 ? 0 : Math.round((1000 * row.served) / all) / 10;
    const bar: Cell = { html: `<span class="bar" style="width:${percent}%"></span>${percent}%` };
    return [
      say(row.name),
      figure(row.served),
      figure(row.input_tokens),
      figure(row.output_tokens),
      figure(`${row.cost} ${row.currency}`),
      bar,
    ];
  });
  return table(heads, lines, "No requests were served.");
}

function policyText(policy: EvidenceReport["policies"][number]["policy"]): string {
  const rules = [
    policy.floor === null ? undefined : `floor ${policy.floor}`,
    policy.countries === null ? undefined : `countries ${policy.countries.join(", ")}`,
    policy.zero_data_retention ? "zero data retention" : undefined,
    policy.no_training ? "no training" : undefined,
    policy.blocked_providers.length === 0 ? undefined : `blocked: ${policy.blocked_providers.join(", ")}`,
    policy.allowed_models === null ? undefined : `models: ${policy.allowed_models.join(", ")}`,
    policy.own_nodes === "exempt" ? "own nodes exempt from the floor" : undefined,
    policy.test_keys === "simulated" ? "test keys: simulated providers only" : undefined,
    policy.parameters === null ? undefined : `parameters: ${policy.parameters}`,
  ].filter((rule) => rule !== undefined);
  return rules.length === 0 ? "no restrictions" : rules.join("; ");
}

function policies(report: EvidenceReport): string {
  const rows = report.policies.map((one) => [
    say(one.subject === "workspace" ? "workspace" : `key ${one.key_name ?? one.key_id}`),
    figure(one.version),
    moment(one.in_force_from),
    moment(one.in_force_until, "now"),
    say(policyText(one.policy)),
    say(one.excluded.map(({ rule, endpoints }) => `${endpoints} by ${rule}`).join("; ") || "none"),
    figure(one.requests),
  ]);
  const heads = ["whose", right("version"), "from", "until", "demands", "excluded endpoints", right("requests")];
  return table(heads, rows, "No policy version was recorded in this period.");
}

function endpointEvidence(one: EvidenceReport["evidence"][number]): string {
  const levels = one.recorded_levels.join(", ");
  const head = `<h3>${text(one.endpoint)}</h3>`;
  if (!("level" in one))
    return `${head}<p>Level when it served: ${text(levels)}. ${"own_node" in one ? "This was a node of the workspace; it no longer exists." : "The current catalogue does not have this endpoint."}</p>`;
  const facts = `Level when it served: ${levels}. Current level: ${one.level} (${one.reason}; confidence ${one.confidence}). Operator: ${one.operator ?? "unknown"}. Compute countries: ${one.countries.join(", ") || "unknown"} (${one.countries_kind}). Zero data retention: ${one.zero_data_retention}. Trains on data: ${one.trains_on_data}.`;
  const rows = one.sources.map(({ subject, claim, status, url, kind, read, missing, stale }) => [
    say(subject),
    say(missing === null ? claim : `${claim} Missing: ${missing}`),
    say(status),
    long(url),
    say(kind === "primary" ? "provider" : "third party"),
    say(stale ? `${read} (older than 180 days)` : read),
  ]);
  const attested = ("attestations" in one ? one.attestations : []).map(
    ({ level, name, reason, at, recorded_by, ended_at }) =>
      `<p>${text(`Attested ${level} by ${name} on ${at} (recorded by ${recorded_by}, ${ended_at === null ? "in force" : `ended ${ended_at}`}): ${reason}`)}</p>`,
  );
  return `${head}<p>${text(facts)}</p>${attested.join("")}${table(["subject", "statement", "status", "source", "type", "read"], rows, "No source is recorded.")}`;
}

function windows(report: EvidenceReport): string {
  const rows = report.capture_windows.map((one) => [
    long(one.id),
    moment(one.opened_at),
    moment(one.closed_at ?? one.closes_at),
    say(one.opened_by),
    say(one.reason ?? "no reason stated"),
    say(one.retention),
    figure(one.items),
  ]);
  const heads = ["window", "opened", "closed", "by", "why", "retention", right("captured requests")];
  return table(heads, rows, "No capture window was open: no prompt or response was captured.");
}

function servedRows(report: EvidenceReport): string {
  const rows = report.served.map((row) => [
    say(row.policy_version ?? "not recorded"),
    say(row.environment),
    long(row.endpoint),
    say(row.level),
    say(row.countries.join(", ") || "unknown"),
    figure(row.served),
    figure(row.input_tokens),
    figure(row.output_tokens),
    figure(`${row.cost} ${row.currency}`),
  ]);
  const amounts = [right("requests"), right("input tokens"), right("output tokens"), right("cost")];
  const heads = ["policy version", "environment", "endpoint", "level", "countries", ...amounts];
  return table(heads, rows, "No requests were served.");
}

function refusals(report: EvidenceReport): string {
  const rows = report.refused.map((row) => [
    say(row.policy_version ?? "not recorded"),
    say(row.rule),
    figure(row.requests),
  ]);
  return table(["policy version", "rule", right("requests")], rows, "No request was refused by a policy.");
}

function routers(report: EvidenceReport): string {
  const rows = report.routers.map((one) => [
    say(one.slug),
    figure(one.version),
    moment(one.in_force_from),
    moment(one.in_force_until, "now"),
    long(JSON.stringify(one.spec)),
    figure(one.requests),
  ]);
  const heads = ["router", right("version"), "from", "until", "says", right("requests")];
  return table(heads, rows, "The workspace had no routers.");
}

function dataClasses({ data_classes: classes }: EvidenceReport): string {
  if (classes.length === 0)
    return '<p class="soft">No request with a data class is in the log: none was found, or no rule had requests inspected.</p>';
  return `<ul>${classes.map(({ summary }) => `<li>${text(summary)}</li>`).join("")}</ul>`;
}

function facts(report: EvidenceReport): string {
  const { totals } = report;
  // Requests that failed midway count as served and as failed, so the page must say how many.
  const inPart = totals.failed_in_part;
  const failed = totals.failed.toLocaleString("en-GB");
  const repeated: readonly (readonly [string, string])[] =
    totals.repeated === 0 ? [] : [["repeated", totals.repeated.toLocaleString("en-GB")]];
  const shown: readonly (readonly [string, string])[] = [
    ["requests", totals.requests.toLocaleString("en-GB")],
    ["served", totals.served.toLocaleString("en-GB")],
    ["refused by policy", totals.refused_by_policy.toLocaleString("en-GB")],
    ["failed", inPart > 0 ? `${failed}, ${inPart.toLocaleString("en-GB")} of them partially served` : failed],
    ...repeated,
    ["cost", `${totals.cost} ${totals.currency}`],
  ];
  return `<dl class="facts">${shown.map(([name, value]) => `<div><dt>${text(name)}</dt><dd>${text(value)}</dd></div>`).join("")}</dl>`;
}

function reach(report: EvidenceReport): string {
  const begins = report.log_begins_at;
  if (begins === null) return "The log has no requests of this workspace.";
  const isWhole = begins <= report.period.from;
  return isWhole
    ? "The log covers the whole period."
    : `The oldest request in the log is from ${atSecond(begins)}; earlier requests, if any, are not in this report.`;
}

/** The report as one printable page: it loads and runs nothing, and all text is escaped. */
export function evidencePage(report: EvidenceReport): string {
  const { workspace, period, stored_responses: stored } = report;
  const storedText = stored.allowed
    ? `Responses that callers store are kept for ${stored.retention}, encrypted with a key of the workspace.`
    : "The workspace's policy requires zero data retention: no response can be stored.";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evidence report: ${text(workspace.name)}</title><style>${STYLE}</style></head><body><main>
<h1>Evidence report: ${text(workspace.name)}</h1>
<p class="soft">Workspace ${text(workspace.slug)} (${text(workspace.id)}). Period: ${text(atSecond(period.from))} to ${text(atSecond(period.to))} (exclusive). Generated ${text(atSecond(report.generated_at))} with catalogue ${text(report.catalogue.version)}. All times are UTC. ${text(reach(report))}</p>
${facts(report)}
<h2>Levels (live traffic)</h2>${groups("level", report.by_level)}
<h2>Data classes (live traffic)</h2>${dataClasses(report)}
<h2>Countries (live traffic)</h2>
<p class="soft">Countries in which a request may have been computed, according to the catalogue at the time of the request.</p>${groups("countries", report.by_country)}
<h2>Providers (live traffic)</h2>${groups("provider", report.by_provider)}
<h2>Serving endpoints by policy version</h2>${servedRows(report)}
<h2>Refused by policy</h2>${refusals(report)}
<h2>Policies in force</h2>
<p class="soft">A request counts for the version in force when it arrived. Excluded endpoints refer to the current catalogue.</p>${policies(report)}
<h2>Routers in force</h2>${routers(report)}
<h2>Evidence for the levels</h2>${report.evidence.length === 0 ? '<p class="soft">No requests were served.</p>' : report.evidence.map(endpointEvidence).join("\n")}
<h2>Capture windows</h2>${windows(report)}
<h2>Stored responses</h2><p>${text(storedText)}</p>
</main></body></html>
`;
}
