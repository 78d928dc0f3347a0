import {
  ProbeQuery,
  ProbeRun,
  ProbesMade,
  ProofList,
  proofExample,
  StandingList,
  standingExample,
} from "../../schemas/manage-proofs.ts";
import { managed } from "../managed.ts";

const PROBES = "/manage/probes";

/** Whether endpoints were seen to answer on decisions and speech. */
export const PROOF_ROUTES = [
  managed({
    id: "manageListProofs",
    method: "GET",
    path: "/manage/proofs",
    allows: "person",
    tag: "Proofs",
    summary: "Show which endpoints are proven",
    description:
      "Every connected endpoint that serves decisions or speech. Only proven endpoints are called on these surfaces.",
    answer: StandingList,
    example: { answer: { data: [standingExample], next: null } },
  }),
  managed({
    id: "manageListProbes",
    method: "GET",
    path: PROBES,
    allows: "operator",
    tag: "Proofs",
    summary: "List all proofs",
    query: ProbeQuery,
    answer: ProofList,
    example: { answer: { data: [proofExample], next: null } },
  }),
  managed({
    id: "manageRunProbes",
    method: "POST",
    path: PROBES,
    allows: "operator",
    tag: "Proofs",
    summary: "Probe endpoints now",
    description:
      "Sends questions with known answers for decisions and a short text for speech, with the operator's credential and at the operator's cost. Responds when all probes are finished. Results take effect with the next request.",
    body: ProbeRun,
    bodyOptional: true,
    answer: ProbesMade,
    faults: ["not_found"],
    example: {
      body: { endpoint: proofExample.endpoint },
      answer: { ok: true, data: [{ ...proofExample, cause: "operator" }] },
    },
  }),
];
