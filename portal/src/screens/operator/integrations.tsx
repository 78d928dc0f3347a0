import type { ReactNode } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, KeyValue, PageHeader, Stack } from "../../ui/layout.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Unknown } from "../../ui/values.tsx";

type Setting = ApiResponse<"manageListSettings">["data"][number];
type Settings = ReadonlyMap<string, Setting>;
type Check = ApiResponse<"manageDoctor">["checks"][number];

const REFETCH_MS = 15_000;

/** Where the gateway sends telemetry and the request log, and who signs people in. Read-only: these are settings. */
export function Screen() {
  const settings = useManage("manageListSettings", {});
  const doctor = useManage("manageDoctor", {}, { refetchMs: REFETCH_MS });
  const byName: Settings = new Map(settings.data?.data.map((setting) => [setting.name, setting]));
  return (
    <>
      <PageHeader
        title="Integrations"
        about="Export destinations and single sign-on of this gateway. They are settings; changes apply after a restart."
        actions={<ApiButton calls={[{ id: "manageListSettings", args: {}, description: "List settings" }]} />}
      />
      {settings.error !== null && settings.data === undefined ? (
        <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
      ) : settings.data === undefined ? (
        <SkeletonLines count={8} />
      ) : (
        <Stack>
          <ExportStatus check={doctor.data?.checks.find(({ name }) => name === "log export")} />
          <OtlpCard settings={byName} />
          <WebhookCard settings={byName} />
          <FilesCard settings={byName} />
          <SignOnCard settings={byName} />
        </Stack>
      )}
    </>
  );
}

/** Shown while an export fails; the lag of each destination is in the health check. */
function ExportStatus({ check }: { readonly check: Check | undefined }) {
  if (check === undefined || check.status === "ok") return null;
  return (
    <Callout tone="warn" title="Request log export is failing">
      {check.detail}
    </Callout>
  );
}

function OtlpCard({ settings }: { readonly settings: Settings }) {
  const isOn = settings.get("OTEL_EXPORTER_OTLP_ENDPOINT")?.set === true;
  const signal = (name: string) => (settings.get(name)?.value === "otlp" ? "Exported" : "Not exported");
  return (
    <IntegrationCard
      title="OpenTelemetry (OTLP)"
      about="Traces, metrics and the request log to a collector, without prompts and responses"
      guide="observability#opentelemetry"
      isOn={isOn}
      example="OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
      rows={[
        { name: "Endpoint", value: <Value setting={settings.get("OTEL_EXPORTER_OTLP_ENDPOINT")} /> },
        { name: "Headers", value: <Value setting={settings.get("OTEL_EXPORTER_OTLP_HEADERS")} /> },
        { name: "Traces", value: signal("OTEL_TRACES_EXPORTER") },
        { name: "Metrics", value: signal("OTEL_METRICS_EXPORTER") },
        { name: "Request log", value: signal("OTEL_LOGS_EXPORTER") },
      ]}
    />
  );
}

