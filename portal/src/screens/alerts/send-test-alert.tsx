import { useManageMutation } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useWorkspace } from "../../url-state.ts";

/** Sends a test alert to every recipient and shows each result. */
export function SendTestAlert() {
  const { workspace } = useWorkspace();
  const test = useManageMutation("manageTestAlerts", { stale: [] });
  const isOpen = !test.isIdle;
  return (
    <>
      <Button icon="bell" busy={test.isPending} onClick={() => test.mutate({ params: { workspace } })}>
        Send test alert
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => test.reset()}
        title="Test alert"
        footer={<Button onClick={() => test.reset()}>Close</Button>}
      >
        {test.isPending && <SkeletonLines />}
        <ErrorNote error={test.error} />
        {test.data !== undefined && (
          <>
            <p>{test.data.ok ? "Delivered to all recipients." : "Some deliveries failed."}</p>
            <ul className="grid gap-2">
              {test.data.channels.map(({ channel, target, ok, detail }) => (
                <li key={`${channel} ${target}`} className="grid gap-0.5 rounded-md border px-3 py-2">
                  <p className="flex flex-wrap items-center gap-2">
                    <Badge tone={ok ? "good" : "bad"}>{ok ? "Delivered" : "Failed"}</Badge>
                    <span className="text-soft">{channel === "mail" ? "Email" : "Webhook"}</span>
                    <span className="min-w-0 break-all">{target}</span>
                  </p>
                  <p className="text-xs break-words text-soft">{detail}</p>
                </li>
              ))}
            </ul>
          </>
        )}
      </Dialog>
    </>
  );
}
