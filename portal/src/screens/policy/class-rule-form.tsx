import { Field, Select } from "../../ui/field.tsx";
import { ACTION_LABELS, actionsOf, type ClassRule, hasBound } from "./class-rules.ts";

const LEVELS = ["L0", "L1", "L2", "L3", "L4"] as const;
const OUTPUTS = ["report", "redact", "block"] as const;

type Props = {
  readonly name: string;
  readonly description: string;
  readonly rule: ClassRule;
  readonly onChange: (rule: ClassRule) => void;
};

/** What holds for data of one class. */
export function ClassRuleForm({ name, description, rule, onChange }: Props) {
  const { action, below, floor, output } = rule;
  const isMedia = name === "uninspected";
  return (
    <fieldset className="grid min-w-0 gap-2 border-b px-5 py-4 last:border-b-0">
      <legend className="sr-only">{name}</legend>
      <div aria-hidden="true" className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-mono text-[0.8125rem] font-semibold">{name}</span>
        <span className="text-xs text-soft">{description}</span>
      </div>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        <Field label="In requests">
          <Select
            value={action ?? ""}
            onChange={({ target }) =>
              onChange({ ...rule, action: actionsOf(name).find((one) => one === target.value) })
            }
          >
            <option value="">No action</option>
            {actionsOf(name).map((one) => (
              <option key={one} value={one}>
                {ACTION_LABELS[one]}
              </option>
            ))}
          </Select>
        </Field>
        <Field label="Below level">
          <Select
            disabled={!hasBound(action)}
            value={below ?? ""}
            onChange={({ target }) => onChange({ ...rule, below: LEVELS.find((one) => one === target.value) })}
          >
            <option value="">All levels</option>
            {LEVELS.slice(1).map((level) => (
              <option key={level} value={level}>
                Below {level}
              </option>
            ))}
          </Select>
        </Field>
        <Field label="Floor">
          <Select
            value={floor ?? ""}
            onChange={({ target }) => onChange({ ...rule, floor: LEVELS.find((one) => one === target.value) })}
          >
            <option value="">No floor</option>
            {LEVELS.map((level) => (
              <option key={level} value={level}>
                {level} or higher
              </option>
            ))}
          </Select>
        </Field>
        {!isMedia && (
          <Field label="In replies">
            <Select
              value={output ?? ""}
              onChange={({ target }) => onChange({ ...rule, output: OUTPUTS.find((one) => one === target.value) })}
            >
              <option value="">Not read</option>
              {OUTPUTS.map((one) => (
                <option key={one} value={one}>
                  {ACTION_LABELS[one]}
                </option>
              ))}
            </Select>
          </Field>
        )}
      </div>
    </fieldset>
  );
}
