import * as classes from "../../schemas/manage-data-classes.ts";
import { managed } from "../managed.ts";

const CLASSES = "/manage/workspaces/{workspace}/data-classes";
const ONE = `${CLASSES}/{class}`;
/** 100,000 terms of ordinary length. */
const DEFINITION_MAX_BYTES = 8 * 1024 * 1024;

const summary = {
  name: "acme-projects",
  version: 3,
  terms: 412,
  patterns: 1,
  changed_at: "2026-11-15T09:30:00.000Z",
  changed_by: "ada@example.eu",
  used_by: ["workspace"],
};
const definition = { terms: ["Blue Dune", "Atlas Nord"], patterns: ["\\bPRJ-\\d{4}\\b"] };
const detector = {
  url: "https://presidio.example.eu/analyze",
  language: "de",
  country: "DE",
  zero_data_retention: true,
  no_training: true,
  entities: ["PERSON", "LOCATION"],
  min_score: 0.6,
  timeout_ms: 2000,
};
const attested = { level: "L3" as const, name: "Ada Moreau", reason: "Runs in our own data centre in Frankfurt." };
const shownDetector = {
  ...detector,
  level: "L3",
  attested: { ...attested, at: "2026-11-15T09:30:00.000Z" },
  has_token: true,
};

/** Data classes that a workspace defines, and trying rules on a text. */
export const DATA_CLASS_ROUTES = [
  managed({
    id: "manageListCustomClasses",
    method: "GET",
    path: CLASSES,
    allows: "member",
    tag: "Policy",
    summary: "List own data classes",
    description: "The classes that the workspace defines, by name, and the rules of its policy.",
    answer: classes.CustomClassList,
    example: { answer: { rules: { "acme-projects": { floor: "L2" as const } }, data: [summary], next: null } },
  }),
  managed({
    id: "manageTryDataClasses",
    method: "POST",
    path: `${CLASSES}/test`,
    allows: "member",
    tag: "Policy",
    summary: "Try data classes on a text",
    description:
      "What is found in a text, and what endpoints of each level would receive of it. Nothing is stored, and no provider is called; external detectors of classes are, if a rule names their class and the policy of the workspace allows it.",
    body: classes.DataClassTrial,
    answer: classes.DataClassTrialResult,
    example: {
      body: { text: "Write to jane@mail.example.eu", data_classes: { personal: { action: "redact", below: "L3" } } },
      answer: {
        findings: [
          { class: "personal", detector: "x.email", label: "EMAIL", confidence: "high", offset: 9, length: 20 },
        ],
        counts: { personal: 1 },
        levels: [
          { level: "UNCLASSIFIED", allowed: true, reason: null, action: "redacted", text: "Write to [EMAIL]" },
          { level: "L3", allowed: true, reason: null, action: "none", text: "Write to jane@mail.example.eu" },
        ],
      },
    },
  }),
  managed({
    id: "manageReportDataClasses",
    method: "GET",
    path: `${CLASSES}/report`,
    allows: "admin",
    tag: "Policy",
    summary: "Report requests with data classes",
    description: "Live requests of a period by class, with the level that served them and what was done to the data.",
    query: classes.DataClassReportQuery,
    answer: classes.DataClassReport,
    example: {
      answer: {
        from: "2026-10-01T00:00:00.000Z",
        to: "2026-11-01T00:00:00.000Z",
        data: [
          {
            name: "personal",
            requests: 1204,
            served: [
              { level: "L3", action: "none", requests: 1180 },
              { level: "L1", action: "pseudonymised", requests: 24 },
            ],
            unserved: 0,
            summary: "1,204 requests with personal data: 1,180 at L3, 24 pseudonymised at L1, 0 otherwise",
          },
        ],
        next: null,
      },
    },
  }),
  managed({
    id: "manageShowCustomClass",
    method: "GET",
    path: ONE,
    allows: "admin",
    tag: "Policy",
    summary: "Show an own data class",
    description: "With its terms, patterns and external detector.",
    answer: classes.CustomClassDetail,
    example: { answer: { ...summary, definition: { ...definition, detector: shownDetector } } },
  }),
  managed({
    id: "managePutCustomClass",
    method: "PUT",
    path: ONE,
    allows: "admin",
    tag: "Policy",
    summary: "Define an own data class",
    description:
      "Creates the class or replaces what it looks for, from the next request on. Rules of workspace, keys, routers and requests name it like a built-in class. Stored encrypted.",
    body: classes.CustomClassPut,
    bodyMaxBytes: DEFINITION_MAX_BYTES,
    answer: classes.CustomClassView,
    faults: ["conflict"],
    example: { body: { ...definition, detector: { ...detector, attested, token: "…" } }, answer: summary },
  }),
  managed({
    id: "manageDeleteCustomClass",
    method: "DELETE",
    path: ONE,
    allows: "admin",
    tag: "Policy",
    summary: "Remove an own data class",
    description: "Refused while a rule of the workspace, a key or a router names it.",
    answer: classes.CustomClassRemoved,
    faults: ["conflict"],
    example: { answer: { name: "acme-projects", workspace: "research", removed: true } },
  }),
];
