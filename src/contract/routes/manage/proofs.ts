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
    summary: "Show which endpoints are proven now",
    description:
      "Every connected endpoint that serves decisions or speech; only those that are proven are called there.",
    answer: StandingList,
    example: { answer: { data: [standingExample], next: null } },
  }),
  managed({
    id: "manageListProbes",
    method: "GET",
    path: PROBES,
    allows: "operator",
    tag: "Proofs",
    summary: "List every proof that was made",
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
    summary: "Ask endpoints now whether they answer",
    description:
      "Questions with known answers for decisions, a short text for speech, with the operator's credential and at the operator's cost. The answer comes when all have answered. What follows from it holds from the next request on.",
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
