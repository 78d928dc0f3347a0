import { useWorkspace } from "../../address.ts";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { REPEATED } from "../requests/columns.tsx";
import type { RequestDetail } from "./detail.ts";

/** Where what has to be done next is done: a screen of the workspace, or a path of its own. */
type Place = { readonly screen: string; readonly action: string };

const POLICY: Place = { screen: "policy", action: "Open the policy" };
const KEYS: Place = { screen: "keys", action: "Open the keys" };

const PLACES: Readonly<Record<string, Place>> = {
  insufficient_credits: { screen: "wallet", action: "Open the wallet" },
  spend_limit_reached: { screen: "limits", action: "Open the limits" },
  rate_limit_exceeded: KEYS,
  insufficient_scope: KEYS,
  ip_not_allowed: KEYS,
  model_not_permitted: POLICY,
  sovereignty_floor_not_met: POLICY,
  compute_country_not_allowed: POLICY,
  zero_data_retention_required: POLICY,
  no_training_required: POLICY,
  provider_blocked: POLICY,
  model_not_found: { screen: "/app/models", action: "See the models" },
  router_not_found: { screen: "routers", action: "Open the routers" },
};

/** What went wrong, in words, and the next step. */
export function Failure({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const { error, status } = request;
  if (error === null) return null;
  const place = PLACES[error.code];
  return (
    <Callout
      tone={error.code === REPEATED ? "info" : status >= 500 || status < 400 ? "bad" : "warn"}
      title={plain(error.says ?? "The request failed.")}
      action={
        place !== undefined && (
          <LinkButton size="small" to={place.screen.startsWith("/") ? place.screen : at(place.screen)}>
            {place.action}
          </LinkButton>
        )
      }
    >
      <p>
        <code className="font-mono text-[0.8125rem]">{error.code}</code>
        {error.next !== null && <span className="ml-2">{plain(error.next)}</span>}
      </p>
    </Callout>
  );
}

/** Sentences of the error catalogue have names between backticks, for its page. */
function plain(sentence: string): string {
  return sentence.replaceAll("`", "");
}
