import { DECIMAL_PATTERN } from "../format/decimal.ts";
import { Input } from "./field.tsx";

type Props = {
  /** The typed text, parsed with `decimalOf`. */
  readonly value: string;
  readonly onChange: (typed: string) => void;
  readonly example?: string | undefined;
  /** Placeholder that explains an empty field; absent: required. */
  readonly empty?: string | undefined;
};

/** A positive number; ambiguous separators are rejected. */
export function DecimalInput({ value, onChange, example = "1250.00", empty }: Props) {
  return (
    <Input
      required={empty === undefined}
      inputMode="decimal"
      placeholder={empty ?? example}
      pattern={DECIMAL_PATTERN}
      title={`Enter a positive number with at most 9 decimals and no thousands separators, for example ${example}`}
      value={value}
      onChange={(event) => onChange(event.target.value.trim())}
      className="figures"
    />
  );
}
