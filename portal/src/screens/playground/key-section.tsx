import { Field, Input } from "../../ui/field.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import type { usePlaygroundKey } from "./playground-key.ts";

type KeySectionProps = {
  readonly keys: ReturnType<typeof usePlaygroundKey>;
  readonly environment: string;
  readonly setEnvironment: (to: string) => void;
};

/** The playground key of the person, or a pasted one. */
export function KeySection({ keys, environment, setEnvironment }: KeySectionProps) {
  return (
    <details open={keys.pasted !== ""} className="rounded-md border px-3 py-2">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">
        Key: {keys.pasted === "" ? `playground, ${environment}` : "your key"}
      </summary>
      <div className="mt-3 grid gap-3 pb-1">
        {keys.pasted === "" && (
          <div className="flex flex-wrap items-center justify-between gap-2">
            <span className="text-soft">Key environment</span>
            <SegmentedControl
              label="Key environment"
              value={environment}
              onChange={setEnvironment}
              options={[
                { value: "test", label: "Test" },
                { value: "live", label: "Live" },
              ]}
            />
          </div>
        )}
        {keys.pasted === "" && environment === "test" && (
          <p className="text-xs text-soft">
            Test keys call the same models at the same price as live keys, unless the policy restricts them to simulated
            providers.
          </p>
        )}
        <Field label="Use your own key" hint="Kept in this page only and discarded when you leave." optional>
          <Input
            type="password"
            mono
            autoComplete="off"
            value={keys.pasted}
            onChange={(event) => keys.setPasted(event.target.value.trim())}
            placeholder="sk_svc_…"
          />
        </Field>
      </div>
    </details>
  );
}