function WebhookCard({ settings }: { readonly settings: Settings }) {
  return (
    <IntegrationCard
      title="Webhook"
      about="The request log in signed JSON batches, at least once for every request"
      guide="observability#request-log-export"
      isOn={settings.get("GATEWAY_LOG_EXPORT_WEBHOOK_URL")?.set === true}
      example={[
        "GATEWAY_LOG_EXPORT_WEBHOOK_URL=https://logs.example.eu/hook",
        "GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS_FILE=/run/secrets/log-webhook",
      ].join("\n")}
      rows={[
        { name: "URL", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_WEBHOOK_URL")} /> },
        { name: "Signing secrets", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS")} /> },
        { name: "Requests per batch", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_BATCH")} /> },
        { name: "Retried for", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_KEEP")} /> },
      ]}
    />
  );
}

function FilesCard({ settings }: { readonly settings: Settings }) {
  return (
    <IntegrationCard
      title="Files"
      about="The request log as JSON lines in a folder, rotated by size and age"
      guide="observability#request-log-export"
      isOn={settings.get("GATEWAY_LOG_EXPORT_DIR")?.set === true}
      example="GATEWAY_LOG_EXPORT_DIR=/var/log/inference-gateway"
      rows={[
        { name: "Folder", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_DIR")} /> },
        { name: "Rotated after", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_FILE_MAX_AGE")} /> },
        { name: "Maximum size (bytes)", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_FILE_MAX_BYTES")} /> },
        { name: "Retention", value: <Value setting={settings.get("GATEWAY_LOG_EXPORT_FILES_RETENTION")} /> },
      ]}
    />
  );
}

function SignOnCard({ settings }: { readonly settings: Settings }) {
  const publicUrl = settings.get("GATEWAY_PUBLIC_URL")?.value ?? location.origin;
  const redirect = `${publicUrl.replace(/\/+$/, "")}/manage/auth/callback/oidc`;
  return (
    <IntegrationCard
      title="Single sign-on"
      about="Sign-in with an OpenID Connect provider"
      guide="people#single-sign-on"
      isOn={settings.get("GATEWAY_OIDC_ISSUER")?.set === true}
      example={[
        `GATEWAY_PUBLIC_URL=${publicUrl}`,
        "GATEWAY_OIDC_ISSUER=https://id.example.eu/realms/work",
        "GATEWAY_OIDC_CLIENT_ID=gateway",
        "GATEWAY_OIDC_CLIENT_SECRET_FILE=/run/secrets/oidc",
      ].join("\n")}
      rows={[
        { name: "Issuer", value: <Value setting={settings.get("GATEWAY_OIDC_ISSUER")} /> },
        { name: "Client ID", value: <Value setting={settings.get("GATEWAY_OIDC_CLIENT_ID")} /> },
        { name: "Client secret", value: <Value setting={settings.get("GATEWAY_OIDC_CLIENT_SECRET")} /> },
        { name: "Button label", value: <Value setting={settings.get("GATEWAY_OIDC_NAME")} /> },
      ]}
    >
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="text-soft">Redirect URI for the provider</span>
        <span className="inline-flex min-w-0 items-center gap-1">
          <code className="min-w-0 font-mono text-[0.8125rem] break-all">{redirect}</code>
          <CopyButton text={redirect} label="Copy redirect URI" />
        </span>
      </p>
    </IntegrationCard>
  );
}

function IntegrationCard({
  title,
  about,
  guide,
  isOn,
  example,
  rows,
  children,
}: {
  readonly title: string;
  readonly about: string;
  readonly guide: string;
  readonly isOn: boolean;
  /** Settings that turn it on. */
  readonly example: string;
  readonly rows: readonly { readonly name: string; readonly value: ReactNode }[];
  readonly children?: ReactNode;
}) {
  return (
    <Card
      title={title}
      about={about}
      actions={
        <Badge tone={isOn ? "good" : "neutral"} dot>
          {isOn ? "On" : "Off"}
        </Badge>
      }
    >
      <div className="grid min-w-0 gap-3">
        {isOn ? (
          <KeyValue rows={rows} />
        ) : (
          <>
            <p className="text-soft">Set these environment variables and restart the gateway to turn it on:</p>
            <CodeBlock code={example} label={`Settings: ${title}`} />
          </>
        )}
        {children}
        <p className="text-xs text-soft">
          <ExternalLink href={`/docs/guides/${guide}`}>View documentation</ExternalLink>
        </p>
      </div>
    </Card>
  );
}

function Value({ setting }: { readonly setting: Setting | undefined }) {
  if (setting === undefined) return <Unknown />;
  if (setting.secret) return setting.set ? "Set (hidden)" : "Not set";
  if (setting.value === null) return "Not set";
  return <code className="font-mono text-[0.8125rem] break-all">{setting.value}</code>;
}
