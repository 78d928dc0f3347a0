import { Badge } from "../../ui/badge.tsx";
import type { OwnKey } from "./provider-rows.ts";

/** The last test result and open circuits of a key. */
export function KeyStatus({
  result,
  openCircuits,
}: {
  readonly result: OwnKey["result"];
  readonly openCircuits: number;
}) {
  return (
    <>
      {result === "accepted" && <Badge tone="good">Accepted</Badge>}
      {result === "refused" && <Badge tone="bad">Rejected</Badge>}
      {result === "untried" && <Badge>Not tested</Badge>}
      {openCircuits > 0 && (
        <Badge
          tone="warn"
          dot
          title="Requests with this key failed. These endpoints are tried last until they recover."
        >
          {openCircuits} {openCircuits === 1 ? "open circuit" : "open circuits"}
        </Badge>
      )}
    </>
  );
}
