import { EvidenceQuery, EvidenceView } from "../../schemas/manage-evidence.ts";
import { managed } from "../managed.ts";

const served = { served: 1204, input_tokens: 812_400, output_tokens: 96_120, cost: "1.214", currency: "EUR" };
const endpoint = "scaleway:fr-par:openai/gpt-oss-120b";

export const EVIDENCE_ROUTES = [
  managed({
    id: "manageShowEvidence",
    method: "GET",
    path: "/manage/workspaces/{workspace}/evidence",
    allows: "admin",
    tag: "Request log",
    summary: "Report which endpoints served the workspace, where, and under which policy",
    description:
      "Providers, countries and levels that served requests in a period, how many, and under which policy versions; requests refused and endpoints excluded by policies; sources and dates of the evidence for each level; capture windows and stored responses. At most 366 days. `format=html` returns a printable page without scripts.",
    query: EvidenceQuery,
    answer: EvidenceView,
    or: "text/html",
    example: {
      answer: {
        workspace: { id: "ws_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f", slug: "research", name: "Research" },
        period: { from: "2026-10-01T00:00:00.000Z", to: "2026-11-01T00:00:00.000Z" },
        generated_at: "2026-11-15T09:30:00.000Z",
        log_begins_at: "2026-09-12T07:14:09.120Z",
        totals: { requests: 1220, refused_by_policy: 12, failed: 4, failed_in_part: 0, repeated: 0, ...served },
        by_level: [{ name: "L3", ...served }],
        by_country: [{ name: "FR", ...served }],
        by_provider: [{ name: "scaleway", ...served }],
        served: [
          {
            policy_version: 2,
            environment: "live",
            provider: "scaleway",
            endpoint,
            model: "openai/gpt-oss-120b",
            level: "L3",
            countries: ["FR"],
            ...served,
          },
        ],
        refused: [{ policy_version: 2, rule: "sovereignty_floor_not_met", requests: 12 }],
        policies: [
          {
            subject: "workspace",
            key_id: null,
            key_name: null,
            version: 2,
            in_force_from: "2026-09-14T08:00:00.000Z",
            in_force_until: null,
            policy: {
              floor: "L2",
              countries: ["DE", "FR"],
              zero_data_retention: false,
              no_training: true,
              blocked_providers: [],
              allowed_models: null,
              own_nodes: "subject" as const,
              test_keys: "any" as const,
              parameters: null,
            },
            requests: 1220,
            excluded: [{ rule: "sovereignty_floor_not_met", endpoints: 2, providers: ["deepinfra", "openai"] }],
          },
        ],
        routers: [],
        data_classes: [],
        evidence: [{ endpoint, recorded_levels: ["L3"], in_catalogue: false }],
        catalogue: { version: "3f1c9a", built_at: "2026-11-15T06:00:00.000Z" },
        capture_windows: [],
        stored_responses: { allowed: true, retention: "30d" },
      },
    },
  }),
];
