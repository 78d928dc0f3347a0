import { ErrorCode } from "../../ui/docs-link.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { useWorkspace } from "../../url-state.ts";
import { IDEMPOTENT_REPLAY } from "../requests/columns.tsx";
import type { RequestDetail } from "./detail.ts";

/** The screen that resolves an error: relative to the workspace, or an absolute path. */
type ErrorAction = { readonly screen: string; readonly action: string };

const VIEW_POLICY: ErrorAction = { screen: "policy", action: "View policy" };
const VIEW_KEYS: ErrorAction = { screen: "keys", action: "View keys" };

const ERROR_ACTIONS: Readonly<Record<string, ErrorAction>> = {
  insufficient_credits: { screen: "wallet", action: "View wallet" },
  spend_limit_reached: { screen: "limits", action: "View limits" },
  rate_limit_exceeded: VIEW_KEYS,
  insufficient_scope: VIEW_KEYS,
  ip_not_allowed: VIEW_KEYS,
  model_not_permitted: VIEW_POLICY,
  sovereignty_floor_not_met: VIEW_POLICY,
  compute_country_not_allowed: VIEW_POLICY,
  zero_data_retention_required: VIEW_POLICY,
  no_training_required: VIEW_POLICY,
  provider_blocked: VIEW_POLICY,
  simulated_provider_required: VIEW_POLICY,
  model_not_found: { screen: "/app/models", action: "View models" },
  router_not_found: { screen: "routers", action: "View routers" },
};

export function Failure({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const { error, status } = request;
  if (error === null) return null;
  const errorAction = ERROR_ACTIONS[error.code];
  return (
    <Callout
      tone={error.code === IDEMPOTENT_REPLAY ? "info" : status >= 500 || status < 400 ? "bad" : "warn"}
      title={stripBackticks(error.says ?? "The request failed.")}
      action={
        errorAction !== undefined && (
          <LinkButton
            size="small"
            to={errorAction.screen.startsWith("/") ? errorAction.screen : at(errorAction.screen)}
          >
            {errorAction.action}
          </LinkButton>
        )
      }
    >
      <p>
        <ErrorCode code={error.code} className="text-[0.8125rem]" />
        {error.next !== null && <span className="ml-2">{stripBackticks(error.next)}</span>}
      </p>
    </Callout>
  );
}

/** Messages of the error catalogue contain Markdown code spans. */
function stripBackticks(sentence: string): string {
  return sentence.replaceAll("`", "");
}
