import { useWorkspace } from "../../address.ts";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { REPEATED } from "../requests/columns.tsx";
import type { RequestDetail } from "./detail.ts";

type Step = {
  readonly text: string;
  /** A screen of the workspace, or a path of its own. */
  readonly screen?: string;
  readonly action?: string;
};

const POLICY: Step = {
  text: "Look below which candidates fell out and by which rule. Loosen the policy, or ask for a model that fits it.",
  screen: "policy",
  action: "Open the policy",
};
const FIELD: Step = {
  text: "Change the request: the answer that the caller got names the field. Sending it again as it is does not help.",
};
const AGAIN: Step = {
  text: "Send it again. If it keeps failing, look at the attempts below, or add a model with more endpoints.",
};

/** What to do next, by the code of the error. */
const STEPS: Readonly<Record<string, Step>> = {
  insufficient_credits: { text: "Top up the wallet, then send it again.", screen: "wallet", action: "Open the wallet" },
  spend_limit_reached: {
    text: "Raise the limit that stopped it, or wait until its period begins anew.",
    screen: "limits",
    action: "Open the limits",
  },
  rate_limit_exceeded: {
    text: "Wait as long as the answer's Retry-After says, send fewer at once, or raise the key's rate.",
    screen: "keys",
    action: "Open the keys",
  },
  model_not_permitted: POLICY,
  sovereignty_floor_not_met: POLICY,
  compute_country_not_allowed: POLICY,
  zero_data_retention_required: POLICY,
  no_training_required: POLICY,
  provider_blocked: POLICY,
  no_eligible_endpoint: {
    text: "Look below why each candidate fell out, then ask for less, or for another model.",
  },
  model_not_found: {
    text: "Check the model's id: the list of models has all of them.",
    screen: "/app/models",
    action: "See the models",
  },
  router_not_found: { text: "Create the router, or correct its name.", screen: "routers", action: "Open the routers" },
  insufficient_scope: { text: "Give the key the scope, or use another key.", screen: "keys", action: "Open the keys" },
  ip_not_allowed: { text: "Add the caller's address to the key's allowlist.", screen: "keys", action: "Open the keys" },
  unsupported_parameter: FIELD,
  invalid_value: FIELD,
  invalid_json: FIELD,
  invalid_request: FIELD,
  context_length_exceeded: { text: "Send a shorter prompt, or ask for a model with a longer context." },
  request_too_large: { text: "Send a smaller body, or split the work into several calls." },
  upstream_error: AGAIN,
  upstream_timeout: AGAIN,
  upstream_invalid_answer: AGAIN,
  service_unavailable: { text: "The gateway was busy. Send it again in a moment." },
  internal_error: { text: "A fault of the gateway. Tell your operator the request id above." },
  [REPEATED]: { text: "Nothing failed and nothing was charged for it. To ask anew, use another key." },
  provider_error: { text: "The provider refused it: its own words are in the answer that the caller got." },
};

/** What went wrong, in words, and the next step. */
export function Failure({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const { error, status } = request;
  if (error === null) return null;
  const step = STEPS[error.code] ?? (status >= 500 ? AGAIN : undefined);
  return (
    <Callout
      tone={error.code === REPEATED ? "info" : status >= 500 || status < 400 ? "bad" : "warn"}
      title={error.says ?? "The request failed."}
      action={
        step?.screen !== undefined && (
          <LinkButton size="small" to={step.screen.startsWith("/") ? step.screen : at(step.screen)}>
            {step.action}
          </LinkButton>
        )
      }
    >
      <p>
        <code className="font-mono text-[0.8125rem]">{error.code}</code>
        {step !== undefined && <span className="ml-2">{step.text}</span>}
      </p>
    </Callout>
  );
}
