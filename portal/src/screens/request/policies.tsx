import { useWorkspace } from "../../address.ts";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import type { RequestDetail } from "./detail.ts";

type Policy = Omit<RequestDetail["policies"][number]["policy"], "floor"> & { readonly floor: string | null };

/** The demands of a policy in words; an open one demands nothing. */
export function policyRequirements(policy: Policy): string[] {
  const { floor, countries, zero_data_retention, no_training, blocked_providers, allowed_models } = policy;
  return [
    ...(floor === null ? [] : [`at least level ${floor}`]),
    ...(countries === null ? [] : [`computed in ${countries.join(", ")}`]),
    ...(zero_data_retention ? ["zero data retention"] : []),
    ...(no_training ? ["no training on the data"] : []),
    ...(blocked_providers.length === 0 ? [] : [`not by ${blocked_providers.join(", ")}`]),
    ...(allowed_models === null ? [] : [`only ${allowed_models.join(", ")}`]),
  ];
}

/** What was demanded when the request came, which may not be what is demanded today. */
export function Policies({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const rows = request.policies.map(({ subject, version, policy }) => ({
    name: `${subject === "key" ? "Key" : "Workspace"}, version ${version}`,
    value: policyRequirements(policy).join("; ") || "demands nothing",
  }));
  return (
    <Card title="Policy in force then" actions={<Link to={at("policy")}>Policy today</Link>}>
      {rows.length === 0 ? (
        <p className="text-soft">It came before versions of policies were kept.</p>
      ) : (
        <KeyValue rows={rows} />
      )}
    </Card>
  );
}
