import { Card, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { useWorkspace } from "../../url-state.ts";
import type { RequestDetail } from "./detail.ts";

type Policy = Omit<RequestDetail["policies"][number]["policy"], "floor"> & { readonly floor: string | null };

/** Readable requirements of a policy. */
export function policyRequirements(policy: Policy): string[] {
  const { floor, countries, zero_data_retention, no_training, blocked_providers, allowed_models } = policy;
  const { own_nodes, test_keys, parameters } = policy;
  return [
    ...(floor === null ? [] : [`minimum level ${floor}`]),
    ...(countries === null ? [] : [`countries ${countries.join(", ")}`]),
    ...(zero_data_retention ? ["zero data retention"] : []),
    ...(no_training ? ["no training"] : []),
    ...(blocked_providers.length === 0 ? [] : [`blocked providers ${blocked_providers.join(", ")}`]),
    ...(allowed_models === null ? [] : [`models ${allowed_models.join(", ")}`]),
    ...(own_nodes === "exempt" ? ["own nodes exempt from the floor"] : []),
    ...(test_keys === "simulated" ? ["test keys reach simulated providers only"] : []),
    ...(parameters === null ? [] : [`${parameters} parameters`]),
  ];
}

/** The policy versions at request time. */
export function Policies({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const rows = request.policies.map(({ subject, version, policy }) => ({
    name: `${subject === "key" ? "Key" : "Workspace"}, version ${version}`,
    value: policyRequirements(policy).join("; ") || "No restrictions",
  }));
  return (
    <Card title="Policy at request time" actions={<Link to={at("policy")}>View current policy</Link>}>
      {rows.length === 0 ? (
        <p className="text-soft">No policy version was recorded for this request.</p>
      ) : (
        <KeyValue rows={rows} />
      )}
    </Card>
  );
}
