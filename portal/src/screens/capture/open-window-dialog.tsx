import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toast.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { useWorkspace } from "../../url-state.ts";
import { keyLabels } from "../keys/key.ts";
import { ENVIRONMENTS, SURFACES } from "../requests/request-filters.ts";

const MINUTES = ["15", "30", "60", "240"].map((value) => ({
  value,
  label: Number(value) < 60 ? `${value} min` : `${Number(value) / 60} h`,
}));
const RETENTIONS = ["1d", "7d", "30d", "90d"].map((value) => ({
  value,
  label: counted(Number.parseInt(value, 10), "day"),
}));

export function OpenWindowDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { workspace } = useWorkspace();
  const [minutes, setMinutes] = useState("30");
  const [keys, setKeys] = useState<readonly string[]>([]);
  const [surfaces, setSurfaces] = useState<readonly (typeof SURFACES)[number][]>([]);
  const [environment, setEnvironment] = useState("");
  const [retention, setRetention] = useState("7d");
  const [reason, setReason] = useState("");
  const all = useManage("manageListKeys", { params: { workspace }, query: { limit: 1000 } }, { enabled: open });
  const start = useManageMutation("manageOpenCapture", {
    stale: ["manageListCaptures"],
    onDone: () => {
      setReason("");
      toast("Capture window opened");
      onClose();
    },
  });
  const env = ENVIRONMENTS.find((one) => one === environment) ?? null;
  const submit = () => {
    const body = { minutes: Number(minutes), keys: [...keys], surfaces: [...surfaces], environment: env, retention };
    start.mutate({ params: { workspace }, body: { ...body, reason: reason.trim() || null } });
  };
  const errorAt = (param: string) => (start.error?.param === param ? start.error.message : undefined);
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      onSubmit={submit}
      title="Open capture window"
      action="Open window"
      busy={start.isPending}
    >
      <p className="text-soft">
        Request and response content is stored, encrypted with a key of this workspace. Audio is never stored. The
        window closes automatically.
      </p>
      <Field label="Duration (minutes)" error={errorAt("minutes")} hint="From 1 minute to 24 hours.">
        <Input
          type="number"
          min={1}
          max={1440}
          required
          value={minutes}
          onChange={(event) => setMinutes(event.target.value)}
        />
      </Field>
      <SegmentedControl label="Common durations" options={MINUTES} value={minutes} onChange={setMinutes} />
      <MultiSelect
        label="Keys"
        none="All keys"
        options={[...keyLabels(all.data?.data ?? [])].map(([id, name]) => ({ id, name }))}
        chosen={keys}
        choose={setKeys}
      />
      <MultiSelect
        label="Surfaces"
        none="All surfaces"
        options={SURFACES.map((id) => ({ id, name: id }))}
        chosen={surfaces}
        choose={setSurfaces}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Environment">
          <Select
            value={environment}
            onChange={(event) => setEnvironment(event.target.value)}
            options={[
              { value: "", label: "Live and test" },
              { value: "live", label: "Live only" },
              { value: "test", label: "Test only" },
            ]}
          />
        </Field>
        <Field label="Retention" error={errorAt("retention")}>
          <Select value={retention} onChange={(event) => setRetention(event.target.value)} options={RETENTIONS} />
        </Field>
      </div>
      <Field
        label="Reason"
        optional
        hint="Recorded in the audit log and the evidence report."
        error={errorAt("reason")}
      >
        <Textarea rows={2} maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
      <ErrorNote error={start.error} />
    </FormDialog>
  );
}

function MultiSelect<Id extends string>({
  label,
  none,
  options,
  chosen,
  choose,
}: {
  readonly label: string;
  readonly none: string;
  readonly options: readonly { readonly id: Id; readonly name: string }[];
  readonly chosen: readonly Id[];
  readonly choose: (ids: readonly Id[]) => void;
}) {
  const toggle = (id: Id, isOn: boolean) => choose(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <details className="rounded-md border px-3 py-1.5">
      <summary className="py-1">
        <span className="font-medium">{label}:</span>{" "}
        <span className="text-soft">{chosen.length === 0 ? none : `${chosen.length} selected`}</span>
      </summary>
      <fieldset className="grid max-h-52 gap-1.5 overflow-auto py-2">
        <legend className="sr-only">{label}</legend>
        {options.map(({ id, name }) => (
          <Checkbox
            key={id}
            label={<UntrustedText text={name} />}
            checked={chosen.includes(id)}
            onChange={(isOn) => toggle(id, isOn)}
          />
        ))}
      </fieldset>
    </details>
  );
}
