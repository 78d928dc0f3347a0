import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { useChange, useManage } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { Deliveries } from "./deliveries.tsx";
import type { Rules } from "./draft.ts";
import { RulesForm } from "./rules-form.tsx";
import { TryAlerts } from "./try-alerts.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const params = { workspace };
  const rules = useManage("manageShowAlerts", { params });
  const isOn = rules.data?.enabled === true;
  // Up here: whatever is asked again below, a secret that is shown once stays until it is put away.
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <PageHeader
        title="Alerts"
        about="Be told when money runs low, a limit fills up or a provider refuses your key."
        mark={rules.data !== undefined && <Badge tone={isOn ? "good" : "neutral"}>{isOn ? "On" : "Off"}</Badge>}
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageShowAlerts", args: { params }, says: "The rules" },
                { id: "manageTestAlerts", args: { params }, says: "Send a test" },
                { id: "manageListAlertDeliveries", args: { params }, says: "What was sent" },
              ]}
            />
            {isOn && <SwitchOff />}
            {isOn && <TryAlerts />}
          </>
        }
      />
      <Tabs
        label="Parts of alerts"
        tabs={[
          {
            id: "rules",
            label: "Rules",
            content: () =>
              rules.data !== undefined ? (
                <RulesPart key={String(rules.data.enabled)} rules={rules.data} onSecret={setSecret} />
              ) : rules.error !== null ? (
                <Card>
                  <ErrorState error={rules.error} onRetry={() => void rules.refetch()} />
                </Card>
              ) : (
                <Card>
                  <SkeletonLines count={6} />
                </Card>
              ),
          },
          { id: "deliveries", label: "Deliveries", content: () => <Deliveries /> },
        ]}
      />
      <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
    </>
  );
}

type PartProps = { readonly rules: Rules; readonly onSecret: (secret: string) => void };

function RulesPart({ rules, onSecret }: PartProps) {
  return (
    <Stack>
      {!rules.enabled && (
        <Callout title="Nobody is told anything yet">
          Say what you want to know and where, then switch alerts on.
        </Callout>
      )}
      <RulesForm
        rules={rules}
        onSecret={onSecret}
        webhookActions={rules.webhook !== null && <Rotate webhook={rules.webhook} onSecret={onSecret} />}
      />
    </Stack>
  );
}

type SecretProps = { readonly secret: string | undefined; readonly onClose: () => void };

function SecretDialog({ secret, onClose }: SecretProps) {
  return (
    <Dialog
      open={secret !== undefined}
      onClose={onClose}
      title="The secret of the webhook"
      footer={
        <Button look="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <ShownOnce secret={secret ?? ""} label="Webhook secret">
        <p className="text-soft">
          Verify each message with it: HMAC-SHA-256 over <code className="font-mono">x-svc-timestamp</code>, a dot and
          the body is one of the signatures in <code className="font-mono">x-svc-signature</code>.
        </p>
      </ShownOnce>
    </Dialog>
  );
}

type RotateProps = {
  readonly webhook: NonNullable<Rules["webhook"]>;
  readonly onSecret: (secret: string) => void;
};

function Rotate({ webhook, onSecret }: RotateProps) {
  const { workspace } = useWorkspace();
  const [isAsked, setIsAsked] = useState(false);
  const rotate = useChange("manageRotateAlertSecret", {
    done: ({ webhook_secret }) => {
      setIsAsked(false);
      onSecret(webhook_secret);
    },
  });
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <p className="text-xs text-soft">
        The secret is of <Time at={webhook.secret_changed_at} as="short" />.
      </p>
      <Button size="small" icon="refresh" onClick={() => setIsAsked(true)}>
        New secret
      </Button>
      <Confirm
        open={isAsked}
        onClose={() => setIsAsked(false)}
        onConfirm={() => rotate.mutate({ params: { workspace } })}
        title="Make a new secret"
        action="Make a new secret"
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>For a day messages carry a signature by the old secret as well, so that no receiver misses one.</p>
      </Confirm>
    </div>
  );
}

function SwitchOff() {
  const { workspace } = useWorkspace();
  const [isAsked, setIsAsked] = useState(false);
  const remove = useChange("manageDeleteAlerts", {
    done: () => {
      setIsAsked(false);
      toast("Alerts are off.");
    },
  });
  return (
    <>
      <Button look="danger" onClick={() => setIsAsked(true)}>
        Switch off
      </Button>
      <Confirm
        open={isAsked}
        onClose={() => setIsAsked(false)}
        onConfirm={() => remove.mutate({ params: { workspace } })}
        title="Switch alerts off"
        action="Switch off"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The rules, the webhook and its secret are forgotten, and nobody is told anything.</p>
      </Confirm>
    </>
  );
}
