import { Badge } from "../../ui/badge.tsx";
import type { OwnKey } from "./rows.ts";

/** What the provider said of the key, and how it does now. */
export function KeyResult({ result, aside }: { readonly result: OwnKey["result"]; readonly aside: number }) {
  return (
    <>
      {result === "accepted" && <Badge tone="good">accepted</Badge>}
      {result === "refused" && <Badge tone="bad">refused</Badge>}
      {result === "untried" && <Badge>never tested</Badge>}
      {aside > 0 && (
        <Badge tone="warn" dot title="Calls with this key failed: these endpoints are tried last for now">
          {aside} set aside
        </Badge>
      )}
    </>
  );
}
