import { useId } from "react";
import type { USES, Use } from "./provider-rows.ts";

export function KeyUsageField({
  value,
  onChange,
  options,
  disabled = false,
}: {
  readonly value: Use;
  readonly onChange: (use: Use) => void;
  readonly options: typeof USES;
  readonly disabled?: boolean | undefined;
}) {
  const name = useId();
  return (
    <fieldset disabled={disabled} className="grid gap-1">
      <legend className="sr-only">Key usage</legend>
      {options.map((use) => (
        <label
          key={use.value}
          className="flex items-start gap-3 rounded-md border px-3 py-2 has-checked:border-accent has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            name={name}
            checked={use.value === value}
            onChange={() => onChange(use.value)}
            className="mt-1 size-4 shrink-0"
          />
          <span className="min-w-0">
            <span className="font-medium">{use.label}</span>
            <span className="block text-xs text-soft">{use.description}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
