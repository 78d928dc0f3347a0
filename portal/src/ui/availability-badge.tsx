import type { PublicModel } from "../../../src/contract/schemas/catalogue.ts";
import { Badge, type Tone } from "./badge.tsx";

export type Availability = Pick<PublicModel, "available" | "unavailable">;
type UnavailableCode = NonNullable<Availability["unavailable"]>["code"];

const BADGES: Readonly<Record<UnavailableCode, { readonly tone: Tone; readonly label: string }>> = {
  not_connected: { tone: "neutral", label: "Connect provider" },
  excluded_by_policy: { tone: "warn", label: "Excluded by policy" },
  not_callable: { tone: "neutral", label: "Not callable" },
};

/** Whether the workspace can call a model or an endpoint now; nothing for visitors. */
export function AvailabilityBadge({ of: { available, unavailable } }: { readonly of: Availability }) {
  if (available === undefined) return null;
  if (available || unavailable == null) return <Badge tone="good">Available</Badge>;
  const { tone, label } = BADGES[unavailable.code];
  return (
    <Badge tone={tone} title={unavailable.reason}>
      {label}
    </Badge>
  );
}
