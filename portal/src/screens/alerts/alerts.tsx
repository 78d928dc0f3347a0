import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import type { AlertRules } from "./alert-draft.ts";
import { Deliveries } from "./deliveries.tsx";
import { RulesForm } from "./rules-form.tsx";
import { SendTestAlert } from "./send-test-alert.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const params = { workspace };
  const rules = useManage("manageShowAlerts", { params });
  const isOn = rules.data?.enabled === true;
  // Held above the tabs: a secret that is shown once must survive a refetch of the rules.
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <PageHeader
        title="Alerts"
        about="Get notified when the balance runs low, a spend limit fills up or a provider rejects your key."
        mark={rules.data !== undefined && <Badge tone={isOn ? "good" : "neutral"}>{isOn ? "On" : "Off"}</Badge>}
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageShowAlerts", args: { params }, description: "Show alert rules" },
                { id: "manageTestAlerts", args: { params }, description: "Send a test alert" },
                { id: "manageListAlertDeliveries", args: { params }, description: "List deliveries" },
              ]}
            />
            {isOn && <TurnOffAlerts />}
            {isOn && <SendTestAlert />}
          </>
        }
      />
      <Tabs
        label="Alerts"
        tabs={[
          {
            id: "rules",
            label: "Rules",
            content: () =>
              rules.data !== undefined ? (
                <RulesTab key={String(rules.data.enabled)} rules={rules.data} onSecret={setSecret} />
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

type RulesTabProps = { readonly rules: AlertRules; readonly onSecret: (secret: string) => void };

function RulesTab({ rules, onSecret }: RulesTabProps) {
  const [isRotating, setIsRotating] = useState(false);
  const { webhook } = rules;
  return (
    <Stack>
      {!rules.enabled && (
        <Callout title="Alerts are off">Choose when to notify and where to send, then turn alerts on.</Callout>
      )}
      <RulesForm
        rules={rules}
        onSecret={onSecret}
        webhookActions={
          webhook !== null && (
            <div className="flex flex-wrap items-center justify-between gap-2">
              <p className="text-xs text-soft">
                Secret changed <Time at={webhook.secret_changed_at} as="short" />
              </p>
              <Button size="small" icon="refresh" onClick={() => setIsRotating(true)}>
                Rotate secret
              </Button>
            </div>
          )
        }
      />
      {/* Outside the form, so that confirming does not submit it. */}
      <RotateSecret open={isRotating} onClose={() => setIsRotating(false)} onSecret={onSecret} />
    </Stack>
  );
}

type SecretProps = { readonly secret: string | undefined; readonly onClose: () => void };

function SecretDialog({ secret, onClose }: SecretProps) {
  return (
    <Dialog
      open={secret !== undefined}
      onClose={onClose}
      title="Webhook secret"
      footer={
        <Button variant="primary" onClick={onClose}>
          I saved it
        </Button>
      }
    >
      <OneTimeSecret secret={secret ?? ""} label="Webhook secret">
        <p className="text-soft">
          Use it to verify each message: HMAC-SHA-256 over <code className="font-mono">x-svc-timestamp</code>, a dot and
          the body equals one of the signatures in <code className="font-mono">x-svc-signature</code>.
        </p>
      </OneTimeSecret>
    </Dialog>
  );
}

type RotateSecretProps = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
};

function RotateSecret({ open, onClose, onSecret }: RotateSecretProps) {
  const { workspace } = useWorkspace();
  const rotate = useManageMutation("manageRotateAlertSecret", {
    onDone: ({ webhook_secret }) => {
      onClose();
      onSecret(webhook_secret);
    },
  });
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => rotate.mutate({ params: { workspace } })}
      title="Rotate webhook secret?"
      action="Rotate secret"
      busy={rotate.isPending}
      error={rotate.error}
    >
      <p>For 24 hours, messages are signed with both the old and the new secret.</p>
    </Confirm>
  );
}

function TurnOffAlerts() {
  const { workspace } = useWorkspace();
  const [isConfirming, setIsConfirming] = useState(false);
  const remove = useManageMutation("manageDeleteAlerts", {
    onDone: () => {
      setIsConfirming(false);
      toast("Alerts are off");
    },
  });
  return (
    <>
      <Button variant="danger" onClick={() => setIsConfirming(true)}>
        Turn off
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => remove.mutate({ params: { workspace } })}
        title="Turn off alerts?"
        action="Turn off alerts"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The rules, the webhook and its secret are deleted, and no alerts are sent.</p>
      </Confirm>
    </>
  );
}
